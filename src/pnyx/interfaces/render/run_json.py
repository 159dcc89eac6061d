"""A run as a JSON document, written event by event: 10,000 events at once would take 200 MB of memory."""

from __future__ import annotations

import json
from asyncio import to_thread
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import cache
from typing import Any

from ...core.events import Event, to_json
from ...providers.redaction import redact_json
from .markdown import Redact

__all__ = ["run_json"]

INDENT = 2
NESTED = frozenset((dict, list, tuple))


async def run_json(
    head: Mapping[str, Any], pages: AsyncIterator[Sequence[Event]], redact: Redact | None = None
) -> AsyncIterator[str]:
    """Yield the parts of `json.dumps({**head, "events": […]}, indent=2)`, and a line break.

    head: its members before the events. pages: the events. redact: masks secrets.
    """

    def masked(document: dict[str, Any]) -> Any:
        return document if redact is None else redact_json(document, redact)

    def write(page: Sequence[Event]) -> list[str]:
        return [_dumped(masked(to_json(event)), margin) for event in page]

    start = _dumped({**masked(dict(head)), "events": []})
    yield start.removesuffix("[]\n}")
    between, margin = "[", 2 * INDENT
    async for page in pages:
        # On a thread: a server answers others while a page of 4 MB is written.
        written = await to_thread(write, page)
        for event in written[:1]:
            yield f"{between}\n{' ' * margin}{event}"
            between = ","
        yield "".join(f",\n{' ' * margin}{event}" for event in written[1:])
    yield "[]\n}\n" if between == "[" else f"\n{' ' * INDENT}]\n}}\n"


def _dumped(document: Mapping[str, Any], margin: int = 0) -> str:
    """The indented JSON of an object with members. margin: columns before its lines."""
    # Python's own indentation writes each character of a text by itself. No text in JSON has a line break.
    before, encode = "\n" + " " * (margin + INDENT), _encoder(margin + INDENT)
    members, simple = [], dict[str, Any]()
    for name, one in document.items():
        if one and type(one) in NESTED:
            members += [encode(simple)[1:-1]] if simple else []
            simple = {}
            members.append(f"{json.dumps(name)}: " + json.dumps(one, indent=INDENT).replace("\n", before))
        else:
            simple[name] = one
    members += [encode(simple)[1:-1]] if simple else []
    return "{" + before + f",{before}".join(members) + "\n" + " " * margin + "}"


@cache
def _encoder(margin: int) -> Callable[[Any], str]:
    """What writes the JSON of an object whose members have no members, each on a line after `margin`."""
    return json.JSONEncoder(separators=(",\n" + " " * margin, ": ")).encode
