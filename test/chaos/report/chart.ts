/**
 * One picture of one run, over one axis of time: records acknowledged per 100 ms, below it who led each partition, and
 * across both the faults. Inline SVG, no script. Pure; called by the report.
 */
import { BUCKET_MS, type RunPicture } from '../result';
import { escapeHtml } from './html';

const WIDTH = 1080;
const LEFT = 52;
const RIGHT = 12;
const TOP = 22;
const CHART_HEIGHT = 170;
const GAP = 26;
const BANDS_HEIGHT = 220;
const BAND_MAX = 14;
const BAND_MIN = 1;
const AXIS_HEIGHT = 24;
/** Partitions that have a band; the others do as they do. */
const MAX_BANDS = BANDS_HEIGHT / BAND_MIN;
/** Wide enough for seconds to be told apart. */
const MAX_TICKS = 16;

interface Frame {
  readonly totalMs: number;
  readonly bandHeight: number;
  readonly height: number;
  x(ms: number): number;
}

export function chart(picture: RunPicture): string {
  const frame = frameOf(picture);
  const { height } = frame;
  const parts = [
    ...faultMarks(picture, frame),
    ...acknowledgements(picture, frame),
    ...bands(picture, frame),
    ...axis(frame),
  ];
  const label = 'Writes acknowledged per 100 ms, leaders per partition, and faults over time';
  return `<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${label}">${parts.join('')}</svg>`;
}

function frameOf({ acknowledged, bands: all, faults, result }: RunPicture): Frame {
  const totalMs = Math.max(
    result.seconds * 1000,
    acknowledged.length * BUCKET_MS,
    ...faults.map(({ toMs }) => toMs),
  );
  const count = Math.min(MAX_BANDS, all.length);
  const bandHeight = Math.min(BAND_MAX, Math.max(BAND_MIN, BANDS_HEIGHT / Math.max(1, count)));
  const height = TOP + CHART_HEIGHT + GAP + count * bandHeight + AXIS_HEIGHT;
  const x = (ms: number): number => round(LEFT + ((WIDTH - LEFT - RIGHT) * ms) / totalMs);
  return { totalMs, bandHeight, height, x };
}

function acknowledgements({ acknowledged }: RunPicture, { x }: Frame): string[] {
  const most = Math.max(1, ...acknowledged);
  const base = TOP + CHART_HEIGHT;
  const bars = acknowledged.map((count, index) => {
    if (count === 0) return '';
    const tall = round((CHART_HEIGHT * count) / most);
    const from = x(index * BUCKET_MS);
    const wide = round(Math.max(0.5, x((index + 1) * BUCKET_MS) - from - 0.3));
    const title = `<title>${(index * BUCKET_MS) / 1000} s: ${count} records</title>`;
    return `<rect class="ack" x="${from}" y="${round(base - tall)}" width="${wide}" height="${tall}">${title}</rect>`;
  });
  return [
    ...bars,
    `<line class="axis" x1="${LEFT}" y1="${base}" x2="${WIDTH - RIGHT}" y2="${base}"/>`,
    `<text x="${LEFT - 6}" y="${TOP + 8}" text-anchor="end">${most}</text>`,
    `<text x="${LEFT - 6}" y="${base}" text-anchor="end">0</text>`,
    `<text x="${LEFT}" y="${TOP - 8}">records acknowledged per 100 ms</text>`,
  ];
}

function bands({ bands: all }: RunPicture, { x, bandHeight }: Frame): string[] {
  const top = TOP + CHART_HEIGHT + GAP;
  const shown = all.slice(0, MAX_BANDS);
  const thickness = round(bandHeight > 3 ? bandHeight - 1 : bandHeight);
  const rects = shown.flatMap((spans, partition) =>
    spans.map(({ fromMs, toMs, leader }) => {
      const wide = round(Math.max(0.3, x(toMs) - x(fromMs)));
      const who = leader === undefined ? 'no leader' : `led by broker ${leader}`;
      const title = `<title>partition ${partition}: ${who} from ${fromMs / 1000} to ${toMs / 1000} s</title>`;
      return `<rect class="${brokerClass(leader)}" x="${x(fromMs)}" y="${round(top + partition * bandHeight)}" width="${wide}" height="${thickness}">${title}</rect>`;
    }),
  );
  const hidden = all.length - shown.length;
  const more = hidden > 0 ? `, the first ${shown.length} of ${all.length}` : '';
  const names = bandHeight >= 11 ? shown.map((_, partition) => `<text x="${LEFT - 6}" y="${round(top + partition * bandHeight + bandHeight - 3)}" text-anchor="end">${partition}</text>`) : []; // prettier-ignore
  return [...rects, ...names, `<text x="${LEFT}" y="${top - 8}">leader of each partition${more}</text>`]; // prettier-ignore
}

/** Brokers 1 to 4 have colours of their own. */
export function brokerClass(leader: number | undefined): string {
  if (leader === undefined) return 'none';
  return leader >= 1 && leader <= 4 ? `b${leader}` : 'b0';
}

function faultMarks({ faults }: RunPicture, { x, height }: Frame): string[] {
  const tall = height - TOP - AXIS_HEIGHT;
  return faults.map(({ fromMs, toMs, what }, index) => {
    const from = x(fromMs);
    const wide = round(Math.max(1, x(toMs) - from));
    const edge = `<line class="edge" x1="${from}" y1="${TOP}" x2="${from}" y2="${TOP + tall}"/>`;
    const number = `<text class="number" x="${from + 3}" y="${TOP + 10}">${index + 1}</text>`;
    return `<rect class="fault" x="${from}" y="${TOP}" width="${wide}" height="${tall}"><title>${escapeHtml(what)}</title></rect>${edge}${number}`;
  });
}

function axis({ totalMs, height, x }: Frame): string[] {
  const seconds = totalMs / 1000;
  const steps = [1, 2, 5, 10, 20, 60, 120, 300, 600, 3600];
  const step = steps.find((one) => seconds / one <= MAX_TICKS) ?? seconds;
  const ticks: string[] = [];
  for (let at = 0; at <= seconds; at += step) {
    ticks.push(`<text x="${x(at * 1000)}" y="${height - 7}" text-anchor="middle">${at} s</text>`);
  }
  return ticks;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
