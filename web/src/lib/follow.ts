/** A run's server-sent events, for as long as there are any: a lost connection is made again where it broke. */
import { type Api, Refused, runPath } from "./api.ts";
import type { Event } from "./events.ts";
import { messages } from "./sse.ts";

export interface Listener {
  /** The connection stands, and tokens of open calls will come from their beginning. */
  joined(): void;
  heard(event: Event): void;
  /** Trying again in so many seconds. */
  lost(retry_s: number): void;
  /** The server refuses, and will not think better of it. */
  refused(error: Refused): void;
}

/** The server sends a comment line every 15 s; after this long without a byte, nobody is there. */
const SILENCE_MS = 40_000;
const PAUSES_S = [0.5, 1, 2, 4];

/** Until the run's last event, or `signal`. after: the number of the last event that was seen already. */
export async function follow(api: Api, id: string, after: number, to: Listener, signal: AbortSignal): Promise<void> {
  let seen = after;
  let failures = 0;
  while (!signal.aborted) {
    try {
      for await (const event of events(api, id, seen, signal, () => to.joined())) {
        failures = 0;
        if (event.seq !== null && event.type !== "token") seen = event.seq;
        to.heard(event);
        if (event.type === "run_finished") return;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refused && error.status >= 400 && error.status < 500) {
        to.refused(error);
        return;
      }
    }
    const pause = PAUSES_S[Math.min(failures++, PAUSES_S.length - 1)] as number;
    to.lost(pause);
    await waited(pause * 1000, signal);
  }
}

async function* events(
  api: Api,
  id: string,
  seen: number,
  signal: AbortSignal,
  joined: () => void,
): AsyncGenerator<Event> {
  const silence = new AbortController();
  const either = AbortSignal.any([signal, silence.signal]);
  let timer = setTimeout(() => silence.abort(), SILENCE_MS);
  try {
    const headers: Record<string, string> = seen ? { "Last-Event-ID": `${seen}` } : {};
    const response = await api.fetch(`${runPath(id)}/events?tokens=true`, { headers, signal: either });
    if (!response.body) return;
    joined();
    const alive = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_MS);
    };
    for await (const data of messages(response.body, alive)) {
      const event = JSON.parse(data) as Event | { error: unknown };
      if ("error" in event) return;
      yield event;
    }
  } finally {
    clearTimeout(timer);
    silence.abort();
  }
}

/** Until the time is up, the network is back, or `signal`. */
function waited(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      removeEventListener("online", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    addEventListener("online", done);
    signal.addEventListener("abort", done);
  });
}
