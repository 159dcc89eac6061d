/** Render the text of models safely: Markdown without HTML, then a list of allowed elements. */
import DOMPurify from "dompurify";
import MarkdownIt from "markdown-it";
import { math } from "./math_notation.ts";
import { plain } from "./plain.ts";

const markdown = new MarkdownIt({ html: false, linkify: true, breaks: true, typographer: false });
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
markdown.use(math);
// Loading a picture would reveal the reader to its host, so only its description is shown.
markdown.renderer.rules["image"] = (tokens, at) => {
  const description = tokens[at]?.content ?? "";
  return `<em>[picture${description ? `: ${markdown.utils.escapeHtml(description)}` : ""}]</em>`;
};
// What scrolls must be reachable with the keyboard.
markdown.renderer.rules["fence"] = markdown.renderer.rules["code_block"] = (tokens, at) => {
  const { content = "", info = "" } = tokens[at] ?? {};
  const language = /^[\w+#-]{1,20}/.exec(info.trim())?.[0].toLowerCase();
  const kind = language ? ` class="language-${markdown.utils.escapeHtml(language)}"` : "";
  return `<pre tabindex="0"><code${kind}>${markdown.utils.escapeHtml(content)}</code></pre>\n`;
};
markdown.renderer.rules["table_open"] = () => '<div class="table" tabindex="0"><table>\n';
markdown.renderer.rules["table_close"] = () => "</table></div>\n";

markdown.core.ruler.push("adapt", (state) => {
  const highest = (state.env as { level?: number }).level ?? 1;
  let before = highest - 1;
  for (const [at, token] of state.tokens.entries()) {
    if (token.type === "heading_open") {
      // Headings follow those around the text, and no level is skipped.
      before = Math.min(Number(token.tag.slice(1)) + highest - 1, before + 1, 6);
      token.tag = `h${before}`;
    } else if (token.type === "heading_close") token.tag = `h${before}`;
    else if (token.type === "th_open" || token.type === "td_open") {
      // The policy of the page refuses styles in attributes.
      const align = /left|center|right/.exec(String(token.attrGet("style") ?? ""))?.[0];
      token.attrs = align ? [["class", align]] : null;
      // A heading without words, such as that above the names of rows, is none.
      if (token.type === "th_open" && !state.tokens[at + 1]?.content.trim()) token.tag = "td";
    } else if (token.type === "th_close" && !state.tokens[at - 1]?.content.trim()) {
      token.tag = "td";
    } else if (token.type === "list_item_open") {
      const text = state.tokens[at + 2];
      const first = text?.type === "inline" ? text.children?.[0] : undefined;
      const task = first?.type === "text" ? /^\[([ xX])\](?=\s|$)/.exec(first.content) : null;
      if (!task || !first) continue;
      first.content = (task[1] === " " ? "☐" : "☑") + first.content.slice(3);
      token.attrSet("class", "task");
    }
  }
});

const ALLOWED_TAGS = (
  "p br hr h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong s del a table thead tbody tr th td div span"
).split(" ");
const CLASSES = /^(?:math(?: display)?|table|task|left|center|right|language-[\w+#-]{1,20})$/;
const purify = DOMPurify(window);
purify.addHook("uponSanitizeAttribute", (_, attribute) => {
  if (attribute.attrName === "class") attribute.keepAttr = CLASSES.test(attribute.attrValue);
});
purify.addHook("afterSanitizeAttributes", (node) => {
  if (node.nodeName !== "A") return;
  node.setAttribute("target", "_blank");
  node.setAttribute("rel", "noopener noreferrer nofollow");
});

/** Safe HTML of Markdown. level: of the highest heading. Links lead to http and https only, in a new tab. */
export function renderMarkdown(text: string, level = 3): string {
  return purify.sanitize(markdown.render(plain(text), { level }), {
    ALLOWED_TAGS,
    ALLOWED_ATTR: ["href", "start", "class", "tabindex"],
    ALLOWED_URI_REGEXP: /^https?:/i,
    ADD_URI_SAFE_ATTR: ["start", "tabindex"],
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
  });
}
