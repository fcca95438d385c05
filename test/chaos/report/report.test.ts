import type { RunPicture, RunResult } from '../result';
import { renderReport } from './report';

const counts = {
  ...{ acked: 100, read: 100, lost: 0, duplicated: 0, reordered: 0, readAboveHighWatermark: 0 },
  ...{ disagreeing: 0, skipped: 0, fallenEnds: 0, resurrected: 0, nonMonotonic: 0, unknown: 0 },
};
const more = {
  ...{ weakAcked: 1, weakLost: 0, weakLostInHealth: 0, compactedKeys: 1, compactedLost: 0 },
  ...{ compactedMisplaced: 0, timeLookups: 1, timeLookupsWrong: 0 },
};

function picture(changes: Partial<RunResult> = {}): RunPicture {
  const result: RunResult = {
    ...counts,
    ...{ scenario: 'kill-leader', target: 'leader', seed: 7, seconds: 2, partitions: 2 },
    ...{ recordsPerSecond: 500, network: 'loopback', clean: true, violations: [] },
    ...{
      unavailableMs: 250,
      longestWaits: [],
      recoveredMs: 900,
      errors: 0,
      errorTexts: [],
      elections: 1,
    },
    ...{ runnerStallMs: 3, more, timeline: [{ atMs: 500, what: 'kill -9 broker 1' }] },
    ...changes,
  };
  return {
    result,
    faults: [{ fromMs: 500, toMs: 1500, what: 'kill -9 broker 1' }],
    acknowledged: [50, 50, 0, 25],
    bands: [
      [{ fromMs: 0, toMs: 2000, leader: 2 }],
      [
        { fromMs: 0, toMs: 500, leader: 1 },
        { fromMs: 500, toMs: 700, leader: undefined },
        { fromMs: 700, toMs: 2000, leader: 3 },
      ],
    ],
  };
}

describe('the page of a chaos run', () => {
  test('says the verdict before anything else, and shows what was done when', () => {
    const page = renderReport([picture()]);
    expect(page.indexOf('Every invariant held.')).toBeGreaterThan(0);
    expect(page.indexOf('Every invariant held.')).toBeLessThan(page.indexOf('<svg'));
    expect(page).toContain('<title>0.3 s: 25 records</title>');
    expect(page.match(/class="ack" x=/g)).toHaveLength(3); // nothing was acknowledged in one of four
    expect(page).toContain('partition 1: no leader from 0.5 to 0.7 s');
    expect(page.match(/class="fault"/g)).toHaveLength(1);
    expect(page).toContain('broker 3 leads');
    expect(page).toContain('kill -9 broker 1 <span class="soft">0.5 to 1.5 s</span>');
  });

  test('one broken run among others breaks the verdict; its violations are named', () => {
    const broken = picture({ seed: 8, clean: false, lost: 2, violations: ['lost: 2'] });
    const page = renderReport([picture(), broken]);
    expect(page).toContain('did not hold in 1 of 2 runs');
    expect(page).toContain('200 records acknowledged, 2 lost');
    expect(page).toContain('<li>lost: 2</li>');
  });

  test('stands alone: no script, nothing to fetch, and texts are no markup', () => {
    const page = renderReport([picture({ violations: ['<script>alert("x")</script>'] })]);
    expect(page).not.toMatch(/<script|<link|<img|https?:|url\(|@import/);
    expect(page).toContain('&lt;script&gt;');
    expect(page).toContain('prefers-color-scheme:dark');
  });

  test('a thousand partitions fit: the first ones are shown, and it says so', () => {
    const wide = picture();
    const page = renderReport([{ ...wide, bands: Array.from({ length: 1000 }, () => wide.bands[0]!) }]); // prettier-ignore
    expect(page).toContain('the first 220 of 1000');
  });
});
