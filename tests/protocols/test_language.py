"""Every prompt whose reply an asker may read says in which language to write it, in all protocols."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pnyx
from pnyx.interfaces.process.open_settings import open_settings
from pnyx.protocols import names

CONFIGURED = """
[providers.m]
kind = "openai"
base_url = "http://127.0.0.1:9/v1"
[models."m:small"]
short_prompts = true
"""
SEATS = ["m:a", "m:b", "m:small"]
SCHEMA = {"type": "object", "properties": {"sum": {"type": "string"}}, "required": ["sum"]}
CLASSIFIER = "question_class"
"""Its reply is one set word."""
QUESTION = "Was ist 2 + 2?"


def readable(number: int) -> str:
    return f"Verdict: A\nChosen: A\nFinal answer: {number % 3}"


def mostly_unreadable(number: int) -> str:
    return f"nothing in any form, {number}" if number % 2 else readable(number)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pnyx.Settings:
    (tmp_path / "named.toml").write_text(CONFIGURED)
    monkeypatch.setenv("PNYX_CONFIG", str(tmp_path / "named.toml"))
    return open_settings()


async def prompts(settings: pnyx.Settings, rule: Callable[[int], str], **request: Any) -> list[str]:
    """All that models were asked in a run, which may end without an answer."""
    asked: list[str] = []

    def reply(call: pnyx.Call) -> str:
        if call.schema is None or call.schema.name != CLASSIFIER:
            asked.append("\n".join(message.text for message in call.messages))
        return rule(len(asked))

    host = pnyx.FakeProvider(reply)
    # It may be that no seat fills the schema.
    with contextlib.suppress(pnyx.PnyxError):
        await pnyx.ask(QUESTION, panel=SEATS, settings=settings, providers={"m": host}, **request)
    return asked


@pytest.mark.parametrize("protocol", sorted(names()))
async def test_each_prompt_says_in_which_language_to_write(settings: pnyx.Settings, protocol: str) -> None:
    tried: list[tuple[str | None, str, Callable[[int], str]]] = [
        (None, "language of the question", mostly_unreadable),
        ("de", ": de.", readable),
    ]
    for language, words, rule in tried:
        asked = await prompts(settings, rule, protocol=protocol, language=language, answer_schema=SCHEMA)
        assert asked
        assert [prompt[-200:] for prompt in asked if words not in prompt] == []
        assert language is None or not [one for one in asked if "language of the question" in one]
