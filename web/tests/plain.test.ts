import assert from "node:assert/strict";
import { test } from "node:test";
import { plain, preview, splitBlocks } from "../src/text/plain.ts";

test("control characters that disguise a text are removed", () => {
  assert.equal(plain("safe\u202egnp.exe\u2066\u0007\u001b[31m"), "safegnp.exe[31m");
  assert.equal(plain("שלום, tab\tand\nline"), "שלום, tab\tand\nline");
});

test("a text is split at empty lines, and code is not", () => {
  assert.deepEqual(splitBlocks("a\nb\n\nc"), ["a\nb", "c"]);
  assert.deepEqual(splitBlocks("```py\nx\n\ny\n```\n\nz"), ["```py\nx\n\ny\n```", "z"]);
  assert.deepEqual(splitBlocks("~~~\nopen\n\nstill"), ["~~~\nopen\n\nstill"]);
  assert.deepEqual(splitBlocks(""), [""]);
});

test("complete blocks do not change while the text grows", () => {
  const text = "One.\n\n- two\n- three\n\n```\nfour\n\nfive\n```\n\nsix";
  const end = splitBlocks(text);
  for (let at = 1; at <= text.length; at++) {
    const now = splitBlocks(text.slice(0, at)).slice(0, -1);
    assert.deepEqual(now, end.slice(0, now.length));
  }
});

test("a preview is one line without marks", () => {
  assert.equal(preview("**Use** a `managed` one.\n\n1. First\n2. Second, for $5"), "Use a managed one. First Second, for $5");
  assert.equal(preview("word ".repeat(90), 20), "word word word word…");
});
