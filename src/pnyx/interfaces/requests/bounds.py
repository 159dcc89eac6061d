"""How long names, texts and lists of a request may be, for every API.

A body may have megabytes, since texts and images are long. A name of megabytes would be stored with the run,
shown in every list and repeated in errors, so each field has a bound of its own, and each list one beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, Field

from ...run.options.request import NAME, TEXT

__all__ = ["DATA", "NAME", "TEXT", "Document", "Name", "Part", "Text"]

DATA = 256 << 20
"""Most characters of a file, if the body may have as many."""
PROPERTIES = 200
"""Most fields of an object whose fields are not declared."""
VALUES = 100_000
"""Most values in it, at any depth."""


def _bounded(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an object of an API. Raises `ValueError` if what it holds is too long."""
    characters = values = 0
    stack: list[Any] = [document]
    while stack:
        value = stack.pop()
        values += 1
        if isinstance(value, Mapping):
            if any(len(name) > NAME for name in value):
                raise ValueError(f"an object whose keys have at most {NAME} characters")
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
        elif isinstance(value, str):
            characters += len(value)
        if values > VALUES or characters > TEXT:
            raise ValueError(f"an object of at most {VALUES} values and {TEXT} characters")
    return document


Name: TypeAlias = Annotated[str, Field(max_length=NAME)]
"""A name, an id or a choice."""
Text: TypeAlias = Annotated[str, Field(max_length=TEXT)]
"""A text for seats."""
Document: TypeAlias = Annotated[dict[str, Any], Field(max_length=PROPERTIES), AfterValidator(_bounded)]
"""An object of an API that is read field by field, such as a tool or a format."""
Part: TypeAlias = Annotated[dict[str, Any], Field(max_length=PROPERTIES)]
"""A part of a message, which may hold an image."""
