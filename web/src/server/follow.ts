/** Follow the server-sent events of a run. A lost connection is reopened after the last event. */
import { type Api, ApiError } from "./api.ts";
import type { Event } from "./events.ts";
import { messages } from "./sse.ts";

export interface Listener {
  /** Stored events, which the view does not show before `onCaughtUp`. */
  onHistory(events: Event[]): void;
  /** All events that were stored when the connection was made have arrived. */
  onCaughtUp(): void;
  /** The connection is open. Tokens of open calls arrive again from the start. */
  onOpen(): void;
  onEvent(event: Event): void;
  /** The connection is lost; the next attempt is in `retry_s` seconds. */
  onLost(retry_s: number): void;
  /** The server refuses the request for good. */
  onRefused(error: ApiError): void;
}

/** The server sends a comment line every 15 s. After this time without a byte, the connection is dead. */
const SILENCE_MS = 40_000;
const PAUSES_S = [0.5, 1, 2, 4];
/** Events in the first page, and in the others: each takes the page 20 to 50 ms. */
const FIRST_PAGE = 500;
const PAGE = 2000;

/** Follow a run until its last event, or `signal`. after: the number of the last event in the view. */
export async function follow(api: Api, id: string, after: number, to: Listener, signal: AbortSignal): Promise<void> {
  let seen = after;
  let failures = 0;
  const note = (event: Event): boolean => {
    failures = 0;
    if (event.seq !== null && event.type !== "token") seen = event.seq;
    return event.type === "run_finished";
  };
  while (!signal.aborted) {
    try {
      // Stored events in pages: as messages of a stream, thousands of them take several times as long.
      let over = false;
      for (let next: number | null = seen, size = FIRST_PAGE; next !== null; size = PAGE) {
        const page = await api.events(id, next, size, AbortSignal.any([signal, AbortSignal.timeout(SILENCE_MS)]));
        for (const event of page.events) over = note(event);
        to.onHistory(page.events);
        next = page.next;
      }
      to.onCaughtUp();
      if (over) return;
      const stream = events(api, id, seen, signal, () => to.onOpen(), () => { over = true; });
      for await (const event of stream) {
        over = note(event);
        to.onEvent(event);
        if (over) return;
      }
      if (over) return;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && error.status >= 400 && error.status < 500) {
        to.onRefused(error);
        return;
      }
    }
    const pause = PAUSES_S[Math.min(failures++, PAUSES_S.length - 1)] as number;
    to.onLost(pause);
    await sleep(pause * 1000, signal);
  }
}

async function* events(
  api: Api,
  id: string,
  seen: number,
  signal: AbortSignal,
  onOpen: () => void,
  onOver: () => void,
): AsyncGenerator<Event> {
  const silence = new AbortController();
  const either = AbortSignal.any([signal, silence.signal]);
  let timer = setTimeout(() => silence.abort(), SILENCE_MS);
  try {
    const headers: Record<string, string> = seen ? { "Last-Event-ID": `${seen}` } : {};
    const response = await api.fetch(`${api.path(id)}/events?tokens=true&prompts=omit`, { headers, signal: either });
    // No content: the run is over, and its last event is `seen`.
    if (response.status === 204) onOver();
    if (!response.body) return;
    onOpen();
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

/** Wait for `ms`, or until the network returns, or until `signal`. */
function sleep(ms: number, signal: AbortSignal): Promise<void> {
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
