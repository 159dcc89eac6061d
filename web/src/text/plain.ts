/** Prepare text of models for the page: remove deceptive characters, and split it into blocks. */

/** Bidirectional overrides and other control characters, which can disguise a text. */
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** `text` without deceptive characters, for places that show it without Markdown. */
export function plain(text: string): string {
  return text.replace(CONTROLS, "");
}

/** The start of a text with Markdown as one line without its marks, for lists. */
export function preview(text: string, most = 160): string {
  const line = plain(text.slice(0, 4 * most)).replace(/^[ \t]*(?:[#>]+|[-*+]|\d+\.)[ \t]+|[*_`~|]+/gm, "").replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most - 1).trimEnd()}…` : line;
}

/**
 * `text` in blocks that can be rendered one by one: split at empty lines outside of code.
 *
 * While text arrives, only the last block changes, and only that one is rendered again.
 */
export function splitBlocks(text: string): string[] {
  const out: string[] = [];
  let block: string[] = [];
  let fence = "";
  for (const line of text.split("\n")) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? "";
    if (fence) {
      if (mark.startsWith(fence)) fence = "";
    } else if (mark) fence = mark;
    if (!fence && !mark && line.trim() === "" && block.length) {
      out.push(block.join("\n"));
      block = [];
    } else block.push(line);
  }
  return block.length ? [...out, block.join("\n")] : out;
}
