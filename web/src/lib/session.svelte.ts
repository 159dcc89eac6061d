/** One run on the screen: its events, folded once for each frame however many arrive. */
import type { Api, Refused } from "./api.ts";
import type { Event } from "./events.ts";
import { follow } from "./follow.ts";
import type { View } from "./model.ts";
import { EMPTY, fold, joined, rejoined } from "./view.ts";

/** A page in the background draws no frames, and keeps up all the same. */
const HIDDEN_MS = 250;

export class Session {
  view = $state.raw<View>(EMPTY);
  connection = $state<"connecting" | "open" | "lost" | "over">("connecting");
  refused = $state<string | null>(null);

  private readonly api: Api;
  private readonly id: string;
  private waiting: Event[] = [];
  private frame = 0;
  private timer = 0;
  private leave = new AbortController();

  constructor(api: Api, id: string) {
    this.api = api;
    this.id = id;
  }

  /** Follows the run from where the view is, until its last event or `close`. */
  open(): void {
    this.leave.abort();
    this.leave = new AbortController();
    this.connection = "connecting";
    this.refused = null;
    const to = {
      joined: () => {
        this.flush();
        this.connection = "open";
        this.view = rejoined(this.view);
      },
      heard: (event: Event) => this.heard(event),
      lost: () => {
        this.connection = "lost";
      },
      refused: (error: Refused) => {
        this.connection = "over";
        this.refused = error.message;
      },
    };
    void follow(this.api, this.id, this.view.seq, to, this.leave.signal);
  }

  close(): void {
    this.leave.abort();
    cancelAnimationFrame(this.frame);
    clearTimeout(this.timer);
  }

  private heard(event: Event): void {
    this.waiting.push(event);
    if (event.type === "run_finished") this.connection = "over";
    if (this.waiting.length > 1) return;
    this.frame = requestAnimationFrame(() => this.flush());
    this.timer = window.setTimeout(() => this.flush(), HIDDEN_MS);
  }

  private flush(): void {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.timer);
    const events = joined(this.waiting);
    this.waiting = [];
    if (events.length) this.view = events.reduce(fold, this.view);
  }
}
