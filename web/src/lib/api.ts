/** The public interface of `pnyx serve` (docs/http.md), with the key of whoever sits here. */
import type { Event, Result } from "./events.ts";

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

export interface Defaults {
  protocol: string;
  preset: string | null;
  seats: string[];
  missing: string | null;
  models: string[];
  options: Record<string, Record<string, unknown>>;
  budget_usd: number | null;
  deadline_s: number;
  tools: boolean;
}

export type Listed = Result & { created_at: string };
export type Recalled = Listed & { snippet: string; all_words: boolean };

/** What a run would take; null is unknown. */
export interface Plan {
  calls: { least: number; most: number } | null;
  at_most: { cost_usd: number | null };
}

export interface Question {
  question: string;
  protocol: string;
  preset?: string;
  models?: string[];
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

/** What the server refused, in its own words. status: 0 where it could not be reached. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export const UNREACHED = "The server cannot be reached. Is `pnyx serve` still running?";

export class Api {
  private readonly key: string;
  private readonly unknown: () => void;

  /** unknown: called when the server does not know the key. */
  constructor(key: string, unknown: () => void) {
    this.key = key;
    this.unknown = unknown;
  }

  /** Raises `Refused`. */
  async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { ...(init.headers as Record<string, string>), Authorization: `Bearer ${this.key}` };
    let response: Response;
    try {
      response = await fetch(path, { ...init, headers, credentials: "omit", cache: "no-store" });
    } catch (error) {
      if (init.signal?.aborted) throw error;
      throw new Refused(0, UNREACHED);
    }
    if (response.ok) return response;
    if (response.status === 401) this.unknown();
    throw new Refused(response.status, await saidBy(response));
  }

  private async get<T>(path: string): Promise<T> {
    return (await this.fetch(path)).json() as Promise<T>;
  }

  private async post<T>(path: string, body: unknown = {}): Promise<T> {
    const headers = { "Content-Type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    return (await this.fetch(path, init)).json() as Promise<T>;
  }

  protocols = (): Promise<Protocol[]> => this.get("/v1/protocols");
  defaults = (): Promise<Defaults> => this.get("/v1/settings");
  runs = (status: string, limit: number): Promise<Listed[]> =>
    this.get(`/v1/runs?limit=${limit}${status ? `&status=${encodeURIComponent(status)}` : ""}`);
  recall = (text: string, limit: number): Promise<Recalled[]> =>
    this.get(`/v1/recall?limit=${limit}&text=${encodeURIComponent(text)}`);
  plan = (question: Question): Promise<Plan> => this.post("/v1/plan", question);
  ask = (question: Question): Promise<Result> => this.post("/v1/runs", { ...question, tokens: true });
  resume = (id: string, how: { budget_usd?: number; deadline_s?: number }): Promise<Result> =>
    this.post(`${runPath(id)}/resume`, { ...how, tokens: true });
  cancel = (id: string): Promise<Result> => this.post(`${runPath(id)}/cancel`);
  judge = (id: string, result: string, answer: string): Promise<Judgement> =>
    this.post(`${runPath(id)}/feedback`, answer ? { result, answer } : { result });

  /** All that was said, as a file. */
  async exported(id: string, format: "html" | "json" | "md"): Promise<Blob> {
    return (await this.fetch(`${runPath(id)}/export?format=${format}`)).blob();
  }
}

export function runPath(id: string): string {
  return `/v1/runs/${encodeURIComponent(id)}`;
}

export type { Event, Result };

async function saidBy(response: Response): Promise<string> {
  try {
    return ((await response.json()) as { error: { message: string } }).error.message;
  } catch {
    return `the server answered ${response.status}`;
  }
}
