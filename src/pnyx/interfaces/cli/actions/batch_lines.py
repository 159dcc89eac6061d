"""The lines of a batch: each a question of its own, or what is wrong with it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import IO, Any, NoReturn

from ....errors import UsageError
from ...json_body import explain_json
from ...schemas import RunBody

__all__ = ["Line", "count_lines", "read_lines"]

MOST_BYTES = 4 << 20
"""Of one line; the rest of a longer one is passed over, so that no line takes more memory than this."""
LONGEST_ID = 200


@dataclass(frozen=True, slots=True)
class Line:
    """number: from 1. id: the question's own, else its line's number. body: None where problem says why.

    mark: tells it from all others of its file, by its id, else by what it says and how often that was said.
    """

    number: int
    id: str
    mark: str
    body: RunBody | None = None
    problem: str | None = None


def read_lines(file: IO[bytes]) -> Iterator[Line]:
    """Lines of JSON, each an object as in `RunBody` and perhaps an `id`, or the text of a question.

    Empty lines are passed over. A bad line harms no other one.
    """
    ids, seen = dict[str, int](), Counter[str]()
    for number, raw in _raw(file):
        yield _line(raw, number, ids, seen)


def count_lines(file: IO[bytes]) -> int:
    """How many lines `read_lines` gives; the file is then at its beginning again."""
    count = sum(1 for _ in _raw(file))
    file.seek(0)
    return count


def _raw(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Every line that is not empty with its number, from 1; of a long one no more than one byte too many."""
    number = 0
    while raw := file.readline(MOST_BYTES + 1):
        number += 1
        whole = raw.endswith(b"\n") or len(raw) <= MOST_BYTES
        while not whole:
            rest = file.readline(MOST_BYTES)
            whole = not rest or rest.endswith(b"\n")
        if raw.strip():
            yield number, raw


def _line(raw: bytes, number: int, ids: dict[str, int], seen: Counter[str]) -> Line:
    """ids: to the line that has each so far. seen: how often each mark came before."""
    id, mark = str(number), ""
    try:
        document = _parsed(raw, number)
        if isinstance(document, str):
            document = {"question": document}
        if isinstance(document, dict) and "id" in document:
            id = _own_id(document.pop("id"))
            mark = f"id {id}"
        else:
            # What it says, so that another line above it makes it no other question.
            mark = sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
        seen[mark] += 1
        if (other := ids.setdefault(id, number)) != number:
            raise UsageError(f"the id {id!r} is that of line {other}; give this one another")
        return Line(number, id, f"{mark} {seen[mark]}", RunBody.parse(document))
    except UsageError as exc:
        return Line(number, id, mark, problem=str(exc))


def _parsed(raw: bytes, number: int) -> Any:
    if len(raw) > MOST_BYTES:
        raise UsageError(f"the line is longer than {MOST_BYTES >> 20} MiB")
    try:
        text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as exc:
        raise UsageError(f"the line is {explain_json(exc)}") from None


def _refuse(name: str) -> NoReturn:
    raise UsageError(f"the line is not JSON: {name} is no number of it")


def _own_id(given: object) -> str:
    if isinstance(given, bool) or not isinstance(given, str | int) or not 0 < len(str(given)) <= LONGEST_ID:
        raise UsageError(f"id must be text of at most {LONGEST_ID} characters, or a whole number")
    if any("\ud800" <= c <= "\udfff" for c in str(given)):
        raise UsageError("id must be text without half a character")
    return str(given)
