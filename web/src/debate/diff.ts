/** The difference between two texts, word by word, and which earlier text a reply revises. */

export interface Piece {
  kind: "same" | "gone" | "new";
  text: string;
}

/** The most words of a text that are compared one by one; longer texts are compared line by line. */
const MOST_WORDS = 3000;
/** The least share of words in common at which one text is a version of another. */
const ALIKE = 0.3;

/** `before` and `after` as pieces: joined without "new" they are `before`, and without "gone" `after`. */
export function diff(before: string, after: string): Piece[] {
  const [a, b] = [words(before), words(after)];
  const long = Math.max(a.length, b.length) > MOST_WORDS;
  return long ? compare(lines(before), lines(after)) : compare(a, b);
}

/** The share of different words that two texts have in common, from 0 to 1. */
export function likeness(one: string, other: string): number {
  const [a, b] = [vocabulary(one), vocabulary(other)];
  if (!a.size || !b.size) return 0;
  let common = 0;
  for (const word of a) if (b.has(word)) common++;
  return common / Math.max(a.size, b.size);
}

/** The latest of `earlier` that `text` is a version of; undefined if it is a text of its own. */
export function versionOf<T extends { text: string }>(text: string, earlier: readonly T[]): T | undefined {
  return earlier.findLast((one) => one.text && likeness(one.text, text) >= ALIKE);
}

function words(text: string): string[] {
  return text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
}

function lines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+/g) ?? [];
}

function vocabulary(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? []);
}

/** The shortest edit from `a` to `b`: Myers, "An O(ND) difference algorithm", 1986, after the common ends. */
function compare(a: string[], b: string[]): Piece[] {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const middle = edit(a.slice(start, a.length - end), b.slice(start, b.length - end));
  return join([
    ...a.slice(0, start).map((text): Piece => ({ kind: "same", text })),
    ...middle,
    ...a.slice(a.length - end).map((text): Piece => ({ kind: "same", text })),
  ]);
}

function edit(a: string[], b: string[]): Piece[] {
  const trace: Int32Array[] = [];
  const most = a.length + b.length;
  let furthest = new Int32Array(2 * most + 3);
  const at = (k: number): number => k + most + 1;
  for (let d = 0; d <= most; d++) {
    trace.push(furthest.slice());
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && valueAt(furthest, at(k - 1)) < valueAt(furthest, at(k + 1)));
      let x = down ? valueAt(furthest, at(k + 1)) : valueAt(furthest, at(k - 1)) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      furthest[at(k)] = x;
      if (x >= a.length && x - k >= b.length) return backtrack(a, b, trace, at);
    }
    // Two long texts with little in common: no reader follows such a diff word by word.
    if (d > 1200) break;
  }
  return [{ kind: "gone", text: a.join("") }, { kind: "new", text: b.join("") }];
}

function backtrack(a: string[], b: string[], trace: Int32Array[], at: (k: number) => number): Piece[] {
  const pieces: Piece[] = [];
  let [x, y] = [a.length, b.length];
  for (let d = trace.length - 1; d > 0 || x > 0 || y > 0; d--) {
    const furthest = trace[d] as Int32Array;
    const k = x - y;
    const down = k === -d || (k !== d && valueAt(furthest, at(k - 1)) < valueAt(furthest, at(k + 1)));
    const from = d === 0 ? 0 : valueAt(furthest, at(down ? k + 1 : k - 1));
    const fromY = d === 0 ? 0 : from - (down ? k + 1 : k - 1);
    while (x > from && y > fromY) {
      pieces.push({ kind: "same", text: a[--x] as string });
      y--;
    }
    if (d === 0) break;
    if (down) pieces.push({ kind: "new", text: b[--y] as string });
    else pieces.push({ kind: "gone", text: a[--x] as string });
  }
  return pieces.reverse();
}

function valueAt(list: Int32Array, index: number): number {
  return list[index] as number;
}

/** Neighbouring pieces of one kind as one piece; what is gone comes before what is new. */
function join(pieces: readonly Piece[]): Piece[] {
  const out: Piece[] = [];
  let [gone, fresh] = ["", ""];
  const flush = (): void => {
    if (gone) out.push({ kind: "gone", text: gone });
    if (fresh) out.push({ kind: "new", text: fresh });
    [gone, fresh] = ["", ""];
  };
  for (const { kind, text } of pieces) {
    if (kind === "gone") gone += text;
    else if (kind === "new") fresh += text;
    else {
      flush();
      const last = out.at(-1);
      if (last?.kind === "same") last.text += text;
      else out.push({ kind: "same", text });
    }
  }
  flush();
  return out;
}
