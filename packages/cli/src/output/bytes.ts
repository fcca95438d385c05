/** Bytes of a record for people and JSON: valid UTF-8 as text under `name`, all else as base64 under `nameBase64`. */
export function textOrBase64(name: string, bytes: Buffer | null): Record<string, string | null> {
  if (bytes === null) return { [name]: null };
  const text = bytes.toString('utf8');
  return Buffer.from(text, 'utf8').equals(bytes)
    ? { [name]: text }
    : { [`${name}Base64`]: bytes.toString('base64') };
}
