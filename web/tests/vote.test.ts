import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ballotWord, objection, voteLine } from "../src/debate/vote.ts";

test("the vote before a debate stands beside its result", () => {
  const cases = JSON.parse(readFileSync(new URL("vote_lines.json", import.meta.url), "utf8"));
  for (const { line, result } of cases) assert.equal(voteLine(result), line);
});

test("words by which ballots are counted are not shown", () => {
  const cases = [["REJECT: too long", "too long"], ["REJECT: a\nb", "a\nb"], ["REJECT", "Rejects the answer, without a reason."], ["It is REJECT: no", "It is REJECT: no"], ["REJECTED", "REJECTED"]] as const;
  for (const [text, words] of cases) assert.equal(objection(text), words);
  assert.deepEqual(["APPROVE", "REJECT", "NATO", "yes"].map(ballotWord), ["approve", "reject", "NATO", "yes"]);
});
