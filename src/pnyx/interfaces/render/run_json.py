"""A run as a JSON document, written event by event: 10,000 events at once would take 200 MB of memory."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from ...core.events import Event, to_json
from ...providers.redaction import redact_json
from .markdown import Redact

__all__ = ["run_json"]

INDENT = 2
NESTED = frozenset((dict, list, tuple))


async def run_json(
    head: Mapping[str, Any], pages: AsyncIterator[Sequence[Event]], redact: Redact = str
) -> AsyncIterator[str]:
    """Yield the parts of `json.dumps({**head, "events": […]}, indent=2)`, and a line break.

    head: its members before the events. pages: the events. Secrets are masked.
    """
    start = _dumped({**redact_json(dict(head), redact), "events": []})
    yield start.removesuffix("[]\n}")
    between, margin = "[", 2 * INDENT
    async for page in pages:
        written = [_dumped(redact_json(to_json(event), redact), margin) for event in page]
        for event in written[:1]:
            yield f"{between}\n{' ' * margin}{event}"
            between = ","
        yield "".join(f",\n{' ' * margin}{event}" for event in written[1:])
    yield "[]\n}\n" if between == "[" else f"\n{' ' * INDENT}]\n}}\n"


def _dumped(document: Mapping[str, Any], margin: int = 0) -> str:
    """The indented JSON of an object with members. margin: columns before its lines."""
    before = "\n" + " " * (margin + INDENT)
    # Python's own indentation writes each character of a text by itself. No text in JSON has a line break.
    members = (
        f"{before}{json.dumps(name)}: "
        + (
            json.dumps(one, indent=INDENT).replace("\n", before)
            if one and type(one) in NESTED
            else json.dumps(one)
        )
        for name, one in document.items()
    )
    return "{" + ",".join(members) + "\n" + " " * margin + "}"
