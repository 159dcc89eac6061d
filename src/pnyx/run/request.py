"""What a program asks, as data: a line of a batch, the body of a request to the server."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ..config.load import NEEDS
from ..config.schema import Settings, nearest
from ..core import models
from ..errors import UsageError
from .resolve import build
from .spec import Spec

__all__ = ["Amount", "Asked", "Body", "explained", "unread"]

MOST = 100
"""Entries of a list or an object: a panel holds no more, and answers are compared with each other."""
Texts = Annotated[tuple[str, ...], Field(strict=False, max_length=MOST, fail_fast=True)]


def _whole(value: object) -> object:
    """JSON has one kind of number: 3.0 is 3."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, BeforeValidator(_whole)]
Amount = Annotated[float, Field(gt=0, le=models.MOST)]
Scalar = str | int | float | bool | None


class Body(BaseModel):
    """What somebody outside wrote: exactly the fields that there are, each of its own type of JSON."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    @classmethod
    def parse(cls, document: object) -> Self:
        """The request that `document` holds. Raises `UsageError` with its first fault."""
        try:
            return cls.model_validate(document)
        except ValidationError as exc:
            raise UsageError(explained(exc.errors(include_url=False), cls.model_fields)) from None


class Asked(Body):
    """One question, and how it is to be decided; what is absent comes from the settings.

    Hosts, keys and files are the settings' business: there is no field for them.
    """

    question: Annotated[str, Field(min_length=1)]
    """What the panel is to answer; it knows nothing else."""
    protocol: str | None = None
    """How the panel comes to an answer, such as "consensus" or "voting"."""
    models: Texts = ()
    """Who sits on the panel: "provider:model", or "provider:model*N" for N seats of one."""
    rounds: Annotated[Whole, Field(ge=1, le=1000)] | None = None
    """The protocol's option of that name: how many rounds at most."""
    options: Mapping[str, Scalar | list[Scalar]] = Field(default_factory=dict, max_length=MOST)
    """Other options of the protocol, by name."""
    preset: Literal["quick", "deep"] | None = None
    """Options that go together: fewer calls, or more scrutiny."""
    roles: Mapping[str, str] = Field(default_factory=dict, max_length=MOST)
    """Who a seat is to be: its label or number -> text."""
    cast: str | None = None
    """A role for every seat: "diverse" or "redteam"."""
    seed: Annotated[Whole, Field(ge=0, lt=2**32)] | None = None
    """Fixes labels and orders; told to hosts that take one."""
    budget_usd: Amount | None = None
    """The most that the run may cost, in USD."""
    deadline_s: Amount | None = None
    """Seconds until the run is paused, from its beginning and anew from each time that it is resumed."""
    tools: bool | None = None
    """Whether seats may search the web, read pages and files, and run Python."""
    ground: bool = False
    """Search the web first, and have every seat cite the same sources."""
    responses: Annotated[
        tuple[str | Mapping[str, Scalar], ...], Field(strict=False, max_length=MOST, fail_fast=True)
    ] = ()
    """Answers that exist already, where the protocol takes such: texts, or {answer, reasoning, source}."""

    def spec(self, settings: Settings, **more: Any) -> Spec:
        """The run, checked. more: as for `build`, where the request says nothing. Raises as `build` does."""
        given = {name: getattr(self, name) for name in self.model_fields_set & _PLAIN}
        told = {**more, **{name: value for name, value in given.items() if value is not None}}
        options = {**more.get("options", {}), **self.options}
        if self.rounds is not None:
            options["rounds"] = self.rounds
        told["options"] = options
        if self.models:
            told["panel"] = self.models
        spec = build(settings, self.question, **told)
        spec.check()
        return spec


_PLAIN = Asked.model_fields.keys() - {"question", "models", "rounds", "options"}
"""Fields that `build` knows by the same name."""

_JSON = dict.fromkeys(("model_type", "dict_type", "mapping_type"), "an object") | {
    "string_unicode": "text without half a character",
    "string_pattern_mismatch": "of the form {pattern}",
    "int_parsing": "a whole number",
    "bool_parsing": "true or false",
}
"""What a value must be, where it has another name than in settings."""

_LENGTHS = {"too_short": "at least", "too_long": "at most", "string_too_long": "at most"}
"""Kinds of error that are of a length -> which bound of it is passed."""


def explained(errors: Sequence[Any], fields: Iterable[str] = ()) -> str:
    """Pydantic's first error in our words. fields: those that there are, for a name that is nearly one."""
    place = _place(errors[0])
    # Where one of several types may stand, each says that it is not met; but a number is one, finite or not.
    same = [error for error in errors if _place(error) == place]
    error = next((error for error in same if error["type"] == "finite_number"), same[0])
    where = ".".join(place)
    if error["type"] == "json_invalid":
        return f"the body is not JSON: {error['ctx']['error']}"
    if not place:
        return f'a request is an object such as {{"question": "…"}}, not {_kind(error["input"])}'
    if error["type"] == "extra_forbidden":
        return f"unknown key {where!r}{nearest(where, fields)}"
    if error["type"] == "missing":
        return f"there is no {where}"
    if error["type"] in _LENGTHS:
        return f"{where} must have {_length(error)}"
    need = (NEEDS | _JSON).get(error["type"], error["msg"]).format_map(error.get("ctx", {}))
    return f"{where} must be {need}, not {_kind(error['input'])}"


def unread(exc: Exception) -> str:
    """Why `json.loads` could not read a text, in our words."""
    match exc:
        case UnicodeDecodeError():
            return f"not UTF-8 (byte {exc.start})"
        case json.JSONDecodeError():
            return f"not JSON: {exc}"
        case RecursionError():
            return "not JSON that can be read: it is nested too deep"
        case _:
            most = sys.get_int_max_str_digits()
            return f"not JSON that can be read: a number has more than {most:,} digits"


def _place(error: Any) -> list[str]:
    """Deeper parts name the type that a value was tried as; the first may be where it was found."""
    parts = [str(part)[:40] for part in error["loc"] if part not in ("body", "query", "header", "path")]
    return parts[:2]


def _length(error: Any) -> str:
    told, text = error["ctx"], isinstance(error["input"], str)
    bound = told["min_length"] if error["type"] == "too_short" else told["max_length"]
    what = "characters" if text else "entry" if bound == 1 else "entries"
    # Some are not counted to their end.
    length = len(error["input"]) if text else told.get("actual_length")
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
