"""A body with very many keys is refused before it is read, however it is cut into parts."""

from __future__ import annotations

import json
import time
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.interfaces.http.key_count import MOST_KEYS, KeyCount
from tests.support.scripted import ScriptedHost
from tests.support.serving import open_server

TEXTS = st.text(st.sampled_from('ab":\\\n{,é😀'), max_size=8)
VALUES: st.SearchStrategy[Any] = st.recursive(
    TEXTS | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def keys(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(map(keys, value.values()))
    return sum(map(keys, value)) if isinstance(value, list) else 0


@given(VALUES, st.booleans(), st.lists(st.integers(0, 200), max_size=6))
def test_keys_are_counted_in_any_parts(value: Any, ascii: bool, cuts: list[int]) -> None:
    body = json.dumps(value, ensure_ascii=ascii).encode("utf-8")
    places = sorted({0, len(body), *(min(cut, len(body)) for cut in cuts)})
    count = KeyCount()
    for start, end in pairwise(places):
        count.add(body[start:end])
    assert count.keys == keys(value)
    assert count.is_utf8


def test_a_long_string_of_escaped_quotes_takes_no_time() -> None:
    count, started_at = KeyCount(), time.process_time()
    count.add(b'{"a": "')
    for _ in range(60):
        count.add(b'\\":' * 20_000)
    assert count.keys == 1
    assert time.process_time() - started_at < 2


MANY = {f"k{n}": n for n in range(MOST_KEYS + 1)}
CHAT = {"model": "pnyx/voting", "messages": [{"role": "user", "content": "Why?"}]}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/runs", {"question": "Why?", **MANY}),
        ("/v1/chat/completions", {**CHAT, "metadata": MANY}),
        ("/v1/messages", {**CHAT, "max_tokens": 10, "tools": [{"input_schema": MANY}]}),
        ("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": MANY}),
    ],
)
async def test_a_body_with_too_many_keys_is_refused(lab: ScriptedHost, path: str, body: Any) -> None:
    async with open_server() as server, server.client() as client:
        answer = await client.post(path, json=body)
        assert answer.status_code == 413
        assert "100,000 keys" in answer.text
        assert answer.headers["x-content-type-options"] == "nosniff"


async def test_a_body_in_another_encoding_is_refused(lab: ScriptedHost) -> None:
    async with open_server() as server, server.client() as client:
        for encoding in ("utf-16", "utf-32-be"):
            body = json.dumps({"question": "Why?"}).encode(encoding)
            answer = await client.post("/v1/runs", content=body, headers={"Content-Type": "application/json"})
            assert (answer.status_code, "UTF-8" in answer.text) == (400, True)


async def test_many_unknown_keys_are_one_error(lab: ScriptedHost) -> None:
    async with open_server() as server, server.client() as client:
        answer = await client.post("/v1/runs", json={"question": "Why?", **dict.fromkeys(list(MANY)[:5000])})
        assert (answer.status_code, "'k0'" in answer.text) == (422, True)
        assert len(answer.text) < 500
