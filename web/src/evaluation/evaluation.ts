/** The files that `pnyx eval` writes: its report (JSON) and its log (JSON Lines). */

export interface Interval {
  mean: number;
  low: number;
  high: number;
}

export interface ArmFigures {
  name: string;
  kind: string;
  protocol: string | null;
  n: number;
  right: number;
  accuracy: Interval | null;
  unread: number;
  errors: number;
  calls: number | null;
  input_tokens: number | null;
  output_tokens: number | null;
  cost_usd: number | null;
  total_usd: number | null;
  usd_per_right: number | null;
  seconds_p50: number | null;
  seconds_p95: number | null;
  talk: { n: number; vote_right: number; right: number; rescued: number; lost: number; p: number } | null;
}

export interface Pair {
  arm: string;
  to: string;
  n: number;
  difference: Interval;
  p: number;
  p_holm: number | null;
  rescues: number;
  regressions: number;
  cost_ratio: number | null;
}

/** The report of an evaluation (src/pnyx/evaluate/report/document.py). */
export interface Report {
  verdict: string[];
  dataset: string;
  models: string[];
  started: string;
  questions: number;
  asked: number;
  partial: boolean;
  arms: ArmFigures[];
  pairs: Pair[];
}

/** The answer of an arm to a question; answer: null if there was none. */
export interface Answer {
  arm: string;
  id: string;
  category: string | null;
  target: string;
  answer: string | null;
  correct: boolean;
  error: string | null;
}

/** A question with the answer of each arm. */
export interface Question {
  id: string;
  category: string;
  target: string;
  answers: ReadonlyMap<string, Answer>;
}

export type EvaluationFile = { kind: "report"; report: Report } | { kind: "log"; text: string; questions: Question[] };

export const NOT_ONE = "This is neither a report nor a log of pnyx eval: choose the file of --json or of --log.";

/** Read a file by its content. Throws an `Error` with words for the reader. */
export function readFile(text: string): EvaluationFile {
  const whole = parsed(text.trim());
  if (isReport(whole)) return { kind: "report", report: whole };
  const lines = text.split("\n").filter((line) => line.trim()).map(parsed);
  const [head, ...rows] = lines;
  if (!isObject(head) || !("pnyx_eval" in head) || !rows.every(isAnswer)) throw new Error(NOT_ONE);
  return { kind: "log", text, questions: questionsOf(rows) };
}

/** The questions in the order of the log. */
export function questionsOf(rows: readonly Answer[]): Question[] {
  const found = new Map<string, Question & { answers: Map<string, Answer> }>();
  for (const row of rows) {
    const question = found.get(row.id) ?? { id: row.id, category: row.category ?? "", target: row.target, answers: new Map() };
    question.answers.set(row.arm, row);
    found.set(row.id, question);
  }
  return [...found.values()];
}

/**
 * The second accuracy minus the first, with a 95 % interval from theirs, as for independent samples
 * (Newcombe, Statistics in Medicine 17, 1998, method 10); null if one is unknown.
 */
export function difference(one: Interval | null | undefined, other: Interval | null | undefined): Interval | null {
  if (!one || !other) return null;
  const mean = other.mean - one.mean;
  const below = Math.hypot(other.mean - other.low, one.high - one.mean);
  const above = Math.hypot(other.high - other.mean, one.mean - one.low);
  return { mean, low: mean - below, high: mean + above };
}

/** Whether not all arms that answered are right, and not all are wrong. */
export function differs(question: Question): boolean {
  return new Set([...question.answers.values()].map((answer) => answer.correct)).size > 1;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isReport(value: unknown): value is Report {
  return isObject(value) && Array.isArray(value["verdict"]) && Array.isArray(value["arms"]) && Array.isArray(value["pairs"]);
}

function isAnswer(value: unknown): value is Answer {
  return isObject(value) && typeof value["arm"] === "string" && typeof value["id"] === "string" && typeof value["correct"] === "boolean";
}
