/** What is known about how good an answer is, as src/pnyx/interfaces/views/certainty.py words it. */

import type { Result } from "../server/events.ts";
import { quantity } from "../text/format.ts";

type Judged = Pick<
  Result,
  "status" | "agreement" | "dissent" | "rigor" | "confidence" | "confidence_rule" | "seats" | "detail"
>;
export interface Part {
  name: string;
  /** The whole, and its two parts: what comes first, and what explains it. */
  words: string;
  head: string;
  rest: string;
}

const UNDECIDED = ["failed", "cancelled", "paused", "waiting", "running"];
const COUNTED = ["consensus", "majority", "plurality", "stalled", "deadlock"];

/** Agreement, objections, rigor and confidence; empty without a decision. Unknown parts are left out. */
export function certainty(result: Judged): Part[] {
  if (UNDECIDED.includes(result.status)) return [];
  const parts: [string, string | null][] = [
    ["Agreement", agreementWords(result)],
    ["Objections", objectionsWords(result)],
    ["Rigor", rigorWords(result)],
    ["Confidence", confidenceWords(result)],
  ];
  return parts.flatMap(([name, words]) => {
    if (words === null) return [];
    const [head = words, rest = ""] = words.split(/, | \(|: /, 2).map((part) => part.replace(/\)$/, ""));
    return [{ name, words, head, rest: rest && words.slice(words.indexOf(rest)).replace(/\)$/, "") }];
  });
}

/** Whether several seats answered that are all of one model: their agreement is no independent evidence. */
export function fromOneModel(result: Judged): boolean {
  const counts = agreement(result);
  return counts !== null && counts[3] === 1 && counts[1] > 1 && COUNTED.includes(result.status);
}

/** Seats (or samples) that end on the answer, of how many; different models, of how many. */
function agreement(result: Judged): [number, number, number, number] | null {
  const found = fields(result.detail["agreed"]);
  const counts = ["seats", "of", "models", "of_models"].map((name) => found?.[name]);
  if (!counts.every((n) => Number.isInteger(n) && Number(n) >= 0) || !counts[1]) return null;
  return counts as [number, number, number, number];
}

function agreementWords(result: Judged): string | null {
  const counts = agreement(result);
  if (counts === null) {
    return result.agreement === null ? null : `${Math.round(100 * result.agreement)} % of the votes`;
  }
  const [seats, of, models, ofModels] = counts;
  if (of === 1) return "one answer of one model";
  if (ofModels === 1) return `${seats} of ${of} samples of one model`;
  const what = of <= result.seats.length ? "seats" : "answers";
  return `${seats} of ${of} ${what} agree, ${models} of ${ofModels} models`;
}

function objectionsWords(result: Judged): string | null {
  const n = result.dissent.length;
  // No other model could have objected.
  if (!n && agreement(result)?.[3] === 1) return null;
  return n ? `${quantity(n, "objection")} ${n === 1 ? "stands" : "stand"}` : "no objection stands";
}

function rigorWords(result: Judged): string | null {
  if (result.rigor === null) return null;
  const listed = result.detail["challenges"];
  const every = Array.isArray(listed) ? listed.map(fields).filter((one) => one !== null) : [];
  const rigor = result.rigor.toFixed(2);
  if (!every.length) return `${rigor}, the share of critiques that were substantive`;
  if (every.some((one) => !("substantive" in one))) return `${rigor}, by the formula of an earlier version`;
  const good = every.filter((one) => one["substantive"]).length;
  return `${rigor}: ${good} of ${quantity(every.length, "critique")} ${good === 1 ? "was" : "were"} substantive`;
}

function confidenceWords(result: Judged): string {
  const learned = fields(result.detail["calibration"]);
  // What an earlier version stored as confidence was learned from nothing, or from too little.
  if (result.confidence === null || learned === null) return "not calibrated";
  const [level, low, high] = [Number(learned["level"]), Number(learned["low"]), Number(learned["high"])];
  const interval = `${Math.round(100 * level)} % interval ${low.toFixed(2)} to ${high.toFixed(2)}`;
  return `${result.confidence.toFixed(2)} (${interval}; ${result.confidence_rule})`;
}

function fields(value: unknown): Record<string, unknown> | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
}
