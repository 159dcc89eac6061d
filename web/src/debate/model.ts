/** The view of a run: `fold` (view.ts) builds it from events, and the page renders it. */
import type { Result, Usage } from "../server/events.ts";

export type SeatState = "waiting" | "thinking" | "writing" | "answered" | "silent" | "retrying" | "dropped";

/** A call or tool use of a seat. text: complete, or the part that has arrived. note: why there is no text. */
export interface Turn {
  id: string;
  kind: "call" | "tool";
  stage: string;
  phase: string;
  seat: string;
  state: "thinking" | "writing" | "answered" | "silent" | "retrying" | "failed";
  title: string;
  text: string;
  note: string;
  startedAt: string;
  tokens: number;
  cost_usd: number | null;
  elapsed_s: number | null;
  attempts: number;
  /** What the model thought before its reply. */
  reasoning: string;
  /** The model was asked for an object, which is shown in words. */
  structured: boolean;
  failures: { attempt: number; message: string; retry_in_s: number | null }[];
  facts: string[];
  sources: string[];
  flagged: string | null;
}

/** The cost of several requests. unpriced: those with an unknown price, open ones included. */
export interface Cost {
  known_usd: number;
  unpriced: string[];
}

export interface Seat {
  label: string;
  model: string;
  role: string | null;
  state: SeatState;
  phase: string;
  calls: number;
  input_tokens: number;
  output_tokens: number;
  cost: Cost;
  cost_usd: number | null;
  busy_s: number;
  open: Record<string, string>;
  dropped: string | null;
}

/** A note about the run, not about one seat. */
export interface Note {
  id: string;
  kind: "tally" | "budget";
  text: string;
  tally?: { name: string; votes: number; won: boolean }[];
  /** The scope of the step, to find the ballots of the count. */
  scope?: string;
}

/** A round of one protocol. Nested protocols have their own rounds. */
export interface Stage {
  id: string;
  title: string;
  round: number;
  nested: boolean;
  phases: string[];
  turns: Turn[];
  notes: Note[];
}

export interface View {
  seq: number;
  run_id: string;
  question: string;
  protocol: string;
  startedAt: string;
  last: string;
  budget_usd: number | null;
  /** The call that did not fit a budget, and the budget that would do; null if all fit. own: the budget is the run's. */
  exhausted: { own: boolean; enough_usd: number } | null;
  options: Record<string, unknown>;
  seats: Seat[];
  stages: Stage[];
  visited: string[];
  phase: string;
  round: number;
  inner: { protocol: string; phase: string; round: number } | null;
  cost: Cost;
  usage: Usage;
  status: string;
  result: Result | null;
}
