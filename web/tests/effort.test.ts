import assert from "node:assert/strict";
import { test } from "node:test";
import type { Defaults, Option, Protocol } from "../src/lib/api.ts";
import { effortful, standing, usual } from "../src/lib/effort.ts";

const rounds: Option = { default: 3, help: "", choices: [], low: 1, high: 50 };
const debate = {
  name: "debate", options: { rounds }, presets: { quick: { rounds: 1 }, deep: { rounds: 6 } },
} as unknown as Protocol;
const settings = (preset: string | null, options: Record<string, unknown> = {}): Defaults =>
  ({ preset, options: { debate: options } }) as unknown as Defaults;

test("the usual effort is left to the server, so that what is configured counts", () => {
  const small = settings("quick", { rounds: 5 });
  assert.equal(usual(small), "quick");
  assert.deepEqual(effortful("quick", "quick", debate, small), {});
  assert.equal(standing("rounds", "quick", "quick", debate, small), 5);
  assert.equal(standing("rounds", "quick", "quick", debate, settings("quick")), 1);
});

test("another effort is named, and counts over what is configured", () => {
  const small = settings("quick", { rounds: 5 });
  assert.deepEqual(effortful("deep", "quick", debate, small), { preset: "deep" });
  assert.equal(standing("rounds", "deep", "quick", debate, small), 6);
  assert.deepEqual(effortful("quick", "normal", debate, settings(null)), { preset: "quick" });
});

test("a normal effort undoes the usual preset", () => {
  assert.deepEqual(effortful("normal", "quick", debate, settings("quick")), { options: { rounds: 3 } });
  assert.deepEqual(effortful("normal", "quick", debate, settings("quick", { rounds: 5 })), { options: { rounds: 5 } });
  assert.deepEqual(effortful("normal", "normal", debate, settings(null)), {});
});

test("a protocol without the preset gets none", () => {
  const plain = { ...debate, presets: {} };
  assert.deepEqual(effortful("quick", "normal", plain, settings(null)), {});
  assert.deepEqual(effortful("normal", "quick", plain, settings("quick")), {});
});
