import assert from "node:assert/strict";
import { test } from "node:test";
import { type Api, ApiError, type EventPage } from "../src/server/api.ts";
import type { Event } from "../src/server/events.ts";
import { follow } from "../src/server/follow.ts";

// Node.js has no window; only the network's return is listened to.
Object.assign(globalThis, { addEventListener: () => undefined, removeEventListener: () => undefined });

const LENGTH = 7;
const LOG = Array.from({ length: LENGTH }, (_, at) => ({
  type: at === LENGTH - 1 ? "run_finished" : "phase_entered",
  seq: at + 1,
})) as unknown as Event[];

/** A server with `stored` events of the run; the others come over the stream, which breaks after each `most`. */
class Server {
  requests: string[] = [];
  readonly stored: number;
  readonly most: number;
  failures: number;

  constructor(stored: number, most: number, failures: number) {
    this.stored = stored;
    this.most = most;
    this.failures = failures;
  }

  path = (id: string): string => `/v1/runs/${id}`;

  async events(_: string, after: number): Promise<EventPage> {
    this.requests.push(`page ${after}`);
    if (this.failures-- > 0) throw new ApiError(0, "gone");
    const found = LOG.slice(after, Math.min(after + 2, this.stored));
    const next = after + found.length;
    return { events: found, next: next < this.stored ? next : null };
  }

  async fetch(_: string, init: RequestInit): Promise<Response> {
    const seen = Number((init.headers as Record<string, string>)["Last-Event-ID"] ?? 0);
    this.requests.push(`stream ${seen}`);
    const rest = LOG.slice(seen, seen + this.most);
    if (seen === LENGTH) return new Response(null, { status: 204 });
    return new Response(rest.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
  }
}

async function followed(server: Server, after = 0): Promise<{ seen: number[]; calls: string[] }> {
  const seen: number[] = [];
  const calls: string[] = [];
  const to = {
    onHistory: (events: Event[]) => seen.push(...events.map((event) => event.seq ?? 0)),
    onCaughtUp: () => calls.push("caught up"),
    onOpen: () => calls.push("open"),
    onEvent: (event: Event) => seen.push(event.seq ?? 0),
    onLost: () => calls.push("lost"),
    onRefused: () => calls.push("refused"),
  };
  await follow(server as unknown as Api, "r", after, to, AbortSignal.timeout(20_000));
  return { seen, calls };
}

test("each event arrives once and in order, whatever is stored and wherever the connection breaks", async () => {
  for (const stored of [0, 1, 4, LENGTH]) {
    for (const [most, failures] of [[LENGTH, 0], [LENGTH, 1], [4, 0]] as const) {
      const { seen } = await followed(new Server(stored, most, failures));
      assert.deepEqual(seen, LOG.map((event) => event.seq), `${stored} stored, ${most} a connection`);
    }
  }
});

test("a finished run is read in pages alone", async () => {
  const server = new Server(LENGTH, LENGTH, 0);
  const { calls } = await followed(server);
  assert.deepEqual(calls, ["caught up"]);
  assert.deepEqual(server.requests, ["page 0", "page 2", "page 4", "page 6"]);
});

test("a run whose last event is known is over", async () => {
  const server = new Server(LENGTH, LENGTH, 0);
  assert.deepEqual(await followed(server, LENGTH), { seen: [], calls: ["caught up"] });
  assert.deepEqual(server.requests, ["page 7", "stream 7"]);
});

test("a run under way is read in pages and then as a stream", async () => {
  const server = new Server(3, LENGTH, 0);
  assert.deepEqual((await followed(server)).calls, ["caught up", "open"]);
  assert.deepEqual(server.requests, ["page 0", "page 2", "stream 3"]);
});
