import assert from "node:assert/strict";
import { test } from "node:test";
import { pieces, plain } from "../src/lib/plain.ts";

test("controls that make a text look like another are left out", () => {
  assert.equal(plain("safe\u202egnp.exe\u2066\u0007\u001b[31m"), "safegnp.exe[31m");
  assert.equal(plain("שלום, tab\tand\nline"), "שלום, tab\tand\nline");
});

test("a text is cut at empty lines, and code is not", () => {
  assert.deepEqual(pieces("a\nb\n\nc"), ["a\nb", "c"]);
  assert.deepEqual(pieces("```py\nx\n\ny\n```\n\nz"), ["```py\nx\n\ny\n```", "z"]);
  assert.deepEqual(pieces("~~~\nopen\n\nstill"), ["~~~\nopen\n\nstill"]);
  assert.deepEqual(pieces(""), [""]);
});

test("pieces that are whole stay as they are while the text grows", () => {
  const text = "One.\n\n- two\n- three\n\n```\nfour\n\nfive\n```\n\nsix";
  const end = pieces(text);
  for (let at = 1; at <= text.length; at++) {
    const now = pieces(text.slice(0, at)).slice(0, -1);
    assert.deepEqual(now, end.slice(0, now.length));
  }
});
