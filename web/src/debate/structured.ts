/** Structured replies for people, as src/pnyx/interfaces/views/structured.py words them: never raw JSON. */

type Fields = Record<string, unknown>;

const BALLOTS: Record<string, string> = {
  FINALIZE: "Endorses {label}.",
  REVISE: "Asks for a revision.",
  SPLIT: "Sees a split.",
};
const APPROVALS: Record<string, string> = { APPROVE: "Approves.", REJECT: "Rejects." };
const FENCE = /[ \t]*(?:```|~~~)[\w-]*[ \t]*\n?$/;
const FENCE_END = /^\s*\n[ \t]*(?:```|~~~)[ \t]*(?=\n|$)/;

/** `text` with each of its outermost JSON objects in words. Other text stays as it is. */
export function asProse(text: string): string {
  let out = "";
  let at = 0;
  let found = false;
  for (let start = text.indexOf("{"); start >= 0; ) {
    const end = endOfObject(text, start);
    const value = end ? parse(text.slice(start, end)) : null;
    if (!value) {
      start = text.indexOf("{", start + 1);
      continue;
    }
    let before = text.slice(at, start);
    at = end;
    const opening = FENCE.exec(before);
    const closing = FENCE_END.exec(text.slice(end));
    if (opening && closing) {
      before = before.slice(0, opening.index);
      at += closing[0].length;
    }
    out += before + words(value);
    found = true;
    start = text.indexOf("{", at);
  }
  return found ? (out + text.slice(at)).trim() : text;
}

/** A structured reply that is still being written: the fields that have arrived so far. */
export function openObject(text: string): string {
  if (!/^\s*(?:```\w*\s*)?\{/.test(text)) return text;
  const whole = asProse(text);
  if (whole !== text) return whole;
  const pieces: string[] = [];
  for (const [, name = "", value = ""] of text.matchAll(/"(\w+)"\s*:\s*"((?:[^"\\]|\\.)*)/g)) {
    const written = value.replace(/\\u[0-9a-f]{0,3}$|\\$/i, "");
    pieces.push(`**${title(name)}:** ${String(parseValue(`"${written}"`) ?? written).trim()}`);
  }
  return pieces.join("\n\n");
}

/** The end of the balanced braces that open at `start`; 0 if they do not close. */
function endOfObject(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const char = text[at];
    if (char === '"') {
      for (at++; at < text.length && text[at] !== '"'; at++) if (text[at] === "\\") at++;
    } else if (char === "{") depth++;
    else if (char === "}" && --depth === 0) return at + 1;
  }
  return 0;
}

function parse(text: string): Fields | null {
  const value = parseValue(text);
  return isFields(value) && Object.keys(value).length ? value : null;
}

function parseValue(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

function words(value: Fields): string {
  return ballot(value) || approval(value) || plan(value) || groups(value) || fields(value);
}

function ballot(value: Fields): string {
  const form = typeof value["vote"] === "string" ? BALLOTS[value["vote"]] : undefined;
  if (!form) return "";
  const label = text(value["label"]) || "no proposal";
  const ranking = value["ranking"];
  const order = Array.isArray(ranking) && ranking.length ? `\n\nRanking: ${ranking.map(text).join(" > ")}` : "";
  return `**${form.replace("{label}", () => label)}** ${text(value["text"])}`.trim() + order;
}

function approval(value: Fields): string {
  const form = typeof value["verdict"] === "string" ? APPROVALS[value["verdict"]] : undefined;
  return form ? `**${form}** ${text(value["reason"])}`.trim() : "";
}

function plan(value: Fields): string {
  const subtasks = value["subtasks"];
  if (!Array.isArray(subtasks) || !subtasks.length || !subtasks.every(isFields)) return "";
  return subtasks
    .map((one, n) => {
      const needs = one["needs"];
      const after = Array.isArray(needs) && needs.length ? ` (after ${needs.map(text).join(", ")})` : "";
      return `${n + 1}. **${text(one["label"])}** ${text(one["question"])}${after}`;
    })
    .join("\n");
}

function groups(value: Fields): string {
  const found = value["groups"];
  if (Object.keys(value).join() !== "groups" || !Array.isArray(found) || !found.length) return "";
  if (!found.every(Array.isArray)) return "";
  const lines = found.map((group) => `- ${(group as unknown[]).map(text).join(" and ")}`);
  return ["Answers that mean the same:", "", ...lines].join("\n");
}

function fields(value: Fields, indent = ""): string {
  const parts = Object.entries(value).map(([name, one]) => {
    if (isFilled(one)) return `${indent}- **${title(name)}:**\n${items(one, `${indent}  `)}`;
    return `${indent ? `${indent}- ` : ""}**${title(name)}:** ${text(one) || "none"}`;
  });
  return parts.join(indent ? "\n" : "\n\n");
}

function items(value: object, indent: string): string {
  if (!Array.isArray(value)) return fields(value as Fields, indent);
  const nested = value.some((one) => typeof one === "object" && one !== null);
  return value
    .map((one, n) => {
      if (nested && isFilled(one)) return `${indent}- ${n + 1}.\n${items(one, `${indent}  `)}`;
      return `${indent}- ${text(one) || "none"}`;
    })
    .join("\n");
}

function title(name: string): string {
  const words = name.replace(/[_-]+/g, " ").trim();
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}

function text(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return value.trim();
  if (Array.isArray(value)) return value.map(text).join(", ");
  if (isFields(value)) return Object.entries(value).map(([name, one]) => `${name}: ${text(one)}`).join("; ");
  return String(value);
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isFilled(value: unknown): value is object {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}
