/**
 * Formulas in Markdown: `$…$`, `\(…\)` in a line, `$$…$$`, `\[…\]` and `\begin{align}…` as blocks.
 *
 * They become elements with the class `math` that hold the TeX, untouched by Markdown: a browser that cannot
 * draw it shows it as text. Amounts of money are no formulas.
 */
import type { MarkdownIt, StateBlock, StateInline } from "markdown-it";

type InlineRule = (state: StateInline, silent: boolean) => boolean;
type BlockRule = (state: StateBlock, startLine: number, endLine: number, silent: boolean) => boolean;

const OPENERS: readonly [string, string, boolean][] = [
  ["\\(", "\\)", false],
  ["\\[", "\\]", true],
  ["$$", "$$", true],
];
const ENVIRONMENT = /^\\begin\{((?:equation|align|aligned|alignat|gather|gathered|multline|cases|[bBpvV]?matrix|array)\*?)\}/;

/** Add the rules to a Markdown parser. */
export function math(markdown: MarkdownIt): void {
  markdown.inline.ruler.before("escape", "math", inlineMath);
  markdown.block.ruler.before("fence", "math", blockMath, { alt: ["paragraph", "reference", "blockquote", "list"] });
  markdown.renderer.rules["math"] = (tokens, at) => {
    const { content = "", block = false, markup = "" } = tokens[at] ?? {};
    const escaped = markdown.utils.escapeHtml(content);
    if (block) return `<div class="math display">${escaped}</div>\n`;
    return `<span class="math${markup === "display" ? " display" : ""}">${escaped}</span>`;
  };
}

const inlineMath: InlineRule = (state, silent) => {
  const found = formulaAt(state.src, state.pos, state.posMax);
  if (!found) return false;
  if (!silent) {
    const token = state.push("math", "span", 0);
    token.content = found.tex;
    token.markup = found.display ? "display" : "";
  }
  state.pos = found.end;
  return true;
};

const blockMath: BlockRule = (state, startLine, endLine, silent) => {
  const start = (state.bMarks[startLine] ?? 0) + (state.tShift[startLine] ?? 0);
  if ((state.sCount[startLine] ?? 0) - state.blkIndent >= 4) return false;
  const first = state.src.slice(start, state.eMarks[startLine]);
  const environment = ENVIRONMENT.exec(first)?.[1];
  const opener = environment ? undefined : OPENERS.find(([open, , display]) => display && first.startsWith(open));
  if (!environment && !opener) return false;
  const close = environment ? `\\end{${environment}}` : (opener?.[1] ?? "");
  const skipped = opener?.[0].length ?? 0;
  for (let line = startLine; line < endLine; line++) {
    const from = line === startLine ? start + skipped : (state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0);
    const text = state.src.slice(from, state.eMarks[line]).trimEnd();
    // A block ends where its quotation or item does.
    if (line > startLine && text && (state.sCount[line] ?? 0) < state.blkIndent) return false;
    const end = text.indexOf(close);
    if (end < 0) continue;
    if (text.slice(end + close.length).trim() !== "") return false;
    if (silent) return true;
    const tex = state.getLines(startLine, line + 1, state.blkIndent, false).trim();
    const content = environment ? tex : tex.slice(skipped, tex.lastIndexOf(close)).trim();
    if (!content) return false;
    const token = state.push("math", "div", 0);
    token.block = true;
    token.content = content;
    token.map = [startLine, line + 1];
    state.line = line + 1;
    return true;
  }
  return false;
};

/** The formula that starts at `pos`, or null: its TeX, where it ends, and whether it stands by itself. */
export function formulaAt(text: string, pos: number, end: number): { tex: string; end: number; display: boolean } | null {
  for (const [open, close, display] of OPENERS) {
    if (!text.startsWith(open, pos)) continue;
    const stop = text.indexOf(close, pos + open.length);
    if (stop < 0 || stop + close.length > end) return null;
    const tex = text.slice(pos + open.length, stop).trim();
    return tex && !tex.includes("`") ? { tex, end: stop + close.length, display } : null;
  }
  if (text[pos] !== "$" || /[\p{L}\p{N}$\\]/u.test(text[pos - 1] ?? "")) return null;
  let stop = pos + 1;
  while (stop < end && text[stop] !== "$") stop += text[stop] === "\\" ? 2 : 1;
  if (stop >= end || /[\p{L}\p{N}$]/u.test(text[stop + 1] ?? "")) return null;
  const tex = text.slice(pos + 1, stop);
  if (!tex || /^\s|\s$|`/.test(tex) || isAmount(tex)) return null;
  return { tex, end: stop + 1, display: false };
}

/** Whether what stands between two dollar signs reads as text about money, not as a formula. */
function isAmount(tex: string): boolean {
  if (/[\\^_={}]/.test(tex)) return false;
  const words = tex.match(/\p{L}{3,}/gu) ?? [];
  return words.length > 1 || (/^[\d.,]+/.test(tex) && (words.length > 0 || /[,;:.!?)/–—-]$/.test(tex)));
}
