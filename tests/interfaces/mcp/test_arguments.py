"""Arguments of tools that a client sends as texts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.errors import UsageError
from pnyx.interfaces.mcp.arguments import parse_arguments
from pnyx.interfaces.mcp.schemas import Ask, Resume, RunQuery, Show, Tagging
from pnyx.interfaces.requests.json_body import Body

CALLS: tuple[tuple[type[Body], dict[str, Any]], ...] = (
    (
        Ask,
        {
            # Texts that could be read as something else stay texts.
            "question": "12",
            "context": "[1, 2]",
            "protocol": "true",
            "instructions": "null",
            "models": ["lab:alpha", "lab:beta*2"],
            "rounds": 2,
            "budget_usd": 0.5,
            "seed": 3,
            "options": {"rounds": 1, "early": False},
            "roles": {"1": "a sceptic"},
            "deadline_s": 60,
            "wait": False,
        },
    ),
    (Resume, {"run_id": "123", "budget_usd": 1, "fork": True, "wait": True, "deadline_s": None}),
    (Show, {"run_id": "1e5", "transcript": True, "after": 7, "wait_s": 1.5}),
    (RunQuery, {"status": None, "pinned": True, "limit": 3, "tag": "5"}),
    (Tagging, {"run_id": "77", "add": ["a", "1"], "remove": [], "title": "3", "pinned": None}),
)


@given(st.sampled_from(CALLS), st.data())
def test_any_value_may_be_sent_as_json_in_a_text(call: tuple[type[Body], dict[str, Any]], data: Any) -> None:
    model, arguments = call
    others = [name for name, value in arguments.items() if not isinstance(value, str)]
    texts = data.draw(st.sets(st.sampled_from(others)))
    sent = arguments | {name: json.dumps(arguments[name]) for name in texts}
    found = parse_arguments(model, sent)
    expected = model.parse(arguments)
    # A text where one is allowed is never read as null.
    same = {name for name in arguments if name not in texts or arguments[name] is not None}
    assert {name: getattr(found, name) for name in same} == {name: getattr(expected, name) for name in same}


@pytest.mark.parametrize("text", ["lab:alpha", "7", "null", "{"])
def test_a_text_in_place_of_a_list_is_its_only_entry(text: str) -> None:
    found = parse_arguments(Ask, {"question": "Why?", "models": text})
    assert found.model_dump()["models"] == (text,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"question": "Why?", "rounds": "many"}, "rounds must be a whole number, not 'many'"),
        ({"question": "Why?", "rounds": "0"}, "rounds must be"),
        ({"question": "Why?", "rounds": "[" * 100_000}, "rounds must be a whole number"),
        ({"question": "Why?", "wait": "perhaps"}, "wait must be true or false, not 'perhaps'"),
        ({"question": 12}, "question must be text, not 12"),
        ({"rounds": "2"}, "question is missing"),
        ({"question": "Why?", "option": "{}"}, "unknown key 'option'; did you mean options?"),
        ({"question": "Why?", "reasoning_effort": "low"}, "'reasoning_effort'; did you mean effort?"),
    ],
)
def test_what_cannot_be_read_is_refused_as_it_was_sent(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_arguments(Ask, arguments)
    assert message in str(raised.value)
