/** What a run looks like: the value that `fold` (view.ts) makes of its events, and that the page renders. */
import type { Result, Usage } from "./events.ts";

export type SeatState = "waiting" | "asked" | "writing" | "answered" | "silent" | "retrying" | "dropped";

/** One thing that a seat did. call: it was asked. text: so far, or whole; `note` says why there is none. */
export interface Turn {
  id: string;
  kind: "call" | "tool";
  stage: string;
  phase: string;
  seat: string;
  state: "asked" | "writing" | "answered" | "silent" | "retrying" | "failed";
  title: string;
  text: string;
  note: string;
  began: string;
  tokens: number;
  cost_usd: number | null;
  elapsed_s: number | null;
  attempts: number;
  failures: { attempt: number; message: string; retry_in_s: number | null }[];
  facts: string[];
  sources: string[];
  flagged: string | null;
}

/** What requests cost together. unpriced: those whose price is not known, open ones too. */
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

/** What is told of the run and of no seat in particular. */
export interface Note {
  id: string;
  kind: "tally" | "budget";
  text: string;
  tally?: { name: string; votes: number; won: boolean }[];
}

/** A round of one protocol: where protocols nest, each has rounds of its own. */
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
  began: string;
  last: string;
  budget_usd: number | null;
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
