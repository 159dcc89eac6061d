/** Words for trouble: no command, no exception, every reason once. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { errorWords, hostWords, outages, sufficientCap, withoutCommands } from "../src/server/trouble.ts";

const MESSAGES: [string, string][] = [
  ["no run 'x'; `pnyx runs` lists them", "no run 'x'."],
  ["no model is on this machine, and no provider's key is set; run: pnyx models pull smollm2-135m", "no model is on this machine, and no provider's key is set."],
  ["the deadline passed. Resume with: pnyx resume abc --deadline SECONDS", "the deadline passed."],
  ['too small. Resume with: POST /v1/runs/abc/resume with {"budget_usd": 0.10}', "too small."],
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

test("the suggested budget is that of the terminal", () => {
  for (const { cap, ...event } of JSON.parse(readFileSync(new URL("caps.json", import.meta.url), "utf8"))) {
    assert.equal(sufficientCap(event), Number(cap));
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
