import assert from "node:assert/strict";
import { test } from "node:test";
import { messages } from "../src/server/sse.ts";

async function read(bytes: Uint8Array, size: number): Promise<string[]> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
      controller.close();
    },
  });
  const out: string[] = [];
  for await (const data of messages(body, () => undefined)) out.push(data);
  return out;
}

test("messages do not depend on the chunks of the network", async () => {
  const wire = ": ping\r\n\r\nid: 1\r\nevent: token\r\ndata: {\"text\":\"é 𝕏 \\n\"}\r\n\r\ndata: a\ndata:b\n\ndata: last\r\r";
  const bytes = new TextEncoder().encode(`${wire}\r`);
  const whole = await read(bytes, bytes.length);
  assert.deepEqual(whole.slice(0, 2), ['{"text":"é 𝕏 \\n"}', "a\nb"]);
  for (let size = 1; size < bytes.length; size++) assert.deepEqual(await read(bytes, size), whole);
});

test("an incomplete message is ignored", async () => {
  assert.deepEqual(await read(new TextEncoder().encode("data: a\n\ndata: b\n"), 4), ["a"]);
});
