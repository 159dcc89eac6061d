import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { voteLine } from "../src/debate/vote.ts";

test("the vote before a debate stands beside its result", () => {
  const cases = JSON.parse(readFileSync(new URL("vote_lines.json", import.meta.url), "utf8"));
  for (const { line, result } of cases) assert.equal(voteLine(result), line);
});
