/** Draw formulas with KaTeX. A chunk of its own, loaded with the first formula. */
import katex from "katex";
import "katex/dist/katex.min.css";

/**
 * Draw the formulas in `node` in place of their TeX; one that KaTeX cannot read stays as text.
 *
 * KaTeX builds elements and sets their styles one by one, which the policy of the page allows; styles in
 * attributes of HTML it would refuse.
 */
export function drawFormulas(node: HTMLElement): void {
  for (const one of node.querySelectorAll<HTMLElement>(".math:not(.drawn)")) {
    const tex = one.textContent ?? "";
    const drawn = document.createElement("span");
    try {
      katex.render(tex, drawn, {
        displayMode: one.classList.contains("display"),
        throwOnError: true,
        trust: false,
        strict: "ignore",
        maxSize: 20,
        maxExpand: 500,
      });
    } catch {
      one.classList.add("drawn", "unread");
      continue;
    }
    one.replaceChildren(...drawn.childNodes);
    one.dir = "ltr";
    if (one.classList.contains("display")) {
      // A wide formula scrolls, so the keyboard must reach it.
      one.tabIndex = 0;
      one.setAttribute("role", "group");
      one.setAttribute("aria-label", "Formula");
    }
    one.classList.add("drawn");
  }
}
