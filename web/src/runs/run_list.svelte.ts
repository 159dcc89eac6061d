/** The list of runs: pages of the server, one after another, and changes of what is loaded. */
import { type Api, type RunSummary, ApiError } from "../server/api.ts";
import { plain, preview } from "../text/plain.ts";

/** What a list shows of a run; a hundred thousand of them fit into memory. */
export interface Row {
  id: string;
  title: string | null;
  question: string;
  answer: string;
  tags: readonly string[];
  pinned: boolean;
  status: string;
  protocol: string;
  calls: number;
  cost_usd: number | null;
  created_at: string;
}

export interface Filters {
  status: string;
  protocol: string;
  since: string;
  tag: string;
  pinned: boolean;
}

export const EVERYTHING: Filters = { status: "", protocol: "", since: "", tag: "", pinned: false };
const PAGE = 100;

export function rowOf(run: RunSummary): Row {
  return {
    id: run.run_id,
    title: run.title ? plain(run.title) : null,
    question: plain(run.question).slice(0, 400),
    answer: run.final_answer ? plain(run.final_answer).slice(0, 300) : preview(run.answer ?? ""),
    tags: run.tags ?? [],
    pinned: run.pinned ?? false,
    status: run.status,
    protocol: run.protocol,
    calls: run.usage.calls,
    cost_usd: run.usage.cost_usd,
    created_at: run.created_at,
  };
}

export class RunList {
  rows = $state.raw<readonly Row[] | null>(null);
  /** Whether the server has older runs. */
  more = $state(false);
  problem = $state("");

  private readonly api: Api;
  private filters = EVERYTHING;
  private next: string | null = null;
  private loading = false;

  constructor(api: Api) {
    this.api = api;
  }

  /** Show the newest runs that pass the filters. */
  async load(filters: Filters): Promise<void> {
    this.filters = filters;
    await this.attempt(async () => {
      const page = await this.api.runs(query(filters), PAGE);
      if (filters !== this.filters) return;
      this.rows = page.runs.map(rowOf);
      this.end(page.next);
    });
  }

  /** Add the next page of older runs. */
  async older(): Promise<void> {
    const { next, filters } = this;
    if (this.loading || !next) return;
    this.loading = true;
    await this.attempt(async () => {
      const page = await this.api.runsAt(next);
      if (filters !== this.filters) return;
      const known = new Set(this.rows?.map((row) => row.id));
      this.rows = [...(this.rows ?? []), ...page.runs.map(rowOf).filter((row) => !known.has(row.id))];
      this.end(page.next);
    });
    this.loading = false;
  }

  /** Read the newest runs again: new ones come first, known ones change. */
  async refresh(): Promise<void> {
    const { filters } = this;
    await this.attempt(async () => {
      const page = await this.api.runs(query(filters), PAGE);
      if (filters !== this.filters || !this.rows) return;
      const fresh = new Map(page.runs.map((run) => [run.run_id, rowOf(run)]));
      const known = this.rows.map((row) => {
        const now = fresh.get(row.id) ?? row;
        fresh.delete(row.id);
        return now;
      });
      this.rows = [...fresh.values(), ...known];
    });
  }

  /** Show a run as it is now; null: it is deleted. */
  replace(id: string, change: Partial<Row> | null): void {
    if (!this.rows) return;
    this.rows = change
      ? this.rows.map((row) => (row.id === id ? { ...row, ...change } : row))
      : this.rows.filter((row) => row.id !== id);
  }

  private end(next: string | null): void {
    this.next = next;
    this.more = next !== null;
  }

  private async attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.problem = "";
    } catch (error) {
      this.problem = error instanceof ApiError ? error.message : String(error);
    }
  }
}

function query({ status, protocol, since, tag, pinned }: Filters): Record<string, string> {
  const given = { status, protocol, since, tag, pinned: pinned ? "true" : "" };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value));
}
