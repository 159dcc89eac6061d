/** Svelte drops the spaces at the edges of a block, so words before and after it would stick together. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";

const EDGE = /\{[#:](?:[^{}]|\{[^{}]*\})*\} +[^\s<{].*|.*[^\s>}] +\{\/(?:if|each)\}/g;

test("no text starts or ends with a space at the edge of a block", () => {
  const files = globSync("src/**/*.svelte", { cwd: new URL("..", import.meta.url) });
  assert.ok(files.length > 30);
  const found = files.flatMap((file) => readFileSync(new URL(`../${file}`, import.meta.url), "utf8").match(EDGE) ?? []);
  assert.deepEqual(found, []);
});
