/**
 * Build the view of a run from its events, and from nothing else: `events.reduce(fold, EMPTY)`.
 *
 * The page renders a `View`. `fold` is pure: parts that an event does not change stay the same object, so
 * the page only redraws what has changed.
 */
import type * as E from "../server/events.ts";
import type { Cost, Note, Seat, SeatState, Stage, Turn, View } from "./model.ts";
import { abstention, budgetText, factsOf } from "./notes.ts";
import { sufficientCap } from "../server/trouble.ts";

type Charge = E.CallStarted | E.CallFinished | E.CallFailed;

const NOTHING: Cost = { known_usd: 0, unpriced: [] };

export const EMPTY: View = {
  seq: 0,
  run_id: "",
  question: "",
  protocol: "",
  startedAt: "",
  last: "",
  budget_usd: null,
  exhausted: null,
  options: {},
  seats: [],
  stages: [],
  visited: [],
  phase: "",
  round: 0,
  inner: null,
  cost: NOTHING,
  usage: { calls: 0, input_tokens: 0, cached_tokens: 0, output_tokens: 0, cost_usd: 0 },
  status: "running",
  result: null,
};

export const OPEN: readonly string[] = ["waiting", "running", "paused"];

/** The view after one more event. Repeated events change nothing. */
export function fold(view: View, event: E.Event): View {
  if (event.type === "token") return addToken(view, event);
  if (event.seq !== null && event.seq <= view.seq) return view;
  const next = { ...view, seq: event.seq ?? view.seq, last: event.time };
  if (event.type === "run_finished") return finishRun(next, event);
  return apply({ ...next, status: "running", result: null }, event);
}

/** The view of a run of which only the result object is known: no seat has a state, and nothing was said. */
export function outline(result: E.Result): View {
  const { run_id, question, protocol, status, usage } = result;
  const seats = result.seats.map((row) => newSeat(row.seat, row.model, row.role));
  const over = OPEN.indexOf(status) < 0;
  return { ...EMPTY, run_id, question, protocol, status, usage, seats, round: result.rounds, result: over ? result : null };
}

/** The view without the text of open calls. After a reconnect, the server sends that text again. */
export function resetOpenText(view: View): View {
  const reset = (turn: Turn): Turn =>
    turn.state === "writing" ? { ...turn, state: "thinking", text: "", tokens: 0 } : turn;
  return { ...view, stages: view.stages.map((stage) => ({ ...stage, turns: stage.turns.map(reset) })) };
}

/** The events with the tokens of each call merged: one frame may bring hundreds. */
export function mergeTokens(events: readonly E.Event[]): E.Event[] {
  const out: E.Event[] = [];
  const at = new Map<string, number>();
  for (const event of events) {
    const before = event.type === "token" ? at.get(event.key) : undefined;
    const piece = before === undefined ? undefined : out[before];
    if (event.type === "token" && before !== undefined && piece?.type === "token") {
      out[before] = event.restart ? event : { ...piece, text: piece.text + event.text };
    } else {
      if (event.type === "token") at.set(event.key, out.length);
      else at.delete(event.key);
      out.push(event);
    }
  }
  return out;
}

function apply(view: View, event: Exclude<E.Event, E.Token | E.RunFinished>): View {
  switch (event.type) {
    case "run_started":
      return startRun(view, event);
    case "phase_entered":
      return enterPhase(view, event);
    case "call_started":
      return startCall(view, event);
    case "call_finished":
      return finishCall(view, event);
    case "call_failed":
      return failCall(view, event);
    case "tool_called":
      return addTool(view, event);
    case "seat_dropped":
      return updateSeat(view, event.seat, event.model, { state: "dropped", dropped: event.reason, open: {} });
    case "vote_tallied": {
      const scope = scopeOf(event.key);
      return addNote(view, event, { id: `${event.seq}`, kind: "tally", text: event.rule, tally: tallyOf(event), scope });
    }
    case "seat_abstained":
      return addNote(view, event, {
        id: `${event.seq}`,
        kind: "tally",
        text: `${event.seat} abstained: its verdict could not be read`,
      });
    case "branches_closed":
      return view;
    case "budget": {
      const raised = event.kind === "raised" && event.scope.startsWith("run");
      const out = raised ? { ...view, budget_usd: event.cap_usd, exhausted: null } : withExhausted(view, event);
      return addNote(out, event, { id: `${event.seq}`, kind: "budget", text: budgetText(event) });
    }
  }
}

/** The votes for each name. On a tie nobody has won, whatever breaks it. */
function tallyOf(event: E.VoteTallied): NonNullable<Note["tally"]> {
  const most = Math.max(...Object.values(event.tally), 0);
  const tied = Object.values(event.tally).filter((votes) => votes === most).length !== 1;
  return Object.entries(event.tally).map(([name, votes]) => ({ name, votes, won: !tied && name === event.winner }));
}

function withExhausted(view: View, event: E.Budget): View {
  if (event.kind !== "exhausted") return view;
  const own = event.scope.startsWith("run");
  return { ...view, exhausted: { own, enough_usd: sufficientCap(event) } };
}

function startRun(view: View, event: E.RunStarted): View {
  const seats = event.seats.map((row) => newSeat(row.seat, row.model, row.role));
  const { run_id, question, protocol, budget_usd, options } = event;
  return { ...view, run_id, question, protocol, budget_usd, options, seats, startedAt: event.time };
}

/** The scope of a step's key: "/3/1.2/consensus" for "/3/1.2/consensus/4", and "" for "/4". */
export function scopeOf(key: string): string {
  const parts = key.split("/");
  while (parts.length > 1 && !/[a-z]/i.test(parts.at(-1) ?? "")) parts.pop();
  return parts.join("/");
}

function enterPhase(view: View, event: E.PhaseEntered): View {
  const phase = event.phase ?? "";
  const round = event.round ?? 0;
  const scope = scopeOf(event.key);
  if (scope) {
    const out = { ...view, inner: { protocol: event.protocol, phase, round } };
    return ensureStage(out, scope, round, phase, event.protocol)[0];
  }
  const visited = view.visited.includes(phase) ? view.visited : [...view.visited, phase];
  return ensureStage({ ...view, phase, round, visited, inner: null }, "", round, phase, event.protocol)[0];
}

/** The view with a stage for that scope and round, and the index of the stage. */
function ensureStage(view: View, scope: string, round: number, phase: string, protocol = ""): [View, number] {
  const id = `${scope}#${round}`;
  const at = view.stages.findLastIndex((stage) => stage.id === id);
  const found = view.stages[at];
  if (!found) {
    const nested = scope !== "";
    const part = /\.(\d+)[^.]*$/.exec(scope)?.[1];
    const name = `${protocol || scope.split("/").at(-1)}${part ? `, part ${part}` : ""}`;
    const title = nested ? `${name}: round ${round}` : `Round ${round}`;
    const stage: Stage = { id, title, round, nested, phases: [phase], turns: [], notes: [] };
    return [{ ...view, stages: [...view.stages, stage] }, view.stages.length];
  }
  if (found.phases.includes(phase)) return [view, at];
  return [{ ...view, stages: view.stages.with(at, { ...found, phases: [...found.phases, phase] }) }, at];
}

function startCall(view: View, event: E.CallStarted): View {
  const usage = { ...view.usage, calls: view.usage.calls + 1 };
  const facts = event.cut ? [`prompt shortened by ${event.cut.toLocaleString("en")} characters to fit the context window`] : [];
  const turn: Turn = {
    ...newTurn(event, "call", event.phase ?? ""),
    facts,
    ...(turnOf(view, event.key) ? { failures: turnOf(view, event.key)?.failures ?? [] } : {}),
    attempts: event.attempt,
    structured: Boolean(event.schema),
  };
  const seat = seatOf(view, event.seat);
  const usd = event.reserved_usd === null ? null : 0;
  const out = updateSeat(addRunCost({ ...view, usage }, event, usd), event.seat, event.model, {
    ...addCost(seat?.cost, event, usd),
    state: "thinking",
    phase: event.phase ?? "",
    calls: (seat?.calls ?? 0) + 1,
    open: { ...seat?.open, [event.key]: event.time },
  });
  return putTurn(out, event, turn);
}

function addToken(view: View, event: E.Token): View {
  const turn = turnOf(view, event.key);
  if (!turn || (turn.state !== "thinking" && turn.state !== "writing")) return view;
  const text = event.restart ? event.text : turn.text + event.text;
  const out = seatOf(view, event.seat)?.state === "thinking" ? updateSeat(view, event.seat, "", { state: "writing" }) : view;
  return putTurn(out, event, { ...turn, state: "writing", text });
}

function finishCall(view: View, event: E.CallFinished): View {
  const usage = { ...view.usage };
  if (!event.copied) {
    for (const name of ["input_tokens", "cached_tokens", "output_tokens"] as const) usage[name] += event[name];
  }
  const usd = event.copied ? 0 : event.cost_usd;
  const silent = event.absent !== null;
  const seat = seatOf(view, event.seat);
  const out = updateSeat(addRunCost({ ...view, usage }, event, usd), event.seat, event.model, {
    ...addCost(seat?.cost, event, usd),
    ...closeCall(seat, event.key, event.elapsed_s, silent ? "silent" : "answered"),
    ...(event.copied
      ? {}
      : {
          input_tokens: (seat?.input_tokens ?? 0) + event.input_tokens,
          output_tokens: (seat?.output_tokens ?? 0) + event.output_tokens,
        }),
  });
  const turn = turnOf(view, event.key) ?? newTurn(event, "call", event.phase ?? "");
  return putTurn(out, event, {
    ...turn,
    state: silent ? "silent" : "answered",
    text: event.text,
    note: silent ? `abstained: ${abstention(event)}` : "",
    tokens: event.output_tokens,
    cost_usd: usd,
    elapsed_s: event.elapsed_s,
    facts: [...turn.facts, ...factsOf(event)],
    reasoning: event.reasoning ?? "",
    sources: event.sources,
  });
}

function failCall(view: View, event: E.CallFailed): View {
  const usage = { ...view.usage };
  for (const name of ["input_tokens", "cached_tokens", "output_tokens"] as const) usage[name] += event[name] ?? 0;
  const seat = seatOf(view, event.seat);
  const state = event.retry_in_s === null ? "waiting" : "retrying";
  const out = updateSeat(addRunCost({ ...view, usage }, event, event.charged_usd), event.seat, event.model, {
    ...addCost(seat?.cost, event, event.charged_usd),
    ...closeCall(seat, event.key, event.elapsed_s, state),
    input_tokens: (seat?.input_tokens ?? 0) + (event.input_tokens ?? 0),
    output_tokens: (seat?.output_tokens ?? 0) + (event.output_tokens ?? 0),
  });
  const turn = turnOf(view, event.key) ?? newTurn(event, "call", event.phase ?? "");
  // A second request, sent beside a late one, fails after the first has answered. Keep the answer.
  if (turn.state === "answered" || turn.state === "silent") return out;
  const failure = { attempt: event.attempt, message: event.message, retry_in_s: event.retry_in_s };
  return putTurn(out, event, {
    ...turn,
    state: event.final ? "failed" : "retrying",
    text: "",
    note: event.final ? event.message : "",
    failures: [...turn.failures, failure],
  });
}

function addTool(view: View, event: E.ToolCalled): View {
  const args = Object.entries(event.arguments).map(([name, value]) => `${name}=${valueText(value)}`);
  return putTurn(view, event, {
    ...newTurn(event, "tool", `${event.tool}(${args.join(", ")})`),
    id: `${event.key}@${event.seq}`,
    state: event.ok ? "answered" : "failed",
    text: event.outcome,
    elapsed_s: event.elapsed_s,
  });
}

function finishRun(view: View, event: E.RunFinished): View {
  const result = "run_id" in event.result ? (event.result as E.Result) : null;
  const seats = view.seats.map((seat) => ({
    ...seat,
    open: {},
    state: seat.state === "dropped" || seat.state === "silent" ? seat.state : finalState(seat),
  }));
  const ended = { ...view, status: event.status, result, seats };
  return result ? markFlagged(ended, result) : ended;
}

function finalState(seat: Seat): SeatState {
  return seat.calls > Object.keys(seat.open).length ? "answered" : "waiting";
}

/** Mark the flagged challenges of the last round, which the result lists. */
function markFlagged(view: View, result: E.Result): View {
  const challenges = result.detail["challenges"];
  if (!Array.isArray(challenges)) return view;
  const reasons = new Map<string, string>();
  for (const { seat, flagged } of challenges) if (typeof flagged === "string") reasons.set(seat, flagged);
  const last = view.stages.findLast((stage) => stage.phases.includes("challenge"));
  if (!last || reasons.size === 0) return view;
  const turns = last.turns.map((turn) =>
    turn.phase === "challenge" && turn.kind === "call" ? { ...turn, flagged: reasons.get(turn.seat) ?? null } : turn,
  );
  return { ...view, stages: view.stages.map((stage) => (stage === last ? { ...stage, turns } : stage)) };
}

function newSeat(label: string, model: string, role: string | null = ""): Seat {
  const none = { calls: 0, input_tokens: 0, output_tokens: 0, cost: NOTHING, cost_usd: 0, busy_s: 0 };
  return { label, model, role, state: "waiting", phase: "", ...none, open: {}, dropped: null };
}

function newTurn(event: E.Event, kind: Turn["kind"], title: string): Turn {
  return {
    id: event.key,
    kind,
    stage: `${scopeOf(event.key)}#${event.round ?? 0}`,
    phase: event.phase ?? "",
    seat: event.seat ?? "",
    state: "thinking",
    title,
    text: "",
    note: "",
    startedAt: event.time,
    tokens: 0,
    cost_usd: 0,
    elapsed_s: null,
    attempts: 1,
    reasoning: "",
    structured: false,
    failures: [],
    facts: [],
    sources: [],
    flagged: null,
  };
}

/**
 * Run and turn -> the number of its stage, which never changes: without it, every event of a long run would search
 * all of its turns. It is a hint only: what it names is looked up in the view.
 */
const PLACES = new Map<string, number>();

function turnOf(view: View, id: string): Turn | undefined {
  const at = PLACES.get(`${view.run_id} ${id}`);
  return at === undefined ? undefined : view.stages[at]?.turns.findLast((turn) => turn.id === id);
}

function putTurn(view: View, event: E.Event, turn: Turn): View {
  const found = view.stages.findLastIndex((stage) => stage.id === turn.stage);
  const [out, at] =
    found >= 0 ? [view, found] : ensureStage(view, scopeOf(event.key), event.round ?? 0, event.phase ?? "");
  const stage = out.stages[at] as Stage;
  PLACES.set(`${view.run_id} ${turn.id}`, at);
  const place = stage.turns.findLastIndex((other) => other.id === turn.id);
  const turns = place < 0 ? [...stage.turns, turn] : stage.turns.with(place, turn);
  return { ...out, stages: out.stages.with(at, { ...stage, turns }) };
}

function addNote(view: View, event: E.Event, note: Note): View {
  const [out, at] = event.key
    ? ensureStage(view, scopeOf(event.key), event.round ?? view.round, event.phase ?? view.phase)
    : view.stages.length
      ? ([view, view.stages.length - 1] as const)
      : ensureStage(view, "", 1, view.phase);
  const stage = out.stages[at] as Stage;
  return { ...out, stages: out.stages.with(at, { ...stage, notes: [...stage.notes, note] }) };
}

function seatOf(view: View, label: string | null): Seat | undefined {
  return view.seats.find((seat) => seat.label === label);
}

function updateSeat(view: View, label: string | null, model: string, change: Partial<Seat>): View {
  const at = view.seats.findIndex((seat) => seat.label === label);
  const seat = view.seats[at] ?? newSeat(label ?? "", model);
  const next = { ...seat, ...change };
  return { ...view, seats: at < 0 ? [...view.seats, next] : view.seats.with(at, next) };
}

function closeCall(seat: Seat | undefined, key: string, elapsed_s: number, state: SeatState): Partial<Seat> {
  const { [key]: _, ...open } = seat?.open ?? {};
  // With parallel branches, other calls of the seat may still be open.
  const busy = Object.keys(open).length > 0 && seat ? seat.state : state;
  return { open, busy_s: (seat?.busy_s ?? 0) + elapsed_s, state: seat?.state === "dropped" ? "dropped" : busy };
}

/** The cost after one more event of a request. An unknown price makes the sum unknown, never 0. */
function addCost(before: Cost | undefined, of: Charge, usd: number | null): { cost: Cost; cost_usd: number | null } {
  const { known_usd, unpriced } = before ?? NOTHING;
  const request = `${of.key}#${of.attempt}`;
  const others = unpriced.filter((other) => other !== request);
  const known = Math.round((known_usd + (usd ?? 0)) * 1e9) / 1e9;
  const cost = { known_usd: known, unpriced: usd === null ? [...others, request] : others };
  return { cost, cost_usd: cost.unpriced.length > 0 ? null : known };
}

function addRunCost(view: View, of: Charge, usd: number | null): View {
  const { cost, cost_usd } = addCost(view.cost, of, usd);
  return { ...view, cost, usage: { ...view.usage, cost_usd } };
}

function valueText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
