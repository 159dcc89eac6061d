/** Render the text of models safely: Markdown without HTML, then a list of allowed elements. */
import DOMPurify from "dompurify";
import MarkdownIt from "markdown-it";
import { plain } from "./plain.ts";

const markdown = new MarkdownIt({ html: false, linkify: true, breaks: true, typographer: false });
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
// Loading a picture would reveal the reader to its host, so only its description is shown.
markdown.renderer.rules["image"] = (tokens, at) => {
  const description = tokens[at]?.content ?? "";
  return `<em>[picture${description ? `: ${markdown.utils.escapeHtml(description)}` : ""}]</em>`;
};

const ALLOWED_TAGS = (
  "p br hr h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong s del a table thead tbody tr th td"
).split(" ");
const purify = DOMPurify(window);
purify.addHook("afterSanitizeAttributes", (node) => {
  if (node.nodeName !== "A") return;
  node.setAttribute("target", "_blank");
  node.setAttribute("rel", "noopener noreferrer nofollow");
});

/** Safe HTML of Markdown. Links lead to http and https only, and open in a new tab. */
export function renderMarkdown(text: string): string {
  return purify.sanitize(markdown.render(plain(text)), {
    ALLOWED_TAGS,
    ALLOWED_ATTR: ["href", "start"],
    ALLOWED_URI_REGEXP: /^https?:/i,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
  });
}
