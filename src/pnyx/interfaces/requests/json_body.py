"""JSON objects from outside: validation and error messages."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from ...config.load import NEEDS
from ...core.models import MOST
from ...errors import UsageError
from ...similar import nearest

__all__ = ["Amount", "Body", "explain", "explain_json", "param_of", "whole"]


def _whole(value: object) -> object:
    """Return 3 for 3.0: JSON has one kind of number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def whole(low: int | None, high: int | None) -> Any:
    """The type of a whole number within bounds, which may be written as 3.0."""
    # The bounds stand before the validator: behind it, a JSON schema would have them by Python's names.
    return Annotated[int, Field(ge=low, le=high), BeforeValidator(_whole)]


MOST_UNKNOWN = 8
"""Unknown keys of an object that are looked at; the first one is named in the error."""
Amount = Annotated[float, Field(gt=0, le=MOST)]


class Body(BaseModel):
    """A JSON object from outside: only the declared fields, each of its exact JSON type."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    @model_validator(mode="before")
    @classmethod
    def _keep_few_unknown(cls, document: Any) -> Any:
        """Without all but the first unknown keys: Pydantic keeps an error for each, a kilobyte."""
        known = cls.model_fields
        if not isinstance(document, dict) or cls.model_config.get("extra") != "forbid":
            return document
        if len(document) <= len(known) + MOST_UNKNOWN:
            return document
        left_out = set([name for name in document if name not in known][MOST_UNKNOWN:])
        return {name: value for name, value in document.items() if name not in left_out}

    @classmethod
    def parse(cls, document: object) -> Self:
        """Validate `document`. Raises `UsageError` with the first error."""
        try:
            return cls.model_validate(document)
        except ValidationError as exc:
            raise UsageError(explain(exc.errors(include_url=False), cls.model_fields)) from None


_JSON = dict.fromkeys(("model_type", "dict_type", "mapping_type"), "an object") | {
    "string_unicode": "text without unpaired surrogates",
    "string_pattern_mismatch": "of the form {pattern}",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number with fewer digits",
    "bool_parsing": "true or false",
    "float_parsing": "a number",
    "list_type": "a list",
}
"""Error type -> what the value must be, where JSON has another name for it than settings."""

_TYPES = frozenset(("str", "int", "float", "bool", "dict", "list", "none"))

_LENGTHS = {"too_short": "at least", "too_long": "at most", "string_too_long": "at most"}
"""Type of a length error -> the bound it names."""


def explain(errors: Sequence[Any], fields: Iterable[str] = ()) -> str:
    """Return a message for Pydantic's first error. fields: known names, to suggest the nearest one."""
    if fields and errors[0]["type"] == "missing":
        # What is missing may be there under a mistyped name.
        errors = [error for error in errors if error["type"] == "extra_forbidden"] or errors
    place = _place(errors[0])
    # A union reports one error per type. For a number that is not finite, that error is the useful one.
    same = [error for error in errors if _place(error) == place]
    error = next((error for error in same if error["type"] == "finite_number"), same[0])
    where = ".".join(place)
    if error["type"] == "json_invalid":
        return f"the body is not JSON: {error['ctx']['error']}"
    if not place:
        return f'a request must be an object such as {{"question": "…"}}, not {_kind(error["input"])}'
    if error["type"] == "extra_forbidden":
        return f"unknown key {where!r}{nearest(where, fields)}"
    if error["type"] == "missing":
        return f"{where} is missing"
    if place[-1] == "panel" and isinstance(error["input"], list):
        return f"{where} is the name of a saved panel; a list of models is 'models'"
    if error["type"] == "value_error":  # of a check of ours, which says what must be
        return f"{where} {error['ctx']['error']}"
    if error["type"] in _LENGTHS:
        return f"{where} must have {_length(error)}"
    need = (NEEDS | _JSON).get(error["type"])
    if need is None:
        return f"{where} is not valid: {error['msg'][:1].lower()}{error['msg'][1:]}"
    return f"{where} must be {need.format_map(error.get('ctx', {}))}, not {_kind(error['input'])}"


def explain_json(exc: Exception) -> str:
    """Return why `json.loads` could not parse a text."""
    match exc:
        case UnicodeDecodeError():
            return f"not UTF-8 (byte {exc.start})"
        case json.JSONDecodeError():
            return f"not JSON: {exc}"
        case RecursionError():
            return "not JSON that pnyx can read: it is nested too deeply"
        case _:
            most = sys.get_int_max_str_digits()
            return f"not JSON that pnyx can read: a number has more than {most:,} digits"


def param_of(error: Any) -> str:
    """The place of an error as APIs name it, such as `messages[0].role`; empty for the whole body."""
    name, *rest = _place(error) or [""]
    return name + "".join(f"[{part}]" if part.isdecimal() else f".{part}" for part in rest)


def _place(error: Any) -> list[str]:
    """Return the first two parts of an error's path, three in a list of objects; others name a type."""
    parts = [str(part)[:40] for part in error["loc"] if part not in ("body", "query", "header", "path")]
    names = list(takewhile(lambda part: not _is_type(part), parts))
    in_list = len(names) > 2 and names[1].isdecimal()
    return names[: 3 if in_list else 2]


def _is_type(part: str) -> bool:
    """Whether a part of a path is what Pydantic calls one type of a union."""
    return part in _TYPES or part.startswith(("constrained-", "function-", "list[", "dict[", "nullable["))


def _length(error: Any) -> str:
    bounds, text = error["ctx"], isinstance(error["input"], str)
    bound = bounds["min_length"] if error["type"] == "too_short" else bounds["max_length"]
    what = "characters" if text else "entry" if bound == 1 else "entries"
    # Validation of a list may stop before its end, with its length unknown.
    length = len(error["input"]) if text else bounds.get("actual_length")
    return f"{_LENGTHS[error['type']]} {bound} {what}" + ("" if length is None else f", not {length}")


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool() | int() | float():
            return str(value).lower()[:40]
        case str():
            return repr(value[:40])
        case Mapping():
            return "an object"
        case _:
            return "a list"
