"""docs/library.md and docs/events.md are correct: examples run, and events have the documented fields."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

import pnyx
from pnyx.core.events import Event, RunStarted
from pnyx.errors import ProviderError
from tests.support.examples import blocks, links, run_example, type_errors

DOCS = Path(__file__).parents[1] / "docs"
README = DOCS.parent / "README.md"
LIBRARY, EVENTS = (DOCS / f"{name}.md" for name in ("library", "events"))
COMMON = {"type", "run_id", "seq", "time", "round", "phase", "seat", "key"}


PRINTED = (
    ["consensus no"],
    ["408"],
    ["Is 437 prime? no", "Is 439 prime? yes", "Is 443 prime? yes"],
    ["4 2 120 7.2e-05"],
)
"""The last lines that each example prints."""


@pytest.mark.parametrize("number", range(len(PRINTED)))
def test_an_example_runs_and_prints_the_expected_lines(number: int, tmp_path: Path) -> None:
    examples = blocks(LIBRARY, "python")
    assert len(examples) == len(PRINTED)
    printed = run_example(examples[number], tmp_path)
    if number == 0:
        votes, printed = {line for line in printed if "vote" in line}, printed[-1:]
        assert votes == {f"Participant {seat} vote 10" for seat in "ABC"}
    assert printed == PRINTED[number]


def test_the_examples_of_all_pages_satisfy_a_strict_type_checker(tmp_path: Path) -> None:
    pages = (README, LIBRARY, DOCS / "confidence.md")
    assert (
        type_errors([*(text for page in pages for text in blocks(page, "python")), NARROWED], tmp_path) == ""
    )


NARROWED = """
from contextlib import aclosing

import pnyx


async def last_answer() -> str | None:
    async with aclosing(pnyx.stream("Why?")) as events:
        async for event in events:
            match event:
                case pnyx.Token(text=text):
                    print(text)
                case pnyx.RunFinished(result=result):
                    return str(result["answer"])
            if event.type == "call_started":
                print(event.prompt_id)
    return None
"""


def test_every_event_is_a_public_name() -> None:
    assert {one.__name__ for one in get_args(Event)} <= set(pnyx.__all__)


def test_every_name_in_the_page_exists() -> None:
    names = set(re.findall(r"pnyx\.([A-Za-z_]+)", LIBRARY.read_text("utf-8"))) - {"protocols", "testing"}
    assert {"ask", "stream", "resume", "feedback", "open_runner", "ToolCall"} <= names
    assert {name for name in names if not hasattr(pnyx, name)} == set()


def test_every_kind_of_provider_error_is_documented() -> None:
    page = LIBRARY.read_text("utf-8").partition("| `ProviderError(kind, …)` |")[2].partition("\n\n")[0]
    rows = [line for line in page.splitlines() if re.match(r"\| `[a-z_]+`", line)]
    again = {kind: row.split("|")[2].strip() != "no" for row in rows for kind in kinds(row.split("|")[1])}
    # Only the runner raises "overtaken", for a hedged request; "too_long" is retried with a shorter prompt.
    known = {kind: retried for kind, retried in ProviderError.KINDS.items() if kind != "overtaken"}
    assert again == known | {"too_long": True}


def kinds(cell: str) -> list[str]:
    return re.findall(r"`([a-z0-9_]+)`", cell)


def test_every_event_is_documented_with_exactly_its_fields() -> None:
    names = {}
    for line in EVENTS.read_text("utf-8").splitlines():
        if row := re.match(r"\| `([a-z_]+)` \|[^|]*\|(.*)\|$", line):
            names[row[1]] = set(kinds(re.sub(r"\([^()]*\)", "", re.sub(r"\]\([^()]*\)", "]", row[2]))))
    known = [one for one in get_args(Event) if one is not pnyx.UnknownEvent]
    assert names == {one.type: {f.name for f in fields(one)} - COMMON for one in known}


def test_the_common_fields_are_documented() -> None:
    common = EVENTS.read_text("utf-8").split("| event |")[0]
    assert set(re.findall(r"`([a-z_]+)`", common)) >= COMMON
    assert {f.name for f in fields(RunStarted)} >= COMMON - {"type"}


def test_every_linked_page_exists() -> None:
    for page in (LIBRARY, EVENTS):
        assert [target for target in links(page) if not target.exists()] == []
