"""Shapes that HTTP, MCP and batch lines share: requests, results of runs, protocols."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, replace
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, Field, create_model

from ..run.request import OPTIONS, Kind, RequestOption, RunRequest
from .json_body import Amount, Body, Whole

__all__ = ["Listed", "ProtocolBody", "Recalled", "ResultBody", "ResumeOptions", "RunBody", "with_options"]

B = TypeVar("B", bound="RunBody")
MOST = 100
"""Entries of a list or an object: a panel holds no more, and answers are compared with each other."""
LONGEST = 1 << 20
"""Characters of material beside the question."""
DEFAULTS = {f.name: f.default for f in fields(RunRequest)}
Scalar = str | int | float | bool | None
_EMPTY: Mapping[Kind, Callable[[], Any]] = {
    Kind.TEXTS: tuple,
    Kind.TEXT_BY_NAME: dict,
    Kind.VALUE_BY_NAME: dict,
    Kind.RESPONSES: tuple,
}


def with_options(has: Callable[[RequestOption], bool]) -> Callable[[type[B]], type[B]]:
    """Give a model a field for each option of `RunRequest` that the interface has."""

    def build(model: type[B]) -> type[B]:
        options = {name: option for name, option in OPTIONS.items() if has(option)}
        added: dict[str, Any] = {name: _field(name, option) for name, option in options.items()}
        return create_model(
            model.__name__, __base__=model, __module__=model.__module__, __doc__=model.__doc__, **added
        )

    return build


def _field(name: str, option: RequestOption) -> tuple[Any, Any]:
    """The type of an option in JSON, strict, and its default and description."""
    kind: Any
    match option.kind:
        case Kind.TEXT if option.choices:
            kind = Literal[*option.choices] | None
        case Kind.TEXT:
            kind = Annotated[str, Field(min_length=1)] if DEFAULTS[name] is MISSING else str | None
        case Kind.TEXTS:
            kind = Annotated[tuple[str, ...], Field(strict=False, max_length=MOST, fail_fast=True)]
        case Kind.WHOLE:
            kind = Annotated[Whole, Field(ge=option.low, le=option.high)] | None
        case Kind.AMOUNT:
            kind = Amount | None
        case Kind.FLAG:
            kind = bool
        case Kind.SWITCH:
            kind = bool | None
        case Kind.TEXT_BY_NAME:
            kind = Annotated[Mapping[str, str], Field(max_length=MOST)]
        case Kind.VALUE_BY_NAME:
            kind = Annotated[Mapping[str, Scalar | list[Scalar]], Field(max_length=MOST)]
        case Kind.RESPONSES:
            one = str | Mapping[str, Scalar]
            kind = Annotated[tuple[one, ...], Field(strict=False, max_length=MOST, fail_fast=True)]
        case Kind.MATERIAL:
            return Annotated[str, Field(max_length=LONGEST)] | None, Field(None, description=option.help)
    if option.kind in _EMPTY:
        return kind, Field(default_factory=_EMPTY[option.kind], description=option.help)
    if DEFAULTS[name] is MISSING:
        return kind, Field(description=option.help)
    return kind, Field(DEFAULTS[name], description=option.help)


@with_options(lambda option: option.http)
class RunBody(Body):
    """A question, and how it is decided; what is left out comes from the settings."""

    def to_request(self, base: RunRequest | None = None) -> RunRequest:
        """The request. base: what holds where this says nothing; protocol options are merged by name."""
        values = {
            name: value
            for name in self.model_fields_set & OPTIONS.keys()
            if (value := getattr(self, name)) is not None
        }
        if not values.get("models", True):
            del values["models"]
        if base is None:
            return RunRequest(**values)
        own = RunRequest(**values).protocol_options
        return replace(base, **{**values, "options": {**base.protocol_options, **own}, "rounds": None})


class ResumeOptions(Body):
    """How to resume a run."""

    budget_usd: Amount | None = None
    """The new cap of all of the run, in USD."""
    deadline_s: Amount | None = None
    """Seconds from now on until the run is paused; left out, as many as it had before, from now on."""
    fork: bool = False
    """A new run, which keeps every reply whose question is still the same."""


class SeatBody(BaseModel):
    """Who sat where. role: the part that it was given, null for none; "" in runs of older versions."""

    seat: str
    model: str
    role: str | None


class ResultBody(BaseModel):
    """A run. status: waiting, running, paused, cancelled, failed, or how it was decided. Absent is null."""

    run_id: str
    status: str
    protocol: str
    question: str
    answer: str | None
    final_answer: str | None
    confidence: float | None
    confidence_rule: str | None
    rigor: float | None
    agreement: float | None
    consensus_reached: bool | None
    dissent: list[dict[str, Any]]
    rounds: int
    converged: bool | None
    stop_reason: str | None
    seats: list[SeatBody]
    dropped: list[dict[str, Any]]
    degraded: bool
    usage: dict[str, Any]
    elapsed_s: float
    detail: dict[str, Any]


class ProtocolBody(BaseModel):
    """A way to an answer. quorum: the seats it needs. options: each with its default, bounds and help.

    phases: its transitions, in order, which begin at "idle". calls_with_three_seats: the least and the most,
    null where nobody can know.
    """

    name: str
    summary: str
    quorum: int
    takes_responses: bool
    options: dict[str, dict[str, Any]]
    presets: dict[str, dict[str, Any]]
    phases: list[dict[str, str]]
    calls_with_three_seats: dict[str, int] | None


class Listed(ResultBody):
    """A run among others. created_at: when it was begun, in UTC."""

    created_at: str


class Recalled(Listed):
    """A run that was looked for. snippet: where its texts have what was, on one line.

    all_words: whether it has all the words; where no run has, those with some are told.
    """

    snippet: str
    all_words: bool
