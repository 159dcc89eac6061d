/** The files of an evaluation are distinguished by their content, and questions keep the order of the log. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Answer, NOT_ONE, difference, differs, readFile } from "../src/evaluation/evaluation.ts";

const row = (arm: string, id: string, correct: boolean): Answer => ({ arm, id, category: null, target: "42", answer: "42", correct, error: null });
const log = (...rows: unknown[]): string => [{ pnyx_eval: 1, dataset: "d" }, ...rows].map((one) => JSON.stringify(one)).join("\n");

test("a log has its questions in order, each with the answers of the arms", () => {
  const found = readFile(`${log(row("a", "q2", true), row("b", "q2", false), row("a", "q1", true), row("b", "q1", true))}\n\n`);
  assert.equal(found.kind, "log");
  assert.deepEqual(found.kind === "log" && found.questions.map((one) => [one.id, differs(one)]), [["q2", true], ["q1", false]]);
});

test("a report is one object, however it is written", () => {
  for (const space of [0, 2]) {
    const found = readFile(JSON.stringify({ verdict: [], arms: [], pairs: [], dataset: "d" }, null, space));
    assert.equal(found.kind, "report");
  }
});

for (const other of ["", "x", "{}", "[]", "1", JSON.stringify({ verdict: [] }), log({ arm: "a" }), `${log()}\nnot json`, JSON.stringify(row("a", "q", true))]) {
  test(`refused: ${other.slice(0, 30)}`, () => assert.throws(() => readFile(other), { message: NOT_ONE }));
}

test("a difference has the interval of Newcombe's example: 56 of 70 and 48 of 80", () => {
  const one = { mean: 48 / 80, low: 0.4904, high: 0.7004 };
  const other = { mean: 56 / 70, low: 0.6922, high: 0.8770 };
  const found = difference(one, other);
  assert.deepEqual(found && [found.mean, found.low, found.high].map((value) => value.toFixed(3)), ["0.200", "0.053", "0.334"]);
  assert.equal(difference(null, other), null);
});
