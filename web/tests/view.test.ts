/** The reducer on runs recorded from `pnyx serve` (`python -m tests.interfaces.page.runs`). */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import type { CallFailed, CallStarted, Event } from "../src/server/events.ts";
import type { Turn, View } from "../src/debate/model.ts";
import { EMPTY, fold, mergeTokens, resetOpenText, scopeOf } from "../src/debate/view.ts";

const FOLDER = new URL("runs/", import.meta.url);
const NAMES = readdirSync(FOLDER).map((file) => file.replace(".json", ""));

function recorded(name: string): Event[] {
  return JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), "utf8")) as Event[];
}

function viewOf(events: Event[], view: View = EMPTY): View {
  return events.reduce(fold, view);
}

function turns(view: View): Turn[] {
  return view.stages.flatMap((stage) => stage.turns);
}

test("the recorded runs exist", () => {
  assert.deepEqual(NAMES.toSorted(), ["consensus", "decompose", "dropped", "paused", "tools"]);
});

for (const name of NAMES) {
  const events = recorded(name);
  const whole = viewOf(events);

  test(`${name}: usage equals that of the result`, () => {
    assert.deepEqual(whole.usage, whole.result?.usage);
    const sum = whole.seats.reduce((total, seat) => total + seat.output_tokens, 0);
    assert.equal(sum, whole.usage.output_tokens);
    assert.equal(whole.status, whole.result?.status);
  });

  test(`${name}: the grouping of events in frames does not change the view`, () => {
    for (const size of [1, 2, 3, 7, events.length]) {
      let view = EMPTY;
      for (let at = 0; at < events.length; at += size) view = viewOf(mergeTokens(events.slice(at, at + size)), view);
      assert.deepEqual(view, whole);
    }
  });

  test(`${name}: repeated events change nothing`, () => {
    const twice = events.flatMap((event): Event[] => (event.type === "token" ? [event] : [event, event]));
    assert.deepEqual(viewOf(twice), whole);
  });

  test(`${name}: a reconnect after any event ends in the same view`, () => {
    for (let at = 0; at <= events.length; at++) {
      const before = viewOf(events.slice(0, at));
      // The last event of a pause has no number, and is not sent again after the run resumes.
      const rest = events.filter(
        (event, i) => event.type !== "token" && (event.seq === null ? i >= at : event.seq > before.seq),
      );
      assert.deepEqual(viewOf(rest, resetOpenText(before)), whole);
    }
  });

  test(`${name}: every reply is in the view, at its seat`, () => {
    const replies = events.filter((event) => event.type === "call_finished");
    assert.ok(replies.length > 0);
    for (const reply of replies) {
      const turn = turns(whole).find((one) => one.id === reply.key);
      assert.deepEqual([turn?.text, turn?.seat], [reply.text, reply.seat]);
    }
  });
}

test("parts that an event does not change stay the same object", () => {
  const events = recorded("consensus");
  const at = events.findIndex((event) => event.type === "token" && event.phase === "challenge");
  const before = viewOf(events.slice(0, at));
  const after = viewOf(events.slice(at, at + 1), before);
  assert.notEqual(after, before);
  assert.equal(after.stages[0]?.turns[0], before.stages[0]?.turns[0]);
  assert.equal(after.seats[0], before.seats[0]);
});

test("text that arrives early is the start of the reply", () => {
  const events = recorded("consensus");
  const tokens = events.findIndex((event) => event.type === "token");
  const turn = turns(viewOf(events.slice(0, tokens + 1)))[0];
  assert.equal(turn?.state, "writing");
  assert.ok(turn.text.length > 0);
  assert.ok(turns(viewOf(events))[0]?.text.startsWith(turn.text));
});

test("text that turns out to be a thought is replaced", () => {
  const events = recorded("consensus");
  const at = events.findIndex((event) => event.type === "token");
  const token = events[at];
  if (token?.type !== "token") throw new Error("there is no text");
  const pieces = [
    { ...token, text: "Let me see." },
    { ...token, text: "", restart: true },
    { ...token, text: "It is 4." },
  ];
  const textOf = (more: readonly Event[]): string | undefined => turns(viewOf([...events.slice(0, at), ...more]))[0]?.text;
  assert.equal(textOf(pieces), "It is 4.");
  assert.equal(textOf(mergeTokens(pieces)), "It is 4.");
  assert.equal(textOf([...pieces.slice(0, 1), ...mergeTokens(pieces.slice(1))]), "It is 4.");
});

test("late text of a finished call is ignored", () => {
  const events = recorded("consensus");
  const token = events.find((event) => event.type === "token") as Event;
  const over = viewOf(events);
  assert.equal(fold(over, token), over);
});

test("a second attempt replaces the first, whose failure stays listed", () => {
  const found = turns(viewOf(recorded("consensus"))).filter((turn) => turn.attempts === 2);
  assert.equal(found.length, 1);
  assert.equal(found[0]?.failures.length, 1);
  assert.match(found[0]?.failures[0]?.message ?? "", /HTTP 500: scripted error$/);
  assert.equal(found[0]?.state, "answered");
});

test("a flagged challenge is marked in the last round", () => {
  const view = viewOf(recorded("consensus"));
  const flagged = turns(view).filter((turn) => turn.flagged);
  assert.deepEqual(
    flagged.map((turn) => [turn.stage, turn.flagged]),
    [["#2", "Great point"]],
  );
});

test("rounds are stages, and nested protocols have their own rounds", () => {
  const titles = (name: string): string[] => viewOf(recorded(name)).stages.map((stage) => stage.title);
  assert.deepEqual(titles("consensus"), ["Round 1", "Round 2"]);
  assert.deepEqual(titles("decompose"), ["Round 1", "consensus, part 1: round 1", "consensus, part 2: round 1"]);
});

test("a dropped seat has a reason", () => {
  const view = viewOf(recorded("dropped"));
  const [dropped] = view.seats.filter((seat) => seat.state === "dropped");
  assert.match(dropped?.dropped ?? "", /HTTP 400: no such model$/);
  assert.equal(turns(view).find((turn) => turn.seat === dropped?.label)?.state, "failed");
  assert.equal(view.stages[0]?.notes[0]?.kind, "tally");
});

test("a paused run is running after its next event", () => {
  const events = recorded("paused");
  const pause = events.findIndex((event) => event.type === "run_finished");
  const paused = viewOf(events.slice(0, pause + 1));
  assert.deepEqual([paused.status, paused.result?.stop_reason, paused.budget_usd], ["paused", "budget", 0.003]);
  const raised = viewOf(events.slice(pause + 1, pause + 2), paused);
  assert.deepEqual([raised.status, raised.result, raised.budget_usd], ["running", null, 1]);
});

test("a tool call is listed at its seat, with its result", () => {
  const used = turns(viewOf(recorded("tools"))).filter((turn) => turn.kind === "tool");
  assert.deepEqual(
    used.map((turn) => [turn.title, turn.text.trim()]),
    [["run_python(code=print(2 + 2))", "4"]],
  );
});

test("an unknown price makes the sum unknown", () => {
  const events = recorded("tools").map((event) =>
    event.type === "call_finished" ? { ...event, cost_usd: null } : event,
  );
  assert.equal(viewOf(events).usage.cost_usd, null);
});

test("the cost of a request with an unknown price is unknown, unless it was free", () => {
  const whole = recorded("dropped");
  const at = whole.findIndex((event) => event.type === "call_started");
  const call = { ...whole[at], reserved_usd: null } as CallStarted;
  const open = viewOf([...whole.slice(0, at), call]);
  const costs = (view: View) => [view.usage.cost_usd, view.seats.find((seat) => seat.label === call.seat)?.cost_usd];
  assert.deepEqual(costs(open), [null, null]);
  const failed = whole.find((event) => event.type === "call_failed") as CallFailed;
  const { key, seat, attempt, seq } = call;
  const refused = { ...failed, key, seat, attempt, seq: (seq ?? 0) + 1, charged_usd: 0 };
  assert.deepEqual(costs(viewOf([refused], open)), [0, 0]);
});

test("the scope of a key is its protocol", () => {
  assert.deepEqual(["/3", "/3.1/0", "/3.1/0/consensus/4", "/a-b/2"].map(scopeOf), ["", "", "/3.1/0/consensus", "/a-b"]);
});

test("reasoning is kept apart from the text, and a reply that was cut off is counted", () => {
  const call = { run_id: "r", time: "", round: 1, phase: "vote", seat: "Participant A", key: "/1", model: "lab:alpha" };
  const started = { ...call, type: "call_started", cut: 0, reserved_usd: 0 };
  const counts = { input_tokens: 10, cached_tokens: 0, output_tokens: 20 };
  const events = [
    { ...started, seq: 1, attempt: 1 },
    {
      ...call, ...counts, type: "call_failed", seq: 2, attempt: 1, kind: "cut_off", message: "no answer", final: false,
      charged_usd: 0.5, retry_in_s: 0, elapsed_s: 1, reasoning: "I was cut off.",
    },
    { ...started, seq: 3, attempt: 2 },
    {
      ...call, ...counts, type: "call_finished", seq: 4, attempt: 2, text: "Yes.", tool_calls: [], finish_reason: "stop",
      reasoning_tokens: 15, reasoning: "I weigh it.", cost_usd: 0.5, usage_flag: null, absent: null, copied: false,
      searches: null, sources: [], elapsed_s: 1,
    },
  ] as unknown as Event[];
  const view = viewOf(events);
  const [turn] = turns(view);
  assert.deepEqual([turn?.text, turn?.reasoning, turn?.failures.length], ["Yes.", "I weigh it.", 1]);
  assert.ok(turn?.facts.includes("15 tokens of reasoning"));
  assert.deepEqual([view.usage.output_tokens, view.seats[0]?.output_tokens, view.usage.cost_usd], [40, 40, 1]);
});
