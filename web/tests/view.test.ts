/** The reducer on runs that were recorded from `pnyx serve` (`python -m tests.interfaces.heard`). */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import type { CallFailed, CallStarted, Event } from "../src/lib/events.ts";
import type { Turn, View } from "../src/lib/model.ts";
import { EMPTY, fold, joined, rejoined, scopeOf } from "../src/lib/view.ts";

const FOLDER = new URL("runs/", import.meta.url);
const NAMES = readdirSync(FOLDER).map((file) => file.replace(".json", ""));

function recorded(name: string): Event[] {
  return JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), "utf8")) as Event[];
}

function seen(events: Event[], view: View = EMPTY): View {
  return events.reduce(fold, view);
}

function turns(view: View): Turn[] {
  return view.stages.flatMap((stage) => stage.turns);
}

test("there are runs to look at", () => {
  assert.deepEqual(NAMES.toSorted(), ["consensus", "decompose", "dropped", "paused", "tools"]);
});

for (const name of NAMES) {
  const events = recorded(name);
  const whole = seen(events);

  test(`${name}: usage is what the result says`, () => {
    assert.deepEqual(whole.usage, whole.result?.usage);
    const sum = whole.seats.reduce((total, seat) => total + seat.output_tokens, 0);
    assert.equal(sum, whole.usage.output_tokens);
    assert.equal(whole.status, whole.result?.status);
  });

  test(`${name}: however frames cut the events, the view is the same`, () => {
    for (const size of [1, 2, 3, 7, events.length]) {
      let view = EMPTY;
      for (let at = 0; at < events.length; at += size) view = seen(joined(events.slice(at, at + size)), view);
      assert.deepEqual(view, whole);
    }
  });

  test(`${name}: events that come twice change nothing`, () => {
    const twice = events.flatMap((event): Event[] => (event.type === "token" ? [event] : [event, event]));
    assert.deepEqual(seen(twice), whole);
  });

  test(`${name}: a connection that is made again at any place ends in the same view`, () => {
    for (let at = 0; at <= events.length; at++) {
      const before = seen(events.slice(0, at));
      // The last word of a pause has no number, and is not told again once the run goes on.
      const rest = events.filter(
        (event, i) => event.type !== "token" && (event.seq === null ? i >= at : event.seq > before.seq),
      );
      assert.deepEqual(seen(rest, rejoined(before)), whole);
    }
  });

  test(`${name}: every reply is on the page, at its seat`, () => {
    const replies = events.filter((event) => event.type === "call_finished");
    assert.ok(replies.length > 0);
    for (const reply of replies) {
      const turn = turns(whole).find((one) => one.id === reply.key);
      assert.deepEqual([turn?.text, turn?.seat], [reply.text, reply.seat]);
    }
  });
}

test("what an event does not touch stays the same object", () => {
  const events = recorded("consensus");
  const at = events.findIndex((event) => event.type === "token" && event.phase === "challenge");
  const before = seen(events.slice(0, at));
  const after = seen(events.slice(at, at + 1), before);
  assert.notEqual(after, before);
  assert.equal(after.stages[0]?.turns[0], before.stages[0]?.turns[0]);
  assert.equal(after.seats[0], before.seats[0]);
});

test("text arrives before its reply is finished, and is what the reply begins with", () => {
  const events = recorded("consensus");
  const tokens = events.findIndex((event) => event.type === "token");
  const turn = turns(seen(events.slice(0, tokens + 1)))[0];
  assert.equal(turn?.state, "writing");
  assert.ok(turn.text.length > 0);
  assert.ok(turns(seen(events))[0]?.text.startsWith(turn.text));
});

test("text of a call that is over is not written after it", () => {
  const events = recorded("consensus");
  const token = events.find((event) => event.type === "token") as Event;
  const over = seen(events);
  assert.equal(fold(over, token), over);
});

test("a second attempt stands in the place of the first, which is told", () => {
  const found = turns(seen(recorded("consensus"))).filter((turn) => turn.attempts === 2);
  assert.equal(found.length, 1);
  assert.deepEqual(
    found[0]?.failures.map((failure) => failure.message),
    ["HTTP 500: scripted error"],
  );
  assert.equal(found[0]?.state, "answered");
});

test("a challenge that was flagged is marked in the last round", () => {
  const view = seen(recorded("consensus"));
  const flagged = turns(view).filter((turn) => turn.flagged);
  assert.deepEqual(
    flagged.map((turn) => [turn.stage, turn.flagged]),
    [["#2", "Great point"]],
  );
});

test("rounds are stages, and nested protocols have rounds of their own", () => {
  const titles = (name: string): string[] => seen(recorded(name)).stages.map((stage) => stage.title);
  assert.deepEqual(titles("consensus"), ["Round 1", "Round 2"]);
  assert.deepEqual(titles("decompose"), ["Round 1", "consensus, part 1: round 1", "consensus, part 2: round 1"]);
});

test("a seat that is dropped says why", () => {
  const view = seen(recorded("dropped"));
  const [gone] = view.seats.filter((seat) => seat.state === "dropped");
  assert.equal(gone?.dropped, "HTTP 400: no such model");
  assert.equal(turns(view).find((turn) => turn.seat === gone?.label)?.state, "failed");
  assert.equal(view.stages[0]?.notes[0]?.kind, "tally");
});

test("a paused run runs again when its next event comes", () => {
  const events = recorded("paused");
  const pause = events.findIndex((event) => event.type === "run_finished");
  const paused = seen(events.slice(0, pause + 1));
  assert.deepEqual([paused.status, paused.result?.stop_reason, paused.budget_usd], ["paused", "budget", 0.0178]);
  const raised = seen(events.slice(pause + 1, pause + 2), paused);
  assert.deepEqual([raised.status, raised.result, raised.budget_usd], ["running", null, 1]);
});

test("a tool stands beside the seat that used it, with what it gave", () => {
  const used = turns(seen(recorded("tools"))).filter((turn) => turn.kind === "tool");
  assert.deepEqual(
    used.map((turn) => [turn.title, turn.text.trim()]),
    [["run_python(code=print(2 + 2))", "4"]],
  );
});

test("an unknown price makes the sum unknown", () => {
  const events = recorded("tools").map((event) =>
    event.type === "call_finished" ? { ...event, cost_usd: null } : event,
  );
  assert.equal(seen(events).usage.cost_usd, null);
});

test("what a request of unknown price costs is unknown while it is open, and after it unless it was free", () => {
  const whole = recorded("dropped");
  const at = whole.findIndex((event) => event.type === "call_started");
  const asked = { ...whole[at], reserved_usd: null } as CallStarted;
  const open = seen([...whole.slice(0, at), asked]);
  const costs = (view: View) => [view.usage.cost_usd, view.seats.find((seat) => seat.label === asked.seat)?.cost_usd];
  assert.deepEqual(costs(open), [null, null]);
  const failed = whole.find((event) => event.type === "call_failed") as CallFailed;
  const { key, seat, attempt, seq } = asked;
  const refused = { ...failed, key, seat, attempt, seq: (seq ?? 0) + 1, charged_usd: 0 };
  assert.deepEqual(costs(seen([refused], open)), [0, 0]);
});

test("the scope of a key is the protocol that it stands in", () => {
  assert.deepEqual(["/3", "/3.1/0", "/3.1/0/consensus/4", "/a-b/2"].map(scopeOf), ["", "", "/3.1/0/consensus", "/a-b"]);
});
