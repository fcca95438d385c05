/** The look of the page, in light and dark: colours are variables, and the browser says which set holds. */
export const style = `
:root{color-scheme:light dark;--page:#fff;--text:#1b1f24;--soft:#59636e;--line:#d0d7de;--panel:#f6f8fa;--good:#1a7f37;--bad:#cf222e;
--ack:#0969da;--fault:#cf222e;--b1:#4c8bf5;--b2:#e69f00;--b3:#2aa876;--b4:#b07aa1;--b0:#8c959f;--none:#cf222e}
@media (prefers-color-scheme:dark){:root{--page:#0d1117;--text:#e6edf3;--soft:#9198a1;--line:#30363d;--panel:#161b22;--good:#3fb950;--bad:#f85149;
--ack:#58a6ff;--fault:#f85149;--b1:#5c9dff;--b2:#f0b429;--b3:#3fc492;--b4:#d2a8ff;--b0:#6e7681;--none:#f85149}}
body{margin:0 auto;max-width:1120px;padding:24px 16px;background:var(--page);color:var(--text);font:15px/1.5 system-ui,sans-serif}
h1{font-size:22px;margin:0 0 4px}h2{font-size:18px;margin:32px 0 8px}p{margin:4px 0}
.verdict{padding:12px 16px;border-radius:8px;border:1px solid var(--line);background:var(--panel);margin:12px 0;font-weight:600}
.good{border-left:6px solid var(--good)}.bad{border-left:6px solid var(--bad)}
.verdict ul{margin:6px 0 0;padding-left:20px;font-weight:400}
.soft{color:var(--soft)}.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:13px;margin:8px 0}th,td{padding:3px 10px 3px 0;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th:first-child,td:first-child{text-align:left}th{color:var(--soft);font-weight:600}
svg{display:block;width:100%;height:auto;background:var(--panel);border:1px solid var(--line);border-radius:8px}
svg text{fill:var(--soft);font:11px system-ui,sans-serif}svg .axis{stroke:var(--line)}
svg .ack{fill:var(--ack)}svg .fault{fill:var(--fault);opacity:.16}svg .edge{stroke:var(--fault);stroke-width:1}svg .number{fill:var(--fault);font-weight:700}
.b1{fill:var(--b1);background:var(--b1)}.b2{fill:var(--b2);background:var(--b2)}.b3{fill:var(--b3);background:var(--b3)}.b4{fill:var(--b4);background:var(--b4)}.b0{fill:var(--b0);background:var(--b0)}
.none{fill:var(--none);background:var(--none)}.ack{background:var(--ack)}
.legend{display:flex;flex-wrap:wrap;gap:6px 18px;margin:8px 0;font-size:13px}.legend i{display:inline-block;width:12px;height:12px;border-radius:2px;margin-right:6px;vertical-align:-1px}
.legend .span{background:var(--fault);opacity:.35}ol{margin:6px 0;padding-left:24px;font-size:13px}
details{margin:8px 0}summary{cursor:pointer;color:var(--soft)}pre{font-size:12px;overflow-x:auto;background:var(--panel);border:1px solid var(--line);border-radius:8px;padding:10px}
`;
