/** What is a formula in Markdown, and what is an amount of money or code. */
import assert from "node:assert/strict";
import { test } from "node:test";
import MarkdownIt from "markdown-it";
import { formulaAt, math } from "../src/text/math_notation.ts";

const markdown = new MarkdownIt({ html: false, breaks: true });
markdown.use(math);

/** The formulas in the rendered text, as their TeX; a block of its own is marked with a bar. */
function formulas(text: string): string[] {
  const found = markdown.render(text).matchAll(/<(span|div) class="math( display)?">([^<]*)</g);
  return [...found].map(([, , display = "", tex = ""]) => (display ? `| ${tex}` : tex).replaceAll("&lt;", "<"));
}

const FORMULAS: [string, string[]][] = [
  ["It is $x^2\\,dx$.", ["x^2\\,dx"]],
  ["It is \\(a_1 * b_2 * c\\).", ["a_1 * b_2 * c"]],
  ["Inline $$x$$ too", ["| x"]],
  ["$$\nx^2\n+ y^2\n$$", ["| x^2\n+ y^2"]],
  ["$$x = 1$$", ["| x = 1"]],
  ["\\[\nx\n\\]", ["| x"]],
  ["text\n\\[ x \\]\nmore", ["| x"]],
  ["- item\n  $$\n  x\n  $$", ["| x"]],
  ["> $$x$$", ["| x"]],
  ["\\begin{align}\na &= b \\\\\nc &= d\n\\end{align}", ["| \\begin{align}\na &amp;= b \\\\\nc &amp;= d\n\\end{align}"]],
  ["$n$ and $m$", ["n", "m"]],
  ["$5$", ["5"]],
  ["$2n + 1$ is odd", ["2n + 1"]],
  ["($x$)", ["x"]],
  ["**$x$**", ["x"]],
  ["$\\text{cost} = \\$5$", ["\\text{cost} = \\$5"]],
  ["It costs $5, and $x = 1$ holds.", ["x = 1"]],
  ["$a < b$", ["a < b"]],
];
const TEXTS = [
  "It costs $5 and $6.",
  "from $60 to $120 a month",
  "$5-$10",
  "$5–$10, $15/$20",
  "US$5 and A$6",
  "$HOME/$USER and $PATH",
  "between $1,000 and 2,000$ a year",
  "a $5 bill is not a 10 dollar$ bill",
  "only $5",
  "escaped \\$x\\$",
  "`$x$` and `\\(y\\)`",
  "```\n$x$\n$$y$$\n```",
  "    $$x$$",
  "$ x $",
  "$$",
  "$$ $$",
  "$$ never closed\n\nnext",
  "\\[ never closed",
  "\\(",
  "it earned $3 million in 2020 and $4 million in 2021$",
];

for (const [text, found] of FORMULAS) test(`a formula: ${text.slice(0, 40)}`, () => assert.deepEqual(formulas(text), found));
for (const text of TEXTS) test(`no formula: ${text.slice(0, 40)}`, () => assert.deepEqual(formulas(text), []));

test("any two amounts with any words between them are text", () => {
  const words = [" and ", " to ", "-", "–", " or ", "/", ", ", " vs. ", " plus ", ", not "];
  for (const first of ["$5", "$1,200.50", "$3M", "$0.02", "US$7"]) {
    for (const word of words) {
      for (const second of ["$6", "$1.5k", "$10 million", "$99.99."]) {
        assert.deepEqual(formulas(`It is ${first}${word}${second} a year`), [], `${first}${word}${second}`);
      }
    }
  }
});

test("no text hangs or breaks the rules", () => {
  const pieces = ["$", "$$", "\\(", "\\)", "\\[", "\\]", "x", " ", "5", "\n", "`", "\\", "> ", "- "];
  let state = 11;
  for (let round = 0; round < 3000; round++) {
    const text = Array.from({ length: 12 }, () => pieces[(state = (state * 1103515245 + 12345) % 2147483648) % pieces.length]).join("");
    assert.equal(typeof markdown.render(text), "string");
    for (let at = 0; at < text.length; at++) {
      const found = formulaAt(text, at, text.length);
      if (found) assert.ok(found.end > at && found.end <= text.length && found.tex);
    }
  }
  const began = Date.now();
  markdown.render("$".repeat(20_000));
  markdown.render("\\( ".repeat(5_000));
  markdown.render("$x ".repeat(8_000));
  assert.ok(Date.now() - began < 4000, `${Date.now() - began} ms`);
});
