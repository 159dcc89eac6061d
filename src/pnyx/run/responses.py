"""Answers that exist before a run, for the protocols that take such."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from ..core.decision import Given
from ..errors import UsageError

__all__ = ["Response", "given", "read"]

Response: TypeAlias = "Given | Mapping[str, Any] | str"
KEYS = ("answer", "reasoning", "source")
MOST_BYTES = 32 << 20


def given(responses: Iterable[Response]) -> tuple[Given, ...]:
    """The answers, each a `Given`, a mapping {"answer", "reasoning", "source"}, or the text of an answer.

    reasoning and source (a model or a person, shown in the result, never to a seat) may be left out.
    Raises `UsageError` with the number of the one that is something else.
    """
    return tuple(_given(f"response {n}", one) for n, one in enumerate(responses, 1))


def read(path: Path) -> tuple[Given, ...]:
    """The answers in a file: JSON Lines, one object a line, or one JSON list. Raises `UsageError`."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UsageError(f"{path} is longer than {MOST_BYTES >> 20} MiB")
        text = path.read_text("utf-8-sig")
    except OSError as exc:
        raise UsageError(f"the responses cannot be read: {path}: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise UsageError(f"{path} is not UTF-8 (byte {exc.start})") from exc
    found = tuple(_given(place, one) for place, one in _items(path, text))
    if not found:
        raise UsageError(f"{path} holds no response")
    return found


def _items(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    if text.lstrip().startswith("["):
        for n, one in enumerate(_parsed(str(path), text), 1):
            yield f"{path}, response {n}", one
        return
    for n, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield f"{path}, line {n}", _parsed(f"{path}, line {n}", line)


def _parsed(place: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise UsageError(f"{place}: not JSON: {exc}") from exc


def _given(place: str, one: object) -> Given:
    if isinstance(one, Given):
        return one
    if isinstance(one, str):
        one = {"answer": one}
    if not isinstance(one, Mapping):
        raise UsageError(f'{place}: a response is {{"answer": …, "reasoning": …}}, not {type(one).__name__}')
    if spare := [str(key) for key in one if key not in KEYS]:
        raise UsageError(f"{place}: unknown key {spare[0][:80]!r}; a response has: {', '.join(KEYS)}")
    values = {key: value for key, value in one.items() if value is not None}
    answer = values.get("answer", "")
    if isinstance(answer, int | float):
        values["answer"] = answer = json.dumps(answer)
    if wrong := [key for key, value in values.items() if not isinstance(value, str)]:
        raise UsageError(f"{place}: {wrong[0]} must be text")
    if not answer.strip():
        raise UsageError(f"{place}: there is no answer")
    return Given(**values)
