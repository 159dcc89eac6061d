import assert from "node:assert/strict";
import { test } from "node:test";
import type { Defaults, Option, Protocol } from "../src/server/api.ts";
import { defaultEffort, effortFields, optionValue } from "../src/ask/effort.ts";

const rounds: Option = { default: 3, help: "", choices: [], low: 1, high: 50 };
const debate = {
  name: "debate", options: { rounds }, presets: { quick: { rounds: 1 }, deep: { rounds: 6 } },
} as unknown as Protocol;
const settings = (preset: string | null, options: Record<string, unknown> = {}): Defaults =>
  ({ preset, options: { debate: options } }) as unknown as Defaults;

test("the default effort is left to the server, so that settings count", () => {
  const small = settings("quick", { rounds: 5 });
  assert.equal(defaultEffort(small), "quick");
  assert.deepEqual(effortFields("quick", "quick", debate, small), {});
  assert.equal(optionValue("rounds", "quick", "quick", debate, small), 5);
  assert.equal(optionValue("rounds", "quick", "quick", debate, settings("quick")), 1);
});

test("another effort is named, and takes precedence over settings", () => {
  const small = settings("quick", { rounds: 5 });
  assert.deepEqual(effortFields("deep", "quick", debate, small), { preset: "deep" });
  assert.equal(optionValue("rounds", "deep", "quick", debate, small), 6);
  assert.deepEqual(effortFields("quick", "normal", debate, settings(null)), { preset: "quick" });
});

test("a normal effort resets the default preset", () => {
  assert.deepEqual(effortFields("normal", "quick", debate, settings("quick")), { options: { rounds: 3 } });
  assert.deepEqual(effortFields("normal", "quick", debate, settings("quick", { rounds: 5 })), { options: { rounds: 5 } });
  assert.deepEqual(effortFields("normal", "normal", debate, settings(null)), {});
});

test("a protocol without the preset sends none", () => {
  const plain = { ...debate, presets: {} };
  assert.deepEqual(effortFields("quick", "normal", plain, settings(null)), {});
  assert.deepEqual(effortFields("normal", "quick", plain, settings("quick")), {});
});
