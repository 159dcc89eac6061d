"""Replies of hosts from `replies.toml`, read in pieces: text, thoughts, tool calls, end, usage, failure."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from pnyx.core.markup.reasoning import split
from pnyx.errors import ProviderError
from pnyx.providers.hosted.dialects import DIALECTS
from pnyx.providers.hosted.documents import Documents
from pnyx.providers.hosted.replies.forms import Reply
from pnyx.providers.hosted.replies.reply import Reader
from tests.hosts.envelopes import envelope
from tests.support.rows import rows

ROWS = tomllib.loads((Path(__file__).parent / "replies.toml").read_text())["reply"]
PIECE = 61
COUNTS = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "cache_write_tokens")


def ids() -> Iterator[str]:
    for number, row in enumerate(ROWS, 1):
        yield f"{number} {row['name']}"


def read(dialect: str, body: bytes) -> tuple[Reader, bool]:
    """Read a body that arrives in small pieces; the reader, and whether the body is a stream."""
    documents, reply = Documents(), Reply(DIALECTS[dialect].reader)
    for start in range(0, len(body), PIECE):
        for document in documents.feed(body[start : start + PIECE]):
            list(reply.add(document))
    for document in documents.end():
        list(reply.add(document))
    reply.reader.check()
    return reply.reader, documents.is_stream


@rows("row", ROWS, ids())
def test_a_reply_is_read_or_its_failure_is(row: dict[str, Any]) -> None:
    body = row["body"].encode()
    if "kind" in row:
        with pytest.raises(ProviderError) as caught:
            read(row["dialect"], body)
        assert caught.value.kind == row["kind"]
        assert "wait" not in row or caught.value.retry_after == row["wait"]
        assert not [words for words in row.get("says", ()) if words not in str(caught.value)]
        return
    try:
        reader, is_stream = read(row["dialect"], body)
    except ProviderError:
        # An error behind a reply that was cut off, which the provider does not count.
        assert row.get("finish") == "length"
        return
    found = split(reader.answer())
    thoughts = "".join(reader.reasoning) or found.reasoning
    assert "text" not in row or found.answer == row["text"]
    assert "reasoning" not in row or thoughts == row["reasoning"]
    assert reader.finish_reason() == row.get("finish", "stop")
    assert [[call.name, call.arguments] for call in reader.tool_calls()] == row.get("tools", [])
    if row.get("counted", True):
        usage = DIALECTS[row["dialect"]].meter.usage(reader.usage)
        assert usage is not None
        expected = row.get("usage", [10, 5])
        assert [getattr(usage, name) for name in COUNTS[: len(expected)]] == expected
    assert reader.any
    assert reader.is_complete or not is_stream


LABELS = (
    *("type", "id", "object", "role", "index", "output_index", "status", "created", "model", "call_id"),
    *("stop_reason", "stop_sequence", "finish_reason", "finishReason", "annotations", "refusal"),
)
"""Fields that say what something is, and hold nothing of it."""


def without(value: Any, label: str, instead: Any) -> Any:
    """`value` with `instead` wherever a field has the name `label`; Ellipsis leaves it out."""
    if isinstance(value, list):
        return [without(one, label, instead) for one in value]
    if not isinstance(value, dict):
        return value
    inside = {name: without(one, label, instead) for name, one in value.items() if name != label}
    return inside if label not in value or instead is ... else {**inside, label: instead}


@rows("dialect, is_stream", product(("openai", "anthropic", "google", "responses"), (False, True)))
def test_a_reply_whose_labels_are_missing_loses_nothing(dialect: str, is_stream: bool) -> None:
    # Events of the Responses API differ in their type alone.
    labels = [label for label in LABELS if label != "type" or not is_stream or dialect != "responses"]
    documents = envelope(dialect, is_stream).documents
    for label in labels:
        for instead in (..., None, 7):
            body = "\n".join(json.dumps(without(one, label, instead)) for one in documents).encode()
            reader, _ = read("openai" if dialect == "responses" else dialect, body)
            found = reader.answer(), "".join(reader.reasoning), [one.arguments for one in reader.tool_calls()]
            assert found == ("Yes, seven.", "No divisor.", [{"x": 1}]), (label, instead)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("stop eos eos_token stop_sequence end_turn STOP COMPLETE normal unheard_of", "stop"),
        ("length MAX_TOKENS maxTokens max_new_tokens truncated model_length cut_off", "length"),
        ("content_filter CONTENT_FILTER contentFilter content-filter blocked SAFETY refusal", "filter"),
        ("unsafe jailbreak pii_detected flagged harmful data_inspection_failed", "filter"),
    ],
)
def test_a_reason_is_read_in_any_spelling(words: str, reason: str) -> None:
    for word in words.split():
        body = {"choices": [{"message": {"content": "Yes."}, "finish_reason": word}]}
        reader, _ = read("openai", json.dumps(body).encode())
        assert (reader.finish_reason(), reader.finish_detail()) == (reason, word)


@rows(
    "word",
    [
        "error",
        "failed",
        "abort",
        "timeout",
        "unavailable",
        "server_error",
        "networkError",
        "oom",
        "workerDied",
    ],
)
def test_an_end_that_is_a_failure_is_one_in_any_spelling(word: str) -> None:
    body = {"choices": [{"message": {"content": "Ye"}, "finish_reason": word}]}
    with pytest.raises(ProviderError) as caught:
        read("openai", json.dumps(body).encode())
    assert caught.value.kind == "overloaded"
    assert not caught.value.billed
