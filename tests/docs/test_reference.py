"""docs/reference/ is that of the code, and complete."""

from __future__ import annotations

import re
from typing import get_args

import pnyx
from pnyx.core.events import Event
from tests.docs.reference import FOLDER, openapi, pages


async def test_the_pages_are_those_of_the_code() -> None:
    document = await openapi()
    expected = pages(document)
    written = {path.name: path.read_text("utf-8") for path in FOLDER.iterdir()}
    assert written == expected, "run: python -m tests.docs.reference"
    routes = [(method, path) for path, methods in document["paths"].items() for method in methods]
    assert expected["http.md"].count("\nReply: ") == len(routes)
    anchors = {name.lower() for name in re.findall(r"^### (\w+)$", expected["http.md"], re.MULTILINE)}
    assert set(re.findall(r"\]\(#(\w+)\)", expected["http.md"])) - {"shapes"} <= anchors


def test_every_public_name_and_event_is_there() -> None:
    library = (FOLDER / "library.md").read_text("utf-8")
    events = {one.__name__ for one in get_args(Event)}
    values = {"START", "Event"}
    described = set(re.findall(r"^### (\w+)$", library, re.MULTILINE))
    assert described == set(pnyx.__all__) - events - values
    page = (FOLDER / "events.md").read_text("utf-8")
    assert set(re.findall(r"^`pnyx\.(\w+)`$", page, re.MULTILINE)) == events
