/** A client of `pnyx serve` (docs/http.md), with the user's key. */
import type { Event, Result } from "./events.ts";
import type { Report } from "../evaluation/evaluation.ts";
import { messages } from "./sse.ts";
import { errorWords } from "./trouble.ts";

export interface Option {
  default: string | number | boolean | null;
  help: string;
  low: number | null;
  high: number | null;
  choices: string[];
}

export interface Protocol {
  name: string;
  summary: string;
  quorum: number;
  options: Record<string, Option>;
  presets: Record<string, Record<string, unknown>>;
  phases: { source: string; target: string; requires: string }[];
  calls_with_three_seats: { least: number; most: number } | null;
}

/** A model for a panel. Prices: USD per million tokens. missing: "its key" or "its file". */
export interface ModelRow {
  model: string;
  input_price: number | null;
  output_price: number | null;
  context: number | null;
  missing: string | null;
}

export interface SavedPanel {
  seats: string[];
  protocol: string | null;
  preset: string | null;
  options: Record<string, unknown>;
  judge: string | null;
  budget: number | null;
}

export interface Defaults {
  protocol: string;
  preset: string | null;
  seats: string[];
  missing: string | null;
  models: string[];
  catalogue: ModelRow[];
  panels: Record<string, SavedPanel>;
  options: Record<string, Record<string, unknown>>;
  budget_usd: number | null;
  deadline_s: number;
  tools: boolean;
}

/** What people call a run and file it under. */
export interface Labels {
  title: string | null;
  tags: string[];
  pinned: boolean;
}

/** Runs that the server recalls have no labels. */
export type RunSummary = Result & { created_at: string } & Partial<Labels>;
/** Part of the events of a run. next: the number after which the following part begins; null at the end. */
export interface EventPage {
  events: Event[];
  next: number | null;
}

/** Part of the list of runs. next: the address of the following part; null at the end. */
export interface RunPage {
  runs: RunSummary[];
  next: string | null;
}
export type RecalledRun = RunSummary & { snippet: string; all_words: boolean };

/** The bounds of a run before it starts; null is unknown. */
export interface Plan {
  calls: { least: number; most: number } | null;
  at_most: { cost_usd: number | null };
  expected_usd: number | null;
  cost_note: string | null;
}

export interface RunRequest {
  question: string;
  protocol: string;
  preset?: string;
  models?: string[];
  panel?: string;
  follows?: string;
  files?: { name: string; data_base64: string; media_type?: string }[];
  options?: Record<string, unknown>;
  budget_usd?: number;
  deadline_s?: number;
  tools?: boolean;
  ground?: boolean;
}

export interface Judgement {
  result: string;
  gold: string | null;
  answers: Record<string, string | null>;
}

/** A count with its ballots; `of` is the name voted for. winner: null on a tie. */
export interface Count {
  scope: string;
  round: number;
  phase: string;
  rule: string;
  counts: Record<string, number>;
  winner: string | null;
  tied: boolean;
  ballots: { seat: string; of: string | null; text: string; ranking: string[] }[];
}

export interface ChangeOfMind {
  seat: string;
  kind: string;
  before: string;
  now: string;
  round: number;
  phase: string;
  after: { round: number; phase: string; seats: string[] }[];
}

export interface PhaseCost {
  seat: string;
  phase: string;
  calls: number;
  input_tokens: number;
  output_tokens: number;
  cost_usd: number | null;
  elapsed_s: number;
}

/** The debate at a glance, as the server reads it from the events (src/pnyx/interfaces/views/overview.py). */
export interface Overview {
  votes: Count[];
  changes: ChangeOfMind[];
  panel: { agree: string[]; differ: string[]; only: string[] };
  costs: PhaseCost[];
}

export interface CostRow {
  name: string;
  runs: number;
  calls: number;
  input_tokens: number;
  output_tokens: number;
  cost_usd: number | null;
  known_usd: number;
}

/** What runs cost since a day: in all, by group, and by day. */
export interface Costs {
  since: string;
  total: CostRow;
  rows: CostRow[];
  days: CostRow[];
}

export interface ReliabilityBin {
  low: number;
  high: number;
  n: number;
  confidence: number;
  right: number;
  calibrated: number | null;
  interval: [number, number] | null;
}

export interface PanelReliability {
  measure: string;
  panel: string[];
  rule: string | null;
  n: number;
  right: number;
  needs: number;
  ece: number | null;
  brier: number | null;
  bins: ReliabilityBin[];
}

export interface Calibration {
  n: number;
  partial: number;
  needed: number;
  protocols: Record<string, { panels: PanelReliability[] }>;
  models: { rule: string; n: number; weights: Record<string, number>; accuracies: Record<string, number | null> };
}

/** An evaluation whose log is stored. questions: planned for each arm; null: unknown. */
export interface StoredEvaluation {
  id: string;
  dataset: string;
  models: string[];
  arms: string[];
  questions: number | null;
  started: string;
  updated_at: string;
}

/** A link to a run. token, url: of a new one only, and never again. */
export interface ShareLink {
  id: string;
  run_id: string;
  state: "valid" | "expired" | "revoked";
  created_at: string;
  expires_at: string;
  token?: string;
  url?: string;
}

export interface SharedRun {
  run: Result;
  protocol: Protocol | null;
  expires_at: string;
}

/** A failed request, with the message of the server. status: 0 if the server cannot be reached. */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export const UNREACHABLE = "The server cannot be reached. Check that it is running, and try again.";

export class Api {
  private readonly key: string;
  private readonly onUnknownKey: () => void;

  /** onUnknownKey: called when the server rejects the key. */
  constructor(key: string, onUnknownKey: () => void) {
    this.key = key;
    this.onUnknownKey = onUnknownKey;
  }

  /** Send a request. Throws `ApiError`. */
  async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { ...(init.headers as Record<string, string>), Authorization: `Bearer ${this.key}` };
    let response: Response;
    try {
      response = await fetch(path, { ...init, headers, credentials: "omit", cache: "no-store" });
    } catch (error) {
      if (init.signal?.aborted) throw error;
      throw new ApiError(0, UNREACHABLE);
    }
    if (response.ok) return response;
    if (response.status === 401) this.onUnknownKey();
    throw new ApiError(response.status, await errorMessage(response));
  }

  /** The address of a run. */
  path(id: string): string {
    return `/v1/runs/${encodeURIComponent(id)}`;
  }

  protected async get<T>(path: string): Promise<T> {
    return (await this.fetch(path)).json() as Promise<T>;
  }

  private async post<T>(path: string, body: unknown = {}): Promise<T> {
    const headers = { "Content-Type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    return (await this.fetch(path, init)).json() as Promise<T>;
  }

  protocols = (): Promise<Protocol[]> => this.get("/v1/protocols");
  defaults = (): Promise<Defaults> => this.get("/v1/settings");
  /** The newest runs. filters: status, protocol, since, tag, pinned. */
  runs = (filters: Record<string, string>, limit: number): Promise<RunPage> =>
    this.runsAt(`/v1/runs?${new URLSearchParams({ limit: `${limit}`, ...filters })}`);
  /** The runs at the address of a page. */
  runsAt = async (path: string): Promise<RunPage> => {
    const response = await this.fetch(path);
    const next = /<(\/v1\/runs[^>]*)>; rel="next"/.exec(response.headers.get("Link") ?? "")?.[1] ?? null;
    return { runs: (await response.json()) as RunSummary[], next };
  };
  /** Change labels; what is left out stays. created_at: of the run. */
  label = async (id: string, change: Partial<Labels>, created_at: string): Promise<RunSummary> => {
    const init = { method: "PATCH", headers: { "Content-Type": "application/json" }, body: JSON.stringify(change) };
    return { ...((await (await this.fetch(this.path(id), init)).json()) as Result & Labels), created_at };
  };
  delete = async (id: string): Promise<void> => {
    await this.fetch(this.path(id), { method: "DELETE" });
  };
  recall = (text: string, limit: number): Promise<RecalledRun[]> =>
    this.get(`/v1/recall?limit=${limit}&text=${encodeURIComponent(text)}`);
  overview = (id: string): Promise<Overview> => this.get(`${this.path(id)}/overview`);
  plan = (request: RunRequest): Promise<Plan> => this.post("/v1/plan", request);
  ask = (request: RunRequest): Promise<Result> => this.post("/v1/runs", { ...request, tokens: true });
  /** fork: start a new run that keeps the recorded replies, also of a run that is over. */
  resume = (id: string, limits: { budget_usd?: number; deadline_s?: number; fork?: boolean }): Promise<Result> =>
    this.post(`${this.path(id)}/resume`, { ...limits, tokens: true });
  cancel = (id: string): Promise<Result> => this.post(`${this.path(id)}/cancel`);
  /** The first turns of the conversation of a run, oldest first; the run alone if it has none. */
  conversation = (id: string): Promise<RunPage> => this.runsAt(`${this.path(id)}/conversation`);
  run = (id: string): Promise<Result> => this.get(this.path(id));
  /** At most `limit` stored events after the number `after`. */
  async events(id: string, after: number, limit: number, signal: AbortSignal): Promise<EventPage> {
    const query = `after=${after}&limit=${limit}&prompts=omit`;
    const response = await this.fetch(`${this.path(id)}/events?${query}`, { signal });
    const events: Event[] = [];
    if (response.body) for await (const data of messages(response.body)) events.push(JSON.parse(data) as Event);
    const next = /[?&]after=(\d+)/.exec(response.headers.get("Link") ?? "")?.[1];
    return { events, next: next === undefined ? null : Number(next) };
  }
  costs = (by: string, days: number): Promise<Costs> => this.get(`/v1/costs?by=${by}&days=${days}`);
  /** The report of an evaluation, from its log. */
  evaluation = (log: string): Promise<Report> => this.post("/v1/evaluations/report", { log });
  /** The evaluations that the server's machine made; a named key has none. */
  evaluations = (): Promise<StoredEvaluation[]> => this.get("/v1/evaluations");
  storedReport = (id: string): Promise<Report> => this.get(`/v1/evaluations/${encodeURIComponent(id)}`);
  storedLog = async (id: string): Promise<string> =>
    (await this.fetch(`/v1/evaluations/${encodeURIComponent(id)}/log`)).text();
  calibration = (): Promise<Calibration> => this.get("/v1/calibration");
  withdrawFeedback = async (id: string): Promise<void> => {
    await this.fetch(`${this.path(id)}/feedback`, { method: "DELETE" });
  };
  judge = (id: string, result: string, answer: string): Promise<Judgement> =>
    this.post(`${this.path(id)}/feedback`, answer ? { result, answer } : { result });

  shares = (id: string): Promise<ShareLink[]> => this.get(`${this.path(id)}/shares`);
  share = (id: string, expires_s: number): Promise<ShareLink> => this.post(`${this.path(id)}/shares`, { expires_s });
  revoke = async (id: string, link: string): Promise<ShareLink[]> =>
    (await this.fetch(`${this.path(id)}/shares/${encodeURIComponent(link)}`, { method: "DELETE" })).json();

  /** The whole run as a file. */
  async exportRun(id: string, format: "html" | "json" | "md"): Promise<Blob> {
    return (await this.fetch(`${this.path(id)}/export?format=${format}`)).blob();
  }
}

/** The server for those who have a link. Its token opens one run, so no address names a run. */
export class SharedApi extends Api {
  override path(): string {
    return "/v1/shared";
  }

  shared = (): Promise<SharedRun> => this.get(this.path());
}

export type { Event, Result };

async function errorMessage(response: Response): Promise<string> {
  try {
    const { error } = (await response.json()) as { error: { type: string; message: string } };
    return errorWords(error.type, error.message);
  } catch {
    return `The server returned HTTP ${response.status}.`;
  }
}
