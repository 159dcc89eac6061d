/** Words for trouble: no command, no exception, every reason once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { errorWords, outages, suggestedBudget, withoutCommands } from "../src/server/trouble.ts";

const MESSAGES: [string, string][] = [
  ["no run 'x'; `pnyx runs` lists them", "no run 'x'."],
  ["no model is on this machine, and no provider's key is set; run: pnyx models pull smollm2-135m", "no model is on this machine, and no provider's key is set."],
  ["the deadline passed. Resume with: pnyx resume abc --deadline SECONDS", "the deadline passed."],
  ["the kinds of lab cannot be used; run pnyx doctor, or name seats in [panel]", "the kinds of lab cannot be used."],
  ["the model is overloaded", "the model is overloaded."],
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

test("a suggested budget is above what is spent and what the next call may cost", () => {
  for (const [cap, spent, next] of [[0.02, 0.019, 0.03], [null, 0.5, 0.2], [1, 1, 4], [0, 0, 0], [0.001, 0.0008, null]] as const) {
    const budget = suggestedBudget(cap, spent, next);
    assert.ok(budget >= (spent ?? 0) + (next ?? 0) && budget >= (cap ?? 0), `${budget}`);
    assert.ok(String(budget).replace(/^0\.0*|\./g, "").length <= 3, String(budget));
  }
});
