"""The arguments of a tool call. Command lines, and some models, send all of them as texts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from ..requests.json_body import Body

__all__ = ["parse_arguments"]

B = TypeVar("B", bound=Body)
LIST = ("list_type", "tuple_type")


def parse_arguments(model: type[B], arguments: Mapping[str, Any]) -> B:
    """Return the arguments of a tool. Raises `UsageError`.

    A text in place of another type is read as JSON ("3", "true", '["lab:alpha"]'), and any other one in place
    of a list is its only entry. What has the right type stays as it is.
    """
    try:
        return model.model_validate(arguments)
    except ValidationError as exc:
        # Not the errors themselves: they hold the arguments, which may be long.
        wrong = [(error["loc"][0], error["type"]) for error in exc.errors(include_url=False) if error["loc"]]
    read = dict(arguments)
    for name, type in wrong:
        if isinstance(value := arguments.get(str(name)), str) and not type.startswith("string"):
            read[str(name)] = _read(value, type in LIST)
    try:
        return model.model_validate(read)
    except ValidationError:
        return model.parse(arguments)  # raises what is wrong with what was sent


def _read(text: str, in_list: bool) -> object:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = text
    return [text] if in_list and not isinstance(document, list) else document
