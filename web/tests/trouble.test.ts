/** Words for trouble: no command, no exception, every reason once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { errorWords, hostWords, outages, suggestedBudget, withoutCommands } from "../src/server/trouble.ts";

const MESSAGES: [string, string][] = [
  ["no run 'x'; `pnyx runs` lists them", "no run 'x'."],
  ["no model is on this machine, and no provider's key is set; run: pnyx models pull smollm2-135m", "no model is on this machine, and no provider's key is set."],
  ["the deadline passed. Resume with: pnyx resume abc --deadline SECONDS", "the deadline passed."],
  ["the kinds of lab cannot be used; run pnyx doctor, or name seats in [panel]", "the kinds of lab cannot be used."],
  ["the model is overloaded", "the model is overloaded."],
  ["No API key is set. Set a key, such as: export OPENAI_API_KEY=YOUR_KEY; or fetch a model: pnyx models pull x", "No API key is set."],
  ["Stop it with: pnyx cancel abc", ""],
  ["", ""],
];

for (const [message, words] of MESSAGES) {
  test(`without commands: ${message.slice(0, 40)}`, () => assert.equal(withoutCommands(message), words));
}

test("no error shows a command", () => {
  for (const [message] of MESSAGES) {
    for (const type of ["bad_request", "not_found", "config_error", "internal_error"]) {
      const words = errorWords(type, message);
      assert.ok(words.length > 3);
      assert.doesNotMatch(words, /pnyx [a-z]/);
    }
  }
});

test("a refusal of the server is in sentences; names stay as they are", () => {
  assert.equal(errorWords("link_ended", "this link has expired; ask for a new one"), "This link has expired. Ask for a new one.");
  assert.equal(errorWords("bad_request", "lab:alpha is missing"), "lab:alpha is missing.");
});

test("a reason that several seats share is said once", () => {
  const dropped = ["A", "B", "C"].map((seat) => ({ seat, model: "lab:x", reason: seat === "C" ? "no such model" : "refused" }));
  assert.deepEqual(outages(dropped).map((one) => [one.reason, one.seats.length]), [["refused.", 2], ["no such model.", 1]]);
});

test("a suggested budget has room for the next call and for what the run needs beyond what is spent", () => {
  const cases = [[0.02, 0.019, 0.03, null], [0.02, 0.019, 0.03, 2], [null, 0.5, 0.2, 0.1], [1, 1, 4, 9], [0, 0, 0, 0], [0.001, 0.0008, null, null]] as const;
  for (const [cap, spent, next_usd, needed_usd] of cases) {
    const budget = suggestedBudget(cap, spent, { next_usd, needed_usd });
    assert.ok(budget >= (spent ?? 0) + Math.max(next_usd ?? 0, needed_usd ?? 0) && budget >= (cap ?? 0), `${budget}`);
    assert.ok(String(budget).replace(/^0\.0*|\./g, "").length <= 3, String(budget));
  }
});

const REASONS: [string, string][] = [
  ["api.x.com: HTTP 401: this key has been revoked.", "api.x.com refuses the key: this key has been revoked (HTTP 401)"],
  ["127.0.0.1:9: HTTP 503", "127.0.0.1:9 has a fault of its own (HTTP 503)"],
  ["h: HTTP 418: a\nlong text", "h did not answer: a\nlong text (HTTP 418)"],
  ["h: HTTP 429: slow down", "h limits how much can be asked: slow down (HTTP 429)"],
  ["the reply is empty", "the reply is empty"],
];

test("a status code of a host is explained; other reasons stay as they are", () => {
  for (const [reason, words] of REASONS) assert.equal(hostWords(reason), words);
});

test("seats without an answer are in the order of their letters", () => {
  const dropped = ["Participant B", "Participant A"].map((seat) => ({ seat, model: "m", reason: "h: HTTP 500: x" }));
  assert.deepEqual(outages(dropped).map(({ reason, seats }) => [reason, seats.map(({ seat }) => seat)]),
    [["h has a fault of its own: x (HTTP 500).", ["Participant A", "Participant B"]]]);
});
