/** A run on the screen. Its events are folded once per frame, or less often where drawing takes longer. */
import { tick } from "svelte";
import type { Api, ApiError } from "./api.ts";
import type { Event } from "./events.ts";
import { follow } from "./follow.ts";
import type { View } from "./model.ts";
import { EMPTY, fold, mergeTokens, resetOpenText } from "./view.ts";

/** The interval of updates in a hidden tab, which has no frames. */
const HIDDEN_MS = 250;
/** Drawing may take one part in so many of the time: a long run that loads is drawn a few times, not in each frame. */
const SHARE = 4;
const FRAME_MS = 16;
const LONGEST_MS = 1000;

export class Session {
  view = $state.raw<View>(EMPTY);
  connection = $state<"connecting" | "open" | "lost" | "over">("connecting");
  refused = $state<string | null>(null);

  private readonly api: Api;
  private readonly id: string;
  private waiting: Event[] = [];
  private frame = 0;
  private timer = 0;
  /** What the last drawing took. */
  private cost = 0;
  private stop = new AbortController();

  constructor(api: Api, id: string) {
    this.api = api;
    this.id = id;
  }

  /** Follow the run from the last event of the view, until its last event or `close`. */
  open(): void {
    this.stop.abort();
    this.stop = new AbortController();
    this.connection = "connecting";
    this.refused = null;
    const to = {
      onOpen: () => {
        this.flush();
        this.connection = "open";
        this.view = resetOpenText(this.view);
      },
      onEvent: (event: Event) => this.add(event),
      onLost: () => {
        this.connection = "lost";
      },
      onRefused: (error: ApiError) => {
        this.connection = "over";
        this.refused = error.message;
      },
    };
    void follow(this.api, this.id, this.view.seq, to, this.stop.signal);
  }

  close(): void {
    this.stop.abort();
    cancelAnimationFrame(this.frame);
    clearTimeout(this.timer);
  }

  private add(event: Event): void {
    this.waiting.push(event);
    if (event.type === "run_finished") this.connection = "over";
    if (this.waiting.length > 1) return;
    const pause = Math.min(SHARE * this.cost, LONGEST_MS);
    if (pause > FRAME_MS) this.timer = window.setTimeout(() => this.flush(), pause);
    else {
      this.frame = requestAnimationFrame(() => this.flush());
      this.timer = window.setTimeout(() => this.flush(), HIDDEN_MS);
    }
  }

  private flush(): void {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.timer);
    const events = mergeTokens(this.waiting);
    this.waiting = [];
    if (!events.length) return;
    const start = performance.now();
    this.view = events.reduce(fold, this.view);
    void tick().then(() => (this.cost = performance.now() - start));
  }
}
