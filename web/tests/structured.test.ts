/** The words of structured replies; tests/interfaces/views/test_structured.py reads the same cases. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { asProse, openObject } from "../src/debate/structured.ts";

const CASES = JSON.parse(readFileSync(new URL("structured.json", import.meta.url), "utf8")) as [string, string][];

for (const [reply, words] of CASES) {
  test(`in words: ${reply.slice(0, 50)}`, () => assert.equal(asProse(reply), words));
}

test("a structured reply is readable at every point of its arrival", () => {
  const reply = JSON.stringify({ text: 'It is "so"\nand öther', vote: "FINALIZE", label: "Participant B", ranking: ["x"] });
  for (let at = 1; at <= reply.length; at++) {
    const shown = openObject(reply.slice(0, at));
    assert.doesNotMatch(shown, /[{}]|"\w+":/);
  }
  assert.match(openObject(reply.slice(0, 20)), /^\*\*Text:\*\* It is/);
  assert.equal(openObject(reply), asProse(reply));
});

test("prose that arrives stays as it is", () => assert.equal(openObject("FINALIZE: B"), "FINALIZE: B"));
