"""What docs/library.md and docs/events.md show works: examples run, events have the fields that are told."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pnyx
from pnyx.core.events import Event, RunStarted
from pnyx.errors import ProviderError
from tests.support.examples import blocks, linked, mistyped, printed

DOCS = Path(__file__).parents[1] / "docs"
README = DOCS.parent / "README.md"
LIBRARY, EVENTS = (DOCS / f"{name}.md" for name in ("library", "events"))
COMMON = {"type", "run_id", "seq", "time", "round", "phase", "seat", "key"}


def test_the_examples_run_and_print_what_they_ask_for(tmp_path: Path) -> None:
    streamed, many, host = (printed(example, tmp_path) for example in blocks(LIBRARY, "python"))
    assert {line for line in streamed if "vote" in line} == {f"Participant {seat} vote 10" for seat in "ABC"}
    assert streamed[-1] == "consensus no"
    assert many == ["Is 437 prime? no", "Is 439 prime? yes", "Is 443 prime? yes"]
    assert host == ["4 2 120"]


def test_the_examples_satisfy_a_strict_type_checker(tmp_path: Path) -> None:
    assert mistyped([*blocks(README, "python"), *blocks(LIBRARY, "python"), NARROWED], tmp_path) == ""


NARROWED = """
from contextlib import aclosing

import pnyx


async def heard() -> str | None:
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


def test_every_name_it_tells_of_is_there() -> None:
    told = set(re.findall(r"pnyx\.([A-Za-z_]+)", LIBRARY.read_text("utf-8"))) - {"protocols", "testing"}
    assert {"ask", "stream", "resume", "feedback", "open_runner", "ToolCall"} <= told
    assert {name for name in told if not hasattr(pnyx, name)} == set()


def test_every_kind_of_error_that_a_host_may_tell_stands_there() -> None:
    page = LIBRARY.read_text("utf-8").partition("| `ProviderError(kind, …)` |")[2].partition("\n\n")[0]
    rows = [line for line in page.splitlines() if re.match(r"\| `[a-z_]+`", line)]
    again = {kind: row.split("|")[2].strip() != "no" for row in rows for kind in kinds(row.split("|")[1])}
    # "overtaken" is what the runner says of a second request; what is too long is sent again, shorter.
    known = {kind: retried for kind, retried in ProviderError.KINDS.items() if kind != "overtaken"}
    assert again == known | {"too_long": True}


def kinds(cell: str) -> list[str]:
    return re.findall(r"`([a-z0-9_]+)`", cell)


def test_every_event_is_told_with_its_fields_and_no_others() -> None:
    told = {}
    for line in EVENTS.read_text("utf-8").splitlines():
        if row := re.match(r"\| `([a-z_]+)` \|[^|]*\|(.*)\|$", line):
            told[row[1]] = set(kinds(re.sub(r"\([^()]*\)", "", re.sub(r"\]\([^()]*\)", "]", row[2]))))
    known = [one for one in get_args(Event) if one is not pnyx.UnknownEvent]
    assert told == {one.type: {f.name for f in fields(one)} - COMMON for one in known}


def test_what_all_events_have_is_told() -> None:
    common = EVENTS.read_text("utf-8").split("| event |")[0]
    assert set(re.findall(r"`([a-z_]+)`", common)) >= COMMON
    assert {f.name for f in fields(RunStarted)} >= COMMON - {"type"}


def test_every_page_they_link_to_is_there() -> None:
    for page in (LIBRARY, EVENTS):
        assert [target for target in linked(page) if not target.exists()] == []
