/** A run on the screen. Its events are folded once per frame, or less often where drawing takes longer. */
import { tick } from "svelte";
import { type Api, ApiError } from "../server/api.ts";
import type { Event, Result } from "../server/events.ts";
import { follow } from "../server/follow.ts";
import type { View } from "../debate/model.ts";
import { EMPTY, fold, mergeTokens, outline, resetOpenText } from "../debate/view.ts";

/** The interval of updates in a hidden tab, which has no frames. */
const HIDDEN_MS = 250;
/** Drawing may take one part in so many of the time: a long run that loads is drawn a few times, not in each frame. */
const SHARE = 4;
const FRAME_MS = 16;
const LONGEST_MS = 1000;

export class Session {
  view = $state.raw<View>(EMPTY);
  /** The number of stored events that have arrived, until all are there: the view has none of them before. */
  loading = $state<number | null>(0);
  connection = $state<"connecting" | "open" | "lost" | "over">("connecting");
  refused = $state<string | null>(null);

  private readonly api: Api;
  private readonly id: string;
  /** The state of the run when it was opened; null once its events say more. */
  private known: Result | null = null;
  /** The view of the stored events that have arrived. Drawing each part of it would take most of the time. */
  private history: View | null = null;
  private waiting: Event[] = [];
  private frame = 0;
  private timer = 0;
  /** What the last drawing took. */
  private cost = 0;
  private stop = new AbortController();

  /** known: the state of the run, if the caller has read it. */
  constructor(api: Api, id: string, known: Result | null = null) {
    this.api = api;
    this.id = id;
    if (known) this.outline(known);
  }

  /** Show what is known of the run without its events, which may take seconds to load. */
  async peek(): Promise<void> {
    if (this.known) return;
    try {
      this.outline(await this.api.run(this.id));
    } catch (error) {
      // Following the run says why it cannot be read.
      if (!(error instanceof ApiError)) throw error;
    }
  }

  private outline(result: Result): void {
    if (this.loading === null) return;
    this.known = result;
    this.view = outline(result);
  }

  /** Follow the run from the last event of the view, until its last event or `close`. */
  open(): void {
    this.stop.abort();
    this.stop = new AbortController();
    this.connection = "connecting";
    this.refused = null;
    const to = {
      onHistory: (events: Event[]) => this.addHistory(events),
      onCaughtUp: () => this.showHistory(),
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
    // A run that was resumed is not in the state in which it was opened.
    if (this.loading === null) this.known = null;
    void follow(this.api, this.id, this.view.seq, to, this.stop.signal);
  }

  close(): void {
    this.stop.abort();
    cancelAnimationFrame(this.frame);
    clearTimeout(this.timer);
  }

  private addHistory(events: Event[]): void {
    this.flush();
    this.history = events.reduce(fold, this.history ?? (this.loading === null ? this.view : EMPTY));
    if (this.loading !== null) this.loading += events.length;
  }

  private showHistory(): void {
    const view = this.history ?? this.view;
    this.history = null;
    this.loading = null;
    // A paused run says so after its stored events; until then it would look as if it went on.
    const paused = view.status === "running" && this.known?.status === "paused";
    this.view = paused ? { ...view, status: "paused", result: this.known } : view;
    if (view.result) this.connection = "over";
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
