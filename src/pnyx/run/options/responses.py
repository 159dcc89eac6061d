"""Answers that exist before a run, for the protocols that accept them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from ...core.decision import Given
from ...errors import UsageError

__all__ = ["Response", "parse_responses", "read_responses"]

Response: TypeAlias = "Given | Mapping[str, Any] | str"
KEYS = ("answer", "reasoning", "source")
MOST_BYTES = 32 << 20


def parse_responses(responses: Iterable[Response]) -> tuple[Given, ...]:
    """Return the answers, each a `Given`, a mapping {"answer", "reasoning", "source"}, or a text.

    reasoning and source are optional. source: a model or a person, shown in the result, never to a seat.
    Raises `UsageError` with the number of an invalid response.
    """
    return tuple(_parse(f"response {n}", one) for n, one in enumerate(responses, 1))


def read_responses(path: Path) -> tuple[Given, ...]:
    """Return the answers in a file of JSON Lines or one JSON list. Raises `UsageError`."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UsageError(f"{path} is longer than {MOST_BYTES >> 20} MiB")
        text = path.read_text("utf-8-sig")
    except OSError as exc:
        raise UsageError(f"the responses cannot be read: {path}: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise UsageError(f"{path} is not UTF-8 (byte {exc.start})") from exc
    responses = tuple(_parse(place, one) for place, one in _items(path, text))
    if not responses:
        raise UsageError(f"{path} contains no response")
    return responses


def _items(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    if text.lstrip().startswith("["):
        for n, one in enumerate(_load_json(str(path), text), 1):
            yield f"{path}, response {n}", one
        return
    for n, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield f"{path}, line {n}", _load_json(f"{path}, line {n}", line)


def _load_json(place: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise UsageError(f"{place}: not JSON: {exc}") from exc


def _parse(place: str, one: object) -> Given:
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
    if not_text := [key for key, value in values.items() if not isinstance(value, str)]:
        raise UsageError(f"{place}: {not_text[0]} must be text")
    if not answer.strip():
        raise UsageError(f"{place}: the answer is empty")
    return Given(**values)
