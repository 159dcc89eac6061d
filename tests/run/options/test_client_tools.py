"""Tools of the asker: which definitions are refused, which calls are possible, and what a run stores."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pnyx.config.load import load
from pnyx.core.tool_calls import ToolCall
from pnyx.errors import UsageError
from pnyx.run.options.client_tools import BadToolError, call_problem, check_tools, offer_of
from pnyx.run.options.request import RunRequest
from pnyx.run.options.resolve import resolve
from pnyx.run.spec import Spec
from tests.support.rows import rows

PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ = {"name": "read", "parameters": PATH}
LOOK = {"name": "look", "description": "Look around."}


@rows(
    "tools, choice, place, message",
    [
        ([READ, {}], None, 1, "needs a name"),
        ([{"name": "a b"}], None, 0, "needs a name"),
        ([{"name": "required"}], None, 0, "needs a name"),
        ([{"name": "x" * 129}], None, 0, "needs a name"),
        ([READ, LOOK, READ], None, 2, "two tools have the name read"),
        ([{**LOOK, "kind": "x"}], None, 0, "has no field 'kind'"),
        ([{**LOOK, "description": 7}], None, 0, "description"),
        ([{**LOOK, "parameters": []}], None, 0, "must be a JSON schema"),
        ([{**LOOK, "parameters": {"type": "array"}}], None, 0, "must be that of an object"),
        ([{**LOOK, "parameters": {"properties": {"a": {"type": "text"}}}}], None, 0, "its schema is invalid"),
        ([{**LOOK, "parameters": {"default": float}}], None, 0, "its schema is not JSON"),
        ([], "required", None, "needs tools"),
        ([READ], "look", None, "must be auto, none, required or the name"),
    ],
)
def test_definitions_that_are_wrong_are_refused(
    tools: list[Any], choice: str | None, place: int | None, message: str
) -> None:
    with pytest.raises(BadToolError, match=message) as caught:
        check_tools(tools, choice)
    assert caught.value.place == place


@pytest.mark.parametrize("choice", [None, "auto", "none", "required", "read"])
def test_definitions_that_are_right_are_not(choice: str | None) -> None:
    check_tools([READ, LOOK, {"name": "mcp__a-b.c:d/e", "parameters": None, "description": None}], choice)


@rows(
    "calls, choice, parallel, problem",
    [
        ([("read", {"path": "a"})], None, None, None),
        ([("look", {}), ("look", {})], None, True, None),
        ([("look", {"more": 1})], None, None, None),
        ([("look", {}), ("look", {})], None, False, "2 calls"),
        ([], "required", None, "is a text"),
        ([("read", {})], None, None, "'path' is a required property"),
        ([("look", {}), ("read", {"path": None})], None, None, "path: None is not of type 'string'"),
        ([("Read", {"path": "a"})], None, None, "no tool 'Read'"),
        ([("look", {})], "read", None, "the tool to call is read"),
    ],
)
def test_calls_that_cannot_be_carried_out_have_a_problem(
    calls: list[Any], choice: str | None, parallel: bool | None, problem: str | None
) -> None:
    offer = offer_of([READ, LOOK], choice, parallel)
    assert offer is not None
    found = call_problem([ToolCall("", name, arguments) for name, arguments in calls], offer)
    assert found is None if problem is None else problem in (found or "")


def test_nothing_is_offered_where_a_text_is_wanted() -> None:
    assert offer_of([READ], "none", None) is None
    assert offer_of([], None, None) is None


def spec_of(**options: Any) -> Spec:
    request = RunRequest(question="Q", models=("ollama:a", "ollama:b"), protocol="voting", seed=1, **options)
    return resolve(request, load())


TOOLS = {"client_tools": [READ, LOOK], "tool_choice": "read", "parallel_tool_calls": False}


def test_a_stored_run_has_its_tools() -> None:
    spec = spec_of(**TOOLS)
    stored = Spec.from_json(json.loads(json.dumps(spec.to_json())))
    assert stored.offer == spec.offer == stored.brief.offer
    assert spec.offer is not None
    assert (spec.offer.choice, spec.offer.parallel) == ("read", False)
    assert stored.same_request(spec)


@pytest.mark.parametrize(
    "other",
    [
        {"client_tools": [LOOK, READ]},
        {"tool_choice": None},
        {"parallel_tool_calls": None},
        dict.fromkeys(TOOLS),
    ],
)
def test_tools_are_part_of_what_a_request_is(other: dict[str, Any]) -> None:
    given = {**TOOLS, **other}
    changed = spec_of(**{name: value for name, value in given.items() if value is not None})
    assert not changed.same_request(spec_of(**TOOLS))


def test_a_request_names_the_tool_that_is_wrong() -> None:
    with pytest.raises(UsageError, match=r"client_tools\[1\]: two tools have the name read"):
        spec_of(client_tools=[READ, READ])
    with pytest.raises(UsageError, match="tool_choice: must be"):
        spec_of(client_tools=[READ], tool_choice="look")
    with pytest.raises(UsageError, match="client_tools"):
        spec_of(client_tools=["read"])
