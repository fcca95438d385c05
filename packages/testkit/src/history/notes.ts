/** Collects a few examples of what is wrong, for a person, and names places the same way everywhere. */
export type Note = (text: string) => void;

const MAX_EXAMPLES = 10;

export class Examples {
  readonly texts: string[] = [];
  readonly note: Note = (text) => {
    if (this.texts.length < MAX_EXAMPLES) this.texts.push(text);
  };
}

export function place(at: { readonly partition: number; readonly offset: number }): string {
  return `${at.partition}@${at.offset}`;
}
