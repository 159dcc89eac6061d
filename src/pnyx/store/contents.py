"""Contents of files: each is stored once, under its SHA-256, whatever number of runs and prompts has it.

A stored event has a prompt without the contents in it; they are put back when it is read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, select
from sqlalchemy.dialects import postgresql, sqlite

from ..errors import Unreadable
from .schema import contents

__all__ = ["add_contents", "read_contents", "with_contents", "without_contents"]

PLACES = "prompt_contents"
"""The field of a stored event with [place, hash] of each content that was taken out of its prompt."""
LEAST = 200
"""Characters from which a content is taken out: the note of its place takes about a hundred."""


def add_contents(connection: Connection, found: Mapping[str, str]) -> None:
    """Store contents that are not stored yet. found: SHA-256 in hex -> text, or an image in Base64."""
    if not found:
        return
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    statement = dialect.insert(contents).on_conflict_do_nothing()
    connection.execute(statement, [{"sha256": name, "content": found[name]} for name in sorted(found)])


def read_contents(connection: Connection, wanted: Collection[str]) -> dict[str, str]:
    """Return the stored ones of the contents with these hashes."""
    if not wanted:
        return {}
    query = select(contents.c.sha256, contents.c.content).where(contents.c.sha256.in_(set(wanted)))
    return {row.sha256: row.content for row in connection.execute(query)}


def without_contents(document: dict[str, Any], found: Mapping[str, str]) -> dict[str, Any]:
    """The JSON of an event, with the contents in its prompt replaced by their places."""
    prompt = document.get("prompt")
    if not found or not isinstance(prompt, str):
        return document
    places = []
    for name, text in found.items():
        at = prompt.find(text) if len(text) >= LEAST else -1
        if at >= 0:
            places.append((at, name))
    # Contents may overlap if one holds the other; then the one that begins first is taken out.
    rest, kept, done = [], [], 0
    for at, name in sorted(places):
        if at >= done:
            rest.append(prompt[done:at])
            kept.append([at, name])
            done = at + len(found[name])
    return document | {"prompt": "".join(rest) + prompt[done:], PLACES: kept} if kept else document


def with_contents(connection: Connection, run_id: str, documents: Sequence[dict[str, Any]]) -> None:
    """Put the contents back into the prompts of stored events, in place. Raises `Unreadable`."""
    cut = [document for document in documents if PLACES in document]
    found = read_contents(connection, {name for document in cut for _, name in document[PLACES]})
    for document in cut:
        document["prompt"] = _whole(document["prompt"], document.pop(PLACES), found, run_id)


def _whole(rest: str, places: Iterable[tuple[int, str]], found: Mapping[str, str], run_id: str) -> str:
    out, length, done = [], 0, 0
    for at, name in places:
        if name not in found:
            raise Unreadable(f"run {run_id}: the content of a file is gone; restore it from a backup")
        before = rest[done : done + at - length]
        done += len(before)
        out += [before, found[name]]
        length = at + len(found[name])
    return "".join(out) + rest[done:]
