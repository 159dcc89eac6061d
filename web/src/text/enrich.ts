/** What is added to rendered text: its direction, a button that copies code, colours, formulas. */

/**
 * Each has the direction of its own text: an Arabic answer may quote an English one. What is in a block of its own,
 * such as a quoted paragraph, gets none: a browser would then not count it as text of the block.
 */
const BLOCKS = "p, ul, ol, blockquote, table, h1, h2, h3, h4, h5, h6";

/** Add it to the text in `node`. The larger parts are loaded when a text needs them first. */
export function enrich(node: HTMLElement): void {
  for (const block of node.querySelectorAll(BLOCKS)) {
    const outer = block.parentElement?.closest(BLOCKS);
    if (!outer || !node.contains(outer)) block.setAttribute("dir", "auto");
  }
  for (const pre of node.querySelectorAll("pre")) addCopyButton(pre);
  if (node.querySelector("pre > code[class]")) {
    void import("./highlight.ts").then(({ colourCode }) => colourCode(node), ignore);
  }
  if (node.querySelector(".math")) void import("./math.ts").then(({ drawFormulas }) => drawFormulas(node), ignore);
}

/** Without the chunk (an old browser, a server that is gone), the text is readable as it is. */
function ignore(): void {}

function addCopyButton(pre: HTMLElement): void {
  const frame = document.createElement("div");
  frame.className = "code";
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.setAttribute("aria-label", "Copy this code");
  button.addEventListener("click", () => {
    void copyText(pre.textContent ?? "").then((done) => {
      button.textContent = done ? "Copied" : "Not copied";
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
  });
  frame.dir = "ltr";
  pre.replaceWith(frame);
  frame.append(pre, button);
}

/** Copy `text`; returns whether the browser allows it here. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
