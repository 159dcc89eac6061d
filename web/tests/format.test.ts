/** Figures and reasons as the page shows them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { price, seconds, stopReason } from "../src/text/format.ts";

test("a duration never rounds up to 60 seconds", () => {
  for (const [elapsed, words] of [[0.04, "0.0 s"], [59.94, "59.9 s"], [59.97, "1 min 0 s"], [60, "1 min 0 s"], [3661, "61 min 1 s"]] as const) {
    assert.equal(seconds(elapsed), words);
  }
});

test("a price has cents, or the digits that it needs", () => {
  for (const [usd, words] of [[0.5, "$0.50"], [4, "$4.00"], [0.07, "$0.07"], [0.075, "$0.0750"], [1.1, "$1.10"]] as const) {
    assert.equal(price(usd), words);
  }
});

test("a reason without words of its own is readable", () => {
  assert.equal(stopReason("stuck"), "nobody changed their answer");
  assert.equal(stopReason("of_a_plug_in"), "of a plug in");
});
