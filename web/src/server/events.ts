/** The events and the result of a run, as `pnyx serve` sends them (src/pnyx/core/events.py). Amounts in USD. */

interface Base {
  run_id: string;
  seq: number | null;
  time: string;
  round: number | null;
  phase: string | null;
  seat: string | null;
  key: string;
}

export interface SeatRow {
  seat: string;
  model: string;
  role: string | null;
}

export interface FileRow {
  name: string;
  media_type: string;
  size: number;
  sha256: string;
  tokens: number;
  note: string | null;
}

export interface RunStarted extends Base {
  type: "run_started";
  question: string;
  protocol: string;
  seats: SeatRow[];
  options: Record<string, unknown>;
  budget_usd: number | null;
  deadline_s: number | null;
  forked_from: string | null;
  /** Older events lack it. */
  files?: FileRow[];
}

export interface PhaseEntered extends Base {
  type: "phase_entered";
  protocol: string;
  answer: string | null;
}

export interface CallStarted extends Base {
  type: "call_started";
  attempt: number;
  model: string;
  /** The JSON schema of the object that the model is asked for. */
  schema?: string | null;
  cut: number;
  reserved_usd: number | null;
}

export interface Token extends Base {
  type: "token";
  text: string;
  answer: boolean;
  /** What arrived before was a thought: this piece replaces it. Older servers do not say. */
  restart?: boolean;
}

export interface CallFinished extends Base {
  type: "call_finished";
  attempt: number;
  model: string;
  text: string;
  tool_calls: { name?: string }[];
  finish_reason: string;
  finish_detail?: string;
  input_tokens: number;
  cached_tokens: number;
  output_tokens: number;
  /** Older events lack it, and `reasoning`. */
  reasoning_tokens?: number;
  reasoning?: string | null;
  cost_usd: number | null;
  usage_flag: string | null;
  absent: string | null;
  /** How a structured reply is read; null without a schema, older events lack it. */
  source?: "json" | "prose" | null;
  copied: boolean;
  searches: number | null;
  sources: string[];
  elapsed_s: number;
}

export interface CallFailed extends Base {
  type: "call_failed";
  attempt: number;
  model: string;
  kind: string;
  message: string;
  final: boolean;
  charged_usd: number | null;
  /** Of a reply that was cut off; older events lack them. */
  input_tokens?: number;
  cached_tokens?: number;
  output_tokens?: number;
  text?: string;
  reasoning?: string | null;
  retry_in_s: number | null;
  elapsed_s: number;
}

export interface SeatDropped extends Base {
  type: "seat_dropped";
  model: string;
  reason: string;
}

export interface ToolCalled extends Base {
  type: "tool_called";
  tool: string;
  arguments: Record<string, unknown>;
  outcome: string;
  ok: boolean;
  elapsed_s: number;
}

export interface VoteTallied extends Base {
  type: "vote_tallied";
  rule: string;
  tally: Record<string, number>;
  winner: string | null;
}

export interface SeatAbstained extends Base {
  type: "seat_abstained";
  reason: string;
}

export interface BranchesClosed extends Base {
  type: "branches_closed";
  branches: string[];
}

export interface Budget extends Base {
  type: "budget";
  kind: string;
  scope: string;
  spent_usd: number;
  reserved_usd: number;
  cap_usd: number | null;
  overrun_usd: number;
  /** Events of version 0.1 lack them. */
  next_usd?: number | null;
  expected_usd?: number | null;
  needed_usd?: number | null;
}

export interface RunFinished extends Base {
  type: "run_finished";
  status: string;
  result: Result | Record<string, never>;
}

export type Event =
  | RunStarted
  | PhaseEntered
  | CallStarted
  | Token
  | CallFinished
  | CallFailed
  | SeatDropped
  | ToolCalled
  | VoteTallied
  | SeatAbstained
  | BranchesClosed
  | Budget
  | RunFinished;

export interface Usage {
  calls: number;
  input_tokens: number;
  cached_tokens: number;
  output_tokens: number;
  cost_usd: number | null;
}

export interface Dissent {
  seat: string;
  model: string;
  text: string;
}

export interface Result {
  run_id: string;
  status: string;
  protocol: string;
  question: string;
  answer: string | null;
  final_answer: string | null;
  confidence: number | null;
  confidence_rule: string | null;
  rigor: number | null;
  agreement: number | null;
  consensus_reached: boolean | null;
  dissent: Dissent[];
  rounds: number;
  converged: boolean | null;
  stop_reason: string | null;
  seats: SeatRow[];
  dropped: { seat: string; model: string; reason: string }[];
  degraded: boolean;
  usage: Usage;
  elapsed_s: number;
  detail: Record<string, unknown>;
}
