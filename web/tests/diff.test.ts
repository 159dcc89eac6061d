/** The difference between two texts: exact in both directions, and no longer than it needs to be. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { diff, likeness, versionOf } from "../src/debate/diff.ts";

function parts(before: string, after: string): [string, string] {
  const pieces = diff(before, after);
  const text = (kind: string): string => pieces.filter((one) => one.kind !== kind).map((one) => one.text).join("");
  return [text("new"), text("gone")];
}

/** A repeatable source of random numbers below `n`. */
function random(seed: number): (n: number) => number {
  let state = seed;
  return (n) => (state = (state * 1103515245 + 12345) % 2147483648) % n;
}

test("both texts can be read off the difference", () => {
  const next = random(7);
  const words = ["a", "b", "cost", " ", "\n", "é", "$5", ".", "  "];
  for (let round = 0; round < 400; round++) {
    const make = (): string => Array.from({ length: next(14) }, () => words[next(words.length)]).join("");
    const [before, after] = [make(), make()];
    assert.deepEqual(parts(before, after), [before, after]);
  }
});

test("one changed word is one changed word", () => {
  assert.deepEqual(diff("It costs 5 a month.", "It costs 6 a month."), [
    { kind: "same", text: "It costs " },
    { kind: "gone", text: "5" },
    { kind: "new", text: "6" },
    { kind: "same", text: " a month." },
  ]);
  assert.deepEqual(diff("so", "so"), [{ kind: "same", text: "so" }]);
});

test("long texts are compared by line, and fast", () => {
  const line = "word ".repeat(40);
  const before = Array.from({ length: 500 }, (_, n) => `${n} ${line}\n`).join("");
  const after = before.replace("250 word", "250 other");
  const began = Date.now();
  assert.deepEqual(parts(before, after), [before, after]);
  assert.deepEqual(parts(before, "x ".repeat(9000)), [before, "x ".repeat(9000)]);
  assert.ok(Date.now() - began < 2000);
});

test("a revision is found among earlier texts, and a challenge is none", () => {
  const proposal = { text: "Use a managed database until someone is paid to operate one." };
  const other = { text: "The sun rises in the east." };
  assert.equal(versionOf("Use a managed database until there are three people.", [proposal, other]), proposal);
  assert.equal(versionOf("That is not what the numbers say at all.", [proposal, other]), undefined);
  assert.equal(likeness("", "x"), 0);
});
