/** Text of models before it becomes a page: without what deceives the eye, and cut where it may be. */

/** Bidirectional overrides and other controls, which can make a text look like another. */
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** For places that show text as it is. */
export function plain(text: string): string {
  return text.replace(CONTROLS, "");
}

/**
 * The same text in pieces that can be rendered one by one: cut at empty lines outside of code.
 *
 * While a text is arriving only its last piece changes, and only that is rendered anew.
 */
export function pieces(text: string): string[] {
  const out: string[] = [];
  let piece: string[] = [];
  let fence = "";
  for (const line of text.split("\n")) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? "";
    if (fence) {
      if (mark.startsWith(fence)) fence = "";
    } else if (mark) fence = mark;
    if (!fence && !mark && line.trim() === "" && piece.length) {
      out.push(piece.join("\n"));
      piece = [];
    } else piece.push(line);
  }
  return piece.length ? [...out, piece.join("\n")] : out;
}
