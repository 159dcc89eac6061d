"""The lines of a batch file: a question each, or the reason why a line is refused."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import IO, Any, NoReturn

from ....errors import UsageError
from ...requests.json_body import explain_json
from ...requests.schemas import RunBody

__all__ = ["Line", "count_lines", "read_lines"]

MOST_BYTES = 4 << 20
"""Longest line. The rest of a longer one is skipped, so that memory stays bounded."""
SKIPPED_BYTES = 64 << 10
"""Read at once of what is skipped. Larger pieces are slower: the system provides new memory for each."""
LONGEST_ID = 200


@dataclass(frozen=True, slots=True)
class Line:
    """number: counted from 1. id: from the line, else its number. body: None if there is a problem.

    mark: unique in the file: the id, else the content, with a counter for repeated lines.
    """

    number: int
    id: str
    mark: str
    body: RunBody | None = None
    problem: str | None = None


def read_lines(file: IO[bytes]) -> Iterator[Line]:
    """Parse lines of JSON: each a question as a string, or an object like `RunBody` with an optional `id`.

    Empty lines are skipped. An invalid line does not affect the others.
    """
    ids, seen = dict[str, int](), Counter[str]()
    for number, raw in _raw(file):
        yield _line(raw, number, ids, seen)


def count_lines(file: IO[bytes]) -> int:
    """Count the lines that `read_lines` returns, and rewind the file."""
    count = sum(1 for _ in _raw(file))
    file.seek(0)
    return count


def _raw(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Each line that is not empty, with its number, counted from 1; at most `MOST_BYTES` + 1 bytes of it."""
    number = 0
    while raw := file.readline(MOST_BYTES + 1):
        number += 1
        whole = raw.endswith(b"\n") or len(raw) <= MOST_BYTES
        while not whole:
            rest = file.readline(SKIPPED_BYTES)
            whole = not rest or rest.endswith(b"\n")
        if raw.strip():
            yield number, raw


def _line(raw: bytes, number: int, ids: dict[str, int], seen: Counter[str]) -> Line:
    """ids: id -> number of the line that has it. seen: how often each mark has occurred."""
    id, mark = str(number), ""
    try:
        document = _parse(raw, number)
        if isinstance(document, str):
            document = {"question": document}
        if isinstance(document, dict) and "id" in document:
            id = _parse_id(document.pop("id"))
            mark = f"id {id}"
        else:
            # The content, so that inserting a line above does not change it.
            mark = sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
        seen[mark] += 1
        if (other := ids.setdefault(id, number)) != number:
            raise UsageError(f"the id {id!r} is already used by line {other}; use a different one")
        return Line(number, id, f"{mark} {seen[mark]}", RunBody.parse(document))
    except UsageError as exc:
        return Line(number, id, mark, problem=str(exc))


def _parse(raw: bytes, number: int) -> Any:
    if len(raw) > MOST_BYTES:
        raise UsageError(f"the line is longer than {MOST_BYTES >> 20} MiB")
    try:
        text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as exc:
        if isinstance(exc, json.JSONDecodeError) and raw.strip()[:1] not in b'{["':
            raise UsageError(
                'the line is not JSON; write the question in quotes, or as {"question": "…"}'
            ) from None
        raise UsageError(f"the line is {explain_json(exc)}") from None


def _refuse(name: str) -> NoReturn:
    raise UsageError(f"the line is not JSON: {name} is not a JSON number")


def _parse_id(id: object) -> str:
    if isinstance(id, bool) or not isinstance(id, str | int) or not 0 < len(str(id)) <= LONGEST_ID:
        raise UsageError(f"id must be text of at most {LONGEST_ID} characters, or a whole number")
    if any("\ud800" <= c <= "\udfff" for c in str(id)):
        raise UsageError("id must be text without unpaired surrogates")
    return str(id)
