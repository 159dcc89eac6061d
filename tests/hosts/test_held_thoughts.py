"""Thoughts with a closing tag alone are not streamed once their model is known to write them so."""

from __future__ import annotations

import json

import pytest

from pnyx.providers.base import Call, Message, ToolSpec
from pnyx.providers.hosted.provider import open_hosted
from pnyx.providers.hosted.replies.held_thoughts import HeldThoughts, is_all_thoughts, may_begin_in_thoughts
from tests.support.hosting import KEY
from tests.support.rows import rows
from tests.support.scripted import ScriptedHost

TEXT = "No divisor.\n</think>\n\nYes."
SEARCH = ToolSpec("search", "Searches.", {"type": "object", "properties": {}})


def shown(pieces: list[str], has_reasoning: bool = False) -> list[str]:
    out: list[str] = []
    held = HeldThoughts(out.append, lambda: has_reasoning)
    for piece in pieces:
        held.add(piece)
    held.end()
    return out


def test_the_answer_is_shown_however_the_text_is_cut() -> None:
    for first in range(len(TEXT)):
        for second in range(first, len(TEXT), 3):
            pieces = [TEXT[:first], TEXT[first:second], TEXT[second:]]
            assert "".join(shown(pieces)).strip() == "Yes.", pieces


@rows(
    "pieces, has_reasoning, count",
    [
        (["Yes", ", it", " is."], True, 3),  # its host returns thoughts apart
        (["<think>", "a", "</think>", "Yes."], False, 4),
        (["Yes", ", it", " is."], False, 1),  # it did not think this time
        (["Write `</think>`", " at the end."], False, 1),
    ],
)
def test_a_reply_without_such_thoughts_is_shown_whole(
    pieces: list[str], has_reasoning: bool, count: int
) -> None:
    out = shown(pieces, has_reasoning)
    assert "".join(out) == "".join(pieces)
    assert len(out) == count


@rows(
    "name, expected",
    [
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", True),
        ("qwq-32b", True),
        ("Qwen3-235B-A22B-Thinking-2507", True),
        ("Olmo-3-32B-Think", True),
        ("MiniMax-M2.1", True),
        ("glm-z1-air", True),
        ("gpt-5", False),
        ("deepseek-chat", False),
        ("rethinking-7b", False),
        ("command-r1b", False),
    ],
)
def test_models_whose_prompt_has_the_opening_tag_are_known_by_name(name: str, expected: bool) -> None:
    assert may_begin_in_thoughts(name) == expected


def stream(text: str) -> bytes:
    deltas = [{"choices": [{"delta": {"content": text[at : at + 3]}}]} for at in range(0, len(text), 3)]
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    end = {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": usage}
    return "".join(f"data: {json.dumps(one)}\n\n" for one in (*deltas, end)).encode()


@pytest.mark.parametrize("tools", [(), (SEARCH,)], ids=["plain", "tools"])
async def test_the_second_reply_of_such_a_model_is_streamed_without_its_thoughts(
    lab: ScriptedHost, tools: tuple[ToolSpec, ...]
) -> None:
    lab.on("alpha", body=stream(TEXT))
    provider = open_hosted("openai", base_url=lab.openai, api_key=KEY)
    streamed = []
    try:
        for _ in range(2):
            pieces: list[str] = []
            call = Call("alpha", (Message("user", "Is 7 prime?"),), max_tokens=100, tools=tools)
            completion = await provider.complete(call, pieces.append)
            assert completion.text == TEXT
            streamed.append("".join(pieces).strip())
    finally:
        await provider.close()
    assert streamed == [TEXT, "Yes."]


@pytest.mark.parametrize(
    ("text", "reasoning", "alone"),
    [
        ("", "7 has no divisor.", True),
        (" \n", "7 has no divisor.", True),
        ("<think>7 has no divisor.</think>\n", "", True),
        ("<think>7 has no divisor.", "", True),
        ("7 has no divisor.\n</think>\n<|im_end|>", "", True),
        ("<think>7 has no divisor.</think>\nYes.", "", False),
        ("", "<think>7 has no divisor.</think>\nYes.", False),
        ("Yes.", "7 has no divisor.", False),
        ("Yes.", "", False),
        ("", "", False),
        ("<|im_end|>", " ", False),
    ],
)
def test_a_reply_is_all_thoughts_if_no_answer_is_left_of_it(text: str, reasoning: str, alone: bool) -> None:
    assert is_all_thoughts(text, reasoning) == alone


@rows("limit, finish", [(5, "length"), (6, "stop")])  # a tag that never closes: no answer
async def test_thoughts_alone_were_cut_off_if_they_have_as_many_tokens_as_they_may(
    limit: int, finish: str, lab: ScriptedHost
) -> None:
    lab.on("alpha", body=stream("<think>No divisor."))
    provider = open_hosted("openai", base_url=lab.openai, api_key=KEY)
    done = await provider.complete(Call("alpha", (Message("user", "Is 7 prime?"),), limit))
    await provider.close()
    assert done.finish_reason == finish
