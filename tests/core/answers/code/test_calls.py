"""Calls of tools in replies: read in the forms that models write, and equal by name and arguments."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from pnyx import final_answer, same_answer
from pnyx.core.answers.code.calls import is_attempt, read_proposal, short_calls, written_calls
from pnyx.core.answers.same.grouping import find_group, group_answers
from pnyx.core.tool_calls import ToolCall
from tests.support.properties import examples
from tests.support.rows import rows

NAMES = st.sampled_from(("read", "write_file", "mcp__a__b", "crm.find", "x/y:z-1", 'a "b" {}; c'))
TEXTS = st.text(max_size=40) | st.sampled_from(
    ["```", "\n```\n> Final answer: 7", '{"tool_calls": []}', "<think>", "</think>", 'a "b" \\', "\u2028"]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=3,
)
ARGUMENTS = st.dictionaries(TEXTS, VALUES, max_size=3)
CALLS = st.lists(st.builds(ToolCall, st.just(""), NAMES, ARGUMENTS), min_size=1, max_size=2).map(tuple)
READ = '{"tool_calls": [{"name": "read", "arguments": {"path": "a.py", "line": 1}}]}'


def fenced(written: str) -> str:
    return f"I look first.\n```json\n{written}\n```\n"


@examples(40)
@given(CALLS)
def test_calls_are_read_as_they_are_written(calls: tuple[ToolCall, ...]) -> None:
    for text in (written_calls(calls), fenced(written_calls(calls)), f"So:\n{written_calls(calls)}"):
        proposal = read_proposal(text)
        assert proposal is not None
        assert proposal.calls == calls


@examples(40)
@given(CALLS, st.integers(0, 99))
def test_calls_are_the_same_whatever_their_order_and_notation(calls: tuple[ToolCall, ...], seed: int) -> None:
    written = written_calls(calls)
    others = list(calls)
    random.Random(seed).shuffle(others)
    entries = [
        {"arguments": dict(reversed(list(call.arguments.items()))), "name": call.name} for call in others
    ]
    other = fenced(json.dumps({"tool_calls": entries}, indent=2))
    short = final_answer(written)
    assert short is not None
    assert short == final_answer(other) == final_answer(short) == short_calls(short)
    assert same_answer(written, other)
    assert same_answer(short, other)
    assert len(short) <= max(250, 120 * len(calls))


@examples(40)
@given(CALLS, CALLS)
@example((ToolCall("", "a", {"x": 1}),), (ToolCall("", "a", {"x": True}),))
@example((ToolCall("", "a", {"x": 1}),), (ToolCall("", "a", {"x": "1"}),))
@example((ToolCall("", "a", {"x": "1"}),), (ToolCall("", "a", {"x": "1 "}),))
@example((ToolCall("", "a", {}),), (ToolCall("", "a", {}), ToolCall("", "a", {})))
def test_other_calls_are_other_answers(one: tuple[ToolCall, ...], two: tuple[ToolCall, ...]) -> None:
    def plain(calls: tuple[ToolCall, ...]) -> list[Any]:
        return sorted(json.dumps([c.name, dict(c.arguments)], sort_keys=True) for c in calls)

    equal = [json.loads(c) for c in plain(one)] == [json.loads(c) for c in plain(two)]
    exact = plain(one) == plain(two)
    if equal == exact:  # Python takes 1 and 1.0, which JSON does too, and 1 and true for the same
        assert same_answer(written_calls(one), written_calls(two)) == exact
    groups = group_answers([final_answer(written_calls(calls)) for calls in (one, two)])
    assert len(groups) == (1 if same_answer(written_calls(one), written_calls(two)) else 2)


@rows(
    "text",
    [
        READ,
        fenced(READ),
        f"{fenced(READ)}\nFinal answer: read a.py",
        f"Call: {READ}",
        '<tool_call>\n{"name": "read", "arguments": {"path": "a.py", "line": 1}}\n</tool_call>',
        '```json\n[{"name": "read", "arguments": {"path": "a.py", "line": 1}}]\n```',
        '{"tool_calls": [{"id": "1", "type": "function", "function": {"name": "read", "arguments": '
        '"{\\"path\\": \\"a.py\\", \\"line\\": 1.0}"}}]}',
        '{"tool_call": {"name": "read", "parameters": {"line": 1, "path": "a.py"}}}',
        '{"tool_calls": [{"tool": "read", "input": {"line": 1, "path": "a.py"}}]}',
        "{tool_calls: [{name: 'read', arguments: {'path': 'a.py', 'line': 1,},},],}",
        f'<think>\n{{"tool_calls": [{{"name": "look", "arguments": {{}}}}]}}\n</think>\n{fenced(READ)}',
        f'Not {{"tool_calls": [{{"name": "look", "arguments": {{}}}}]}}, but this is right:\n{fenced(READ)}',
    ],
)
def test_the_forms_in_which_models_write_calls(text: str) -> None:
    proposal = read_proposal(text)
    assert proposal is not None
    assert same_answer(text, READ)
    assert final_answer(text) == final_answer(READ)
    assert [(call.name, call.arguments) for call in proposal.calls] == [("read", {"path": "a.py", "line": 1})]


@rows(
    "text",
    [
        "Read the file first.",
        '{"tool_calls": []}',
        '{"name": "Ada", "born": 1815}',
        '{"name": "Ada", "arguments": {}, "born": 1815}',
        '{"tool_calls": [{"arguments": {}}]}',
        '{"tool_calls": [{"name": "read", "arguments": [1]}]}',
        '{"tool_calls": [{"name": "read", "arguments": {"a": 1e999}}]}',
        f"> {READ}",
        f"You call a tool with {READ}, as the manual says. {'Then you wait for what it returns. ' * 9}",
        f"<think>\n{READ}\n</think>\nI need no tool.",
    ],
)
def test_what_is_no_call(text: str) -> None:
    assert read_proposal(text) is None
    assert short_calls(text) is None


@rows(
    "text, attempt",
    [
        ('{"tool_calls": [{"name": "read", "arguments": {"path": "a.py"}', True),
        ("<tool_call>read a.py</tool_call>", True),
        ('```\n{"name": "read", "arguments": {"path": a.py}}\n```', True),
        ("The tool_calls of the log are empty.", False),
        ("It takes two arguments: a name and a path.", False),
        (f"<think>{READ[:-3]}</think>\nDone.", False),
    ],
)
def test_a_reply_that_was_meant_to_be_a_call(text: str, attempt: bool) -> None:
    assert read_proposal(text) is None
    assert is_attempt(text) is attempt


def test_long_calls_are_counted_and_have_short_names() -> None:
    long = written_calls([ToolCall("", "write", {"text": "x" * 9000})])
    other = written_calls([ToolCall("", "write", {"text": "x" * 9001})])
    short = final_answer(long)
    assert short is not None
    assert "sha256" in short
    assert len(short) < 100
    groups = group_answers([short, final_answer(other), short])
    assert len(groups) == 2
    assert find_group(long, groups) == short
    assert not same_answer(long, other)
    assert not same_answer(long, "x" * 9000)


def test_the_short_answer_of_calls_is_one_that_people_read() -> None:
    assert final_answer(READ) == 'call read {"line": 1, "path": "a.py"}'
    assert same_answer('call read {"path":"a.py", "line": 1.0}', READ)
    two = written_calls([ToolCall("", "look", {}), ToolCall("", "go", {"to": "x; call y {}"})])
    assert final_answer(two) == 'call go {"to": "x; call y {}"}; call look {}'


def test_a_call_is_no_other_answer() -> None:
    for other in (
        "call read",
        "call read 7",
        'call read {"path": "a.py"',
        'call read {"line": 1} now',
        "read",
        "a.py",
        "1",
        '{"path": "a.py", "line": 1}',
        "yes",
    ):
        assert not same_answer(READ, other)
        assert not same_answer(other, READ)


def test_reading_takes_time_in_proportion_to_the_text() -> None:
    # Each of these would take minutes if the text after every brace were parsed again.
    for text in (
        '{"tool_calls": ' * 20_000,
        READ * 400,
        '{"arguments": "' + "{" * 100_000,
        "[{" * 50_000 + "arguments",
    ):
        read_proposal(text)
        is_attempt(text)
