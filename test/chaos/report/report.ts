/**
 * All runs of one call of the chaos runner as one page that needs nothing else: the verdict on top, then the figures,
 * then a picture of each run. Pure; `main.ts` writes what it answers into the file of --report.
 */
import type { RunPicture, RunResult } from '../result';
import { summarize } from '../summary';
import { brokerClass, chart } from './chart';
import { escapeHtml, table } from './html';
import { style } from './style';

/** Violations that are shown for a run; the JSON has them all. */
const MAX_VIOLATIONS = 12;

/** @param pictures at least one */
export function renderReport(pictures: readonly RunPicture[]): string {
  const results = pictures.map(({ result }) => result);
  const { scenario } = results[0]!;
  const runs = pictures.length;
  const body = [
    `<h1>Chaos: ${escapeHtml(scenario)}</h1>`,
    `<p class="soft">${runs} ${runs === 1 ? 'run' : 'runs'} of real brokers and a real ZooKeeper, ${results[0]!.partitions} partitions, ${results[0]!.recordsPerSecond} records/s, acks=all, idempotent, replication factor 3, min ISR 2</p>`,
    verdict(results),
    figures(results),
    ...pictures.map(run),
  ];
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>Chaos: ${escapeHtml(scenario)}</title><style>${style}</style></head>
<body>${body.join('\n')}</body></html>
`;
}

function verdict(results: readonly RunResult[]): string {
  const { clean, acked, lost, duplicated, reordered, unavailableMs, recoveredMs, errors } = summarize(results); // prettier-ignore
  const broken = results.filter((result) => !result.clean).length;
  const text = clean
    ? 'Every invariant held.'
    : `Broken: an invariant did not hold in ${broken} of ${results.length} runs.`;
  const counts = `${acked} records acknowledged, ${lost} lost, ${duplicated} duplicated, ${reordered} reordered, ${errors} errors reached the application. A partition took no writes for at most ${unavailableMs.max} ms (median of runs ${unavailableMs.p50} ms); all replicas were back after at most ${recoveredMs.max} ms.`;
  return `<div class="verdict ${clean ? 'good' : 'bad'}">${text}<p class="soft">${counts}</p></div>`;
}

function figures(results: readonly RunResult[]): string {
  const head = ['seed', 'verdict', 'acknowledged', 'unknown', 'errors', 'unavailable ms', 'recovered ms', 'elections', 'runner stalled ms']; // prettier-ignore
  const rows = results.map((result) => [
    `${result.seed}${variant(result)}`,
    result.clean ? 'clean' : 'BROKEN',
    ...[result.acked, result.unknown, result.errors, result.unavailableMs].map(String),
    ...[result.recoveredMs, result.elections, result.runnerStallMs].map(String),
  ]);
  return table(head, rows);
}

function variant({ target, from }: RunResult): string {
  const which = [target, from].filter((one) => one !== undefined).join(', ');
  return which ? ` (${escapeHtml(which)})` : '';
}

function run(picture: RunPicture): string {
  const { result, faults } = picture;
  const { violations, timeline } = result;
  const shown = violations.slice(0, MAX_VIOLATIONS).map((text) => `<li>${escapeHtml(text)}</li>`);
  const list = shown.length > 0 ? `<ul>${shown.join('')}</ul>` : '';
  const lines = timeline.map(({ atMs, what }) => `${(atMs / 1000).toFixed(3).padStart(9)} s  ${escapeHtml(what)}`); // prettier-ignore
  const named = faults.map(({ fromMs, toMs, what }) => `<li>${escapeHtml(what)} <span class="soft">${fromMs / 1000} to ${toMs / 1000} s</span></li>`); // prettier-ignore
  return `<section><h2>Seed ${result.seed}${variant(result)}</h2>
<div class="verdict ${result.clean ? 'good' : 'bad'}">${result.clean ? 'clean' : 'broken'}${list}</div>
${chart(picture)}
${legend(picture)}
<p>Faults</p><ol>${named.join('')}</ol>
<details><summary>Timeline</summary><pre>${lines.join('\n')}</pre></details></section>`;
}

function legend({ bands }: RunPicture): string {
  const leaders = new Set(bands.flatMap((spans) => spans.map(({ leader }) => leader ?? -1)));
  const entries = [...leaders]
    .sort((a, b) => a - b)
    .map((id): [string, string] => id < 0 ? ['none', 'no leader'] : [brokerClass(id), `broker ${id} leads`]); // prettier-ignore
  const all: [string, string][] = [['ack', 'records acknowledged'], ['span', 'fault, until it was healed'], ...entries]; // prettier-ignore
  return `<div class="legend">${all.map(([name, text]) => `<span><i class="${name}"></i>${text}</span>`).join('')}</div>`;
}
