import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { certainty } from "../src/debate/certainty.ts";

test("the page words what is known of an answer as the terminal does", () => {
  const cases = JSON.parse(readFileSync(new URL("certainty.json", import.meta.url), "utf8"));
  for (const { words, result } of cases) {
    const found = Object.fromEntries(certainty(result).map((part) => [part.name.toLowerCase(), part.words]));
    assert.deepEqual(found, words);
  }
});

test("the first part of the words is the figure, the rest explains it", () => {
  const [{ result }] = JSON.parse(readFileSync(new URL("certainty.json", import.meta.url), "utf8"));
  assert.deepEqual(
    certainty(result).map((part) => [part.head, part.rest]),
    [
      ["2 of 3 seats agree", "2 of 3 models"],
      ["2 objections stand", ""],
      ["0.50", "1 of 2 critiques was substantive"],
      ["0.82", "90 % interval 0.74 to 0.88; beta calibration on 57 outcomes of this panel"],
    ],
  );
});
