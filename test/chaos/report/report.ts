export function renderReport(_runs: unknown): string {
  return '';
}
