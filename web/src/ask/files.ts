/** Files that are attached to a question: dropped, pasted or chosen. */

export interface Attached {
  name: string;
  type: string;
  bytes: Uint8Array;
}

/** The most bytes of all files together: in Base64 they grow by a third, and the server takes bodies of this size. */
export const MOST_BYTES = 2_900_000;

/** Read files; the names of pasted pictures are numbered, as browsers call all of them "image.png". */
export async function readFiles(files: Iterable<File>, existing: readonly Attached[]): Promise<Attached[]> {
  const out = [...existing];
  for (const file of files) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    out.push({ name: freeName(file.name || "file", out), type: file.type, bytes });
  }
  return out;
}

export function totalBytes(files: readonly Attached[]): number {
  return files.reduce((sum, file) => sum + file.bytes.length, 0);
}

export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1e6 ? `${(bytes / 1000).toFixed(0)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

export function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}

function freeName(name: string, files: readonly Attached[]): string {
  const taken = new Set(files.map((file) => file.name));
  const [, stem = name, end = ""] = /^(.*?)(\.[^.]*)?$/.exec(name) ?? [];
  let free = name;
  for (let n = 2; taken.has(free); n++) free = `${stem}-${n}${end}`;
  return free;
}
