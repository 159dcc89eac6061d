"""Errors as hosts send them, from `errors.toml`: what kind they are, and what is changed of the request."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pnyx.providers.hosted.adjustments import Adjustments, Change
from pnyx.providers.hosted.failures import HostError, failure, read_report, report
from pnyx.providers.hosted.output_limits import fitting_share, plain_numbers
from tests.support.rows import rows

TABLE = tomllib.loads((Path(__file__).parent / "errors.toml").read_text())
SIZES = tomllib.loads((Path(__file__).parent / "sizes.toml").read_text())["sizes"]
DIALECTS = {"anthropic": "anthropic", "google": "google", "mistral": "mistral"}
MODEL = "alpha"
LIMIT = 32_000
MARGIN = 32
TOOL = {"name": "search", "description": "Searches.", "parameters": {"type": "object", "properties": {}}}
SCHEMA = {"type": "object", "properties": {"vote": {"type": "string"}}}


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table. meaning: what stands after the body, or None."""

    host: str
    model: str
    status: int
    body: str
    meaning: Any = None
    number: int = 0
    table: str = ""

    @property
    def dialect(self) -> str:
        return DIALECTS.get(self.host, "openai")

    @property
    def error(self) -> HostError:
        if self.status:
            return failure(read_report(self.status, self.body), {}, self.body)
        document = json.loads(self.body)
        found = report(document[0] if isinstance(document, list) else document)
        assert found is not None
        return failure(found)

    def __str__(self) -> str:
        return f"{self.table} {self.host} {self.number}"


def errors(*tables: str) -> list[Row]:
    return [row for table in tables for row in _errors(table)]


def _errors(table: str) -> Iterator[Row]:
    for number, (host, status, body, *meaning) in enumerate(TABLE[table], 1):
        host, _, model = host.partition(":")
        yield Row(host, model or MODEL, status, body, meaning[0] if meaning else None, number, table)


def every_error(*tables: str) -> Callable[..., Any]:
    """Call a test with each error of some tables, one test for each table."""
    found = errors(*tables)
    groups = [row.table for row in found] if len(tables) > 1 else None
    return rows("row", found, map(str, found), groups)


def request_body(dialect: str, model: str = MODEL) -> dict[str, Any]:
    """A request with every parameter that pydantic-ai or a gateway may send."""
    if dialect == "google":
        settings: dict[str, Any] = {"temperature": 0.7, "topP": 0.9, "seed": 7, "maxOutputTokens": LIMIT}
        settings |= {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA}
        settings |= {"thinkingConfig": {"thinkingBudget": 2000}}
        return {
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "contents": [{"role": "user", "parts": [{"text": "Is 7 prime?"}]}],
            "tools": [{"functionDeclarations": [TOOL]}],
            "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
            "generationConfig": settings,
        }
    common = {"model": model, "max_tokens": LIMIT, "temperature": 0.7, "top_p": 0.9, "stream": True}
    if dialect == "anthropic":
        cached = {"type": "text", "text": "Is 7 prime?", "cache_control": {"type": "ephemeral"}}
        return common | {
            "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": [cached]}],
            "tools": [{"name": "search", "input_schema": SCHEMA}],
            "tool_choice": {"type": "auto"},
            "thinking": {"type": "enabled", "budget_tokens": 2000},
            "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}, "effort": "low"},
        }
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Is 7 prime?"}]
    format = {"type": "json_schema", "json_schema": {"name": "vote", "schema": SCHEMA}}
    return common | {
        "messages": messages,
        "stream_options": {"include_usage": True},
        "tools": [{"type": "function", "function": TOOL}],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "response_format": format,
        "reasoning_effort": "low",
        "prompt_cache_key": "run",
        **dict.fromkeys(("presence_penalty", "frequency_penalty"), 0.1),
        **{"store": False, "stop": ["END"], "n": 1, "user": "u"},
        "random_seed" if dialect == "mistral" else "seed": 7,
    }


def leaves(body: dict[str, Any]) -> set[str]:
    """The parameters of a body, with those of `generationConfig` and `output_config`."""
    names = set(body) | set(body.get("generationConfig", {}))
    names |= {f"output_config.{name}" for name in body.get("output_config", {})}
    return names | ({"cache_control"} if "cache_control" in json.dumps(body) else set())


ALONE = {"generationConfig", "output_config"}
FOLLOW = {
    "tools": {"tool_choice", "parallel_tool_calls", "toolConfig"},
    "stream": {"stream_options"},
    "responseJsonSchema": {"responseMimeType"},
}
"""What is left out with a parameter because it means nothing alone."""


@dataclass(slots=True)
class Answer:
    """What becomes of a row's request. body: the next one."""

    error: HostError
    change: Change | None
    before: dict[str, Any]
    body: dict[str, Any]

    @property
    def gone(self) -> set[str]:
        gone = leaves(self.before) - leaves(self.body) - ALONE
        return gone - {name for first in gone for name in FOLLOW.get(first, ())}


def answer(row: Row, **parameters: Any) -> Answer:
    adjustments, error = Adjustments(), row.error
    before = request_body(row.dialect, row.model) | parameters
    before = {name: value for name, value in before.items() if value is not None}
    text = json.dumps(before)
    change = adjustments.learn(row.model, error, json.loads(text))
    after = json.loads(text)
    adjustments.of(row.model).apply(after)
    return Answer(error, change, before, after)


def output_limit(body: dict[str, Any]) -> int:
    body = {**body, **body.get("generationConfig", {})}
    (limit,) = (value for name, value in body.items() if name.startswith("max") and isinstance(value, int))
    return limit


KINDS = ("too_long", "rate_limited", "overloaded", "refused", "auth", "not_found", "malformed")


@every_error(*KINDS)
def test_an_error_that_no_other_request_helps_has_its_kind(row: Row) -> None:
    found = answer(row)
    assert found.error.kind == row.table, found.error
    assert found.change is None
    assert found.body == found.before
    if row.meaning is not None:
        assert found.error.retry_after == (None if row.meaning == -1 else pytest.approx(row.meaning, abs=1))


def test_a_wait_is_read_inside_a_reply_as_beside_a_status() -> None:
    waits = []
    for row in errors("rate_limited", "overloaded"):
        if row.status == 0 or row.error.retry_after is None:
            continue
        try:
            found = report(json.loads(row.body))
        except ValueError:
            continue  # words alone, or more than a document
        if found is not None and (inside := failure(found)).kind in ("rate_limited", "overloaded"):
            waits.append((row.error.retry_after, inside.retry_after, row.body))
    assert len(waits) > 80
    assert [wait for wait in waits if wait[1] is None or abs(wait[0] - wait[1]) > 1] == []


@rows(
    "message, share",
    [
        ("maximum context length is 8192 tokens, and your messages resulted in 16384 tokens", 0.5),
        ("maximum context length is 8192 tokens, and you requested 16384 (8000 in the completion)", 0.5),
        ("prompt is too long: 20000 tokens > 5000 maximum", 0.25),
        ("Range of input length should be [1, 5000]", 0.5),
        ("the prompt exceeds the 2500 token limit", 0.25),
        ("<400> InternalError: Range of input length should be [1, 204800]", None),  # more than was sent
        ("Prompt tokens (9000) + max-sampled tokens (512) exceeds max (4500)", 0.5),
        ("prompt too long; exceeded max context length by 512 tokens", None),
        ("max_tokens must be at least 1, got -7584", None),
        ("the prompt is too long", None),
    ],
)
def test_how_much_of_a_prompt_fits_is_read_from_the_numbers_of_the_host(
    message: str, share: float | None
) -> None:
    assert fitting_share(message, 10_000) == share


@rows("message, share", SIZES)
def test_a_window_named_in_prose_is_recognised_and_read(message: str, share: float) -> None:
    body = json.dumps({"error": {"message": message, "type": "invalid_request_error"}})
    assert failure(read_report(400, body), {}, body).kind == "too_long"
    found = fitting_share(plain_numbers(message), 10_000)
    assert found == (None if share < 0 else pytest.approx(share))


@every_error("nothing")
def test_a_parameter_named_in_passing_is_kept(row: Row) -> None:
    found = answer(row)
    assert found.change is None
    assert found.body == found.before
    assert found.error.kind == row.meaning


@every_error("limit")
def test_an_output_limit_over_that_of_the_model_is_lowered_for_all_requests(row: Row) -> None:
    found = answer(row)
    assert found.change is not None
    assert output_limit(found.body) == row.meaning
    assert leaves(found.body) == leaves(found.before)
    assert str(row.meaning) in found.change.note


@every_error("room")
def test_an_output_limit_over_the_room_beside_a_prompt_is_lowered_to_it(row: Row) -> None:
    found = answer(row)
    assert found.change is not None
    assert found.change.max_tokens == row.meaning - MARGIN
    # The next request of that length is right at once.
    assert abs(output_limit(found.body) - (row.meaning - MARGIN)) <= 1
    assert leaves(found.body) == leaves(found.before)


@every_error("drop")
def test_exactly_the_refused_parameter_is_left_out(row: Row) -> None:
    found = answer(row)
    assert found.change is not None
    assert found.gone == set(row.meaning.split())
    if row.meaning != "stream":
        assert all(name in found.change.note for name in found.gone)


@every_error("schema")
def test_a_schema_is_described_in_the_prompt_where_it_is_refused(row: Row) -> None:
    found = answer(row)
    assert found.change is not None
    format = {"anthropic": "output_config.format", "google": "responseJsonSchema"}
    assert found.gone == {format.get(row.dialect, "response_format")}
    assert "described in the prompt" in found.change.note


@every_error("rename")
def test_the_output_limit_is_sent_by_its_other_name(row: Row) -> None:
    found = answer(row)
    assert found.change is not None
    assert found.gone == {"max_tokens"}
    assert found.body["max_completion_tokens"] == LIMIT


@every_error("level")
def test_a_level_of_thinking_that_is_refused_becomes_the_closest_one_that_the_host_names(row: Row) -> None:
    now, taken = row.meaning
    config: dict[str, Any] = {"reasoning_effort": now}
    if row.dialect == "anthropic":
        config = {"output_config": {"effort": now}}
    found = answer(row, **config)
    assert found.change is not None
    assert found.body.get("reasoning_effort", found.body.get("output_config", {}).get("effort")) == taken
    assert leaves(found.body) == leaves(found.before)
    assert taken in found.change.note


def test_a_level_that_is_refused_in_turn_is_left_out() -> None:
    adjustments, body = Adjustments(), request_body("openai")
    for levels in ("'medium'", "'low', 'high'"):
        message = f"Unsupported value for 'reasoning_effort'. Supported values are: {levels}."
        refused = failure(read_report(400, json.dumps({"error": {"message": message}})))
        assert adjustments.learn(MODEL, refused, body) is not None
        adjustments.of(MODEL).apply(body)
    assert "reasoning_effort" not in body


@every_error("adaptive")
def test_a_level_is_sent_to_a_model_that_decides_how_many_tokens_it_thinks(row: Row) -> None:
    found = answer(row, output_config={})
    assert found.change is not None
    assert (found.body["thinking"], found.body["output_config"]) == ({"type": "adaptive"}, {"effort": "low"})


@every_error("system")
def test_instructions_are_sent_in_the_first_message_where_there_is_no_system_role(row: Row) -> None:
    found = answer(row)
    assert found.change is not None
    assert found.gone <= {"systemInstruction"}
    turns = found.body.get("messages") or found.body["contents"]
    assert [turn["role"] for turn in turns] == ["user"]
    assert "Be brief." in json.dumps(turns)
    assert json.dumps(turns).count("Be brief.") == 1


@every_error("responses")
def test_a_model_of_the_responses_api_is_asked_there_with_all_parameters(row: Row) -> None:
    found = answer(row)
    assert found.change is not None
    assert "Responses API" in found.change.note
    assert found.body == found.before


@every_error("stream")
def test_a_stream_is_asked_for_where_there_is_no_other_reply(row: Row) -> None:
    found = answer(row, stream=None, stream_options=None)
    assert found.change is not None
    assert found.body["stream"] is True
    assert found.body["stream_options"] == {"include_usage": True}
    assert leaves(found.body) - leaves(found.before) == {"stream", "stream_options"}
