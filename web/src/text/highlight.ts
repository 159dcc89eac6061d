/** Colour code. A chunk of its own, loaded with the first block of code in a known language. */
import highlighter from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import makefile from "highlight.js/lib/languages/makefile";
import markdown from "highlight.js/lib/languages/markdown";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

const LANGUAGES = {
  bash, c, cpp, csharp, css, diff, dockerfile, go, ini, java, javascript, json, kotlin, makefile, markdown, php,
  python, ruby, rust, sql, swift, typescript, xml, yaml,
};
for (const [name, language] of Object.entries(LANGUAGES)) highlighter.registerLanguage(name, language);

/** Longer code stays plain: colouring it would hold up the page. */
const MOST_CHARS = 50_000;

/** Colour the blocks of code in `node` that name a known language. */
export function colourCode(node: HTMLElement): void {
  for (const code of node.querySelectorAll<HTMLElement>("pre > code[class^=language-]")) {
    const language = code.className.slice("language-".length);
    const text = code.textContent ?? "";
    if (!highlighter.getLanguage(language) || text.length > MOST_CHARS || code.childElementCount) continue;
    code.replaceChildren(...elements(highlighter.highlight(text, { language }).value));
  }
}

/** The nodes of highlighted code, built from its text: only spans with a class are taken over. */
function elements(html: string): Node[] {
  const parsed = new DOMParser().parseFromString(html, "text/html").body;
  const copy = (from: Node): Node[] =>
    [...from.childNodes].map((child) => {
      if (child.nodeType === Node.TEXT_NODE) return document.createTextNode(child.nodeValue ?? "");
      const span = document.createElement("span");
      span.className = (child as Element).className;
      span.append(...copy(child));
      return span;
    });
  return copy(parsed);
}
