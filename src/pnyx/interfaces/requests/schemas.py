"""Schemas that HTTP, MCP and batch lines share: requests, results, protocols."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, replace
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, Field, create_model

from ...core.context.files import Source
from ...errors import UsageError
from ...run.options.client_tools import MOST as MOST_TOOLS
from ...run.options.request import OPTIONS, Kind, RequestOption, RunRequest
from .bounds import DATA, NAME, Document
from .json_body import Amount, Body, whole

__all__ = [
    "ListedRun",
    "ProtocolBody",
    "RecalledRun",
    "ResultBody",
    "ResumeOptions",
    "RunBody",
    "StoredRun",
    "with_options",
]

B = TypeVar("B", bound="RunBody")
MOST = 100
"""Most entries of a list or an object: a panel has no more seats, and answers are compared in pairs."""
MOST_FILES = 10_000
"""More files than settings usually allow, which say so better."""
LONGEST = 1 << 20
"""Most characters of the context."""
DEFAULTS = {f.name: f.default for f in fields(RunRequest)}
_EMPTY: Mapping[Kind, Callable[[], Any]] = {
    Kind.TEXTS: tuple,
    Kind.TEXT_BY_NAME: dict,
    Kind.VALUE_BY_NAME: dict,
    Kind.RESPONSES: tuple,
    Kind.FILES: tuple,
    Kind.TOOLS: tuple,
}


class FileBody(Body):
    """A file that the question is about: exactly one of content, data_base64, url and path."""

    name: Annotated[str, Field(min_length=1, max_length=300)] | None = None
    """What seats cite it by, such as notes.md."""
    content: Annotated[str, Field(max_length=DATA)] | None = None
    """Its text."""
    data_base64: Annotated[str, Field(max_length=DATA)] | None = None
    """Its bytes in Base64: text in any encoding, PDF, Word, Excel, PNG, JPEG, GIF or WebP."""
    url: Annotated[str, Field(min_length=1, max_length=8000)] | None = None
    """The address of a page, document or image of the public web, which pnyx reads."""
    path: Annotated[str, Field(min_length=1, max_length=4000)] | None = None
    """Its path; only where the request comes from this machine: a batch line, or MCP over stdio."""
    media_type: Annotated[str, Field(max_length=200)] | None = None
    """Its media type; default: by its content."""

    def to_source(self) -> Source:
        """Raises `UsageError` if `data_base64` is no Base64."""
        try:
            data = None if self.data_base64 is None else b64decode(self.data_base64, validate=True)
        except ValueError as exc:
            raise UsageError(f"files: data_base64 of {self.name or 'a file'} is no Base64: {exc}") from None
        return Source(self.name or "", self.content, data, self.url, self.path, self.media_type or "")


def with_options(has: Callable[[RequestOption], bool]) -> Callable[[type[B]], type[B]]:
    """Add to a model a field for each option of `RunRequest` for which `has` is true."""

    def build(model: type[B]) -> type[B]:
        options = {name: option for name, option in OPTIONS.items() if has(option)}
        added: dict[str, Any] = {name: _field(name, option) for name, option in options.items()}
        return create_model(
            model.__name__, __base__=model, __module__=model.__module__, __doc__=model.__doc__, **added
        )

    return build


def _field(name: str, option: RequestOption) -> tuple[Any, Any]:
    """Return the strict JSON type of an option, and its field with default and description."""
    kind: Any
    text = Annotated[str, Field(max_length=option.longest)]
    name_of_one = Annotated[str, Field(max_length=NAME)]
    scalar = text | int | float | bool | None
    match option.kind:
        case Kind.TEXT if option.choices:
            kind = Literal[*option.choices] | None
        case Kind.TEXT:
            kind = Annotated[text, Field(min_length=1)] if DEFAULTS[name] is MISSING else text | None
        case Kind.TEXTS:
            kind = Annotated[tuple[text, ...], Field(strict=False, max_length=MOST, fail_fast=True)]
        case Kind.WHOLE:
            kind = whole(option.low, option.high) | None
        case Kind.AMOUNT:
            kind = Amount | None
        case Kind.FLAG:
            kind = bool
        case Kind.SWITCH:
            kind = bool | None
        case Kind.TEXT_BY_NAME:
            kind = Annotated[Mapping[name_of_one, text], Field(max_length=MOST)]
        case Kind.VALUE_BY_NAME:
            several = Annotated[list[scalar], Field(max_length=MOST)]
            kind = Annotated[Mapping[name_of_one, scalar | several], Field(max_length=MOST)]
        case Kind.SCHEMA:
            kind = Document | None
        case Kind.TOOLS:
            entries = tuple[Document, ...]
            kind = Annotated[entries, Field(strict=False, max_length=MOST_TOOLS, fail_fast=True)]
        case Kind.RESPONSES:
            one = text | Annotated[Mapping[name_of_one, scalar], Field(max_length=MOST)]
            kind = Annotated[tuple[one, ...], Field(strict=False, max_length=MOST, fail_fast=True)]
        case Kind.FILES:
            kind = Annotated[tuple[FileBody, ...], Field(strict=False, max_length=MOST_FILES, fail_fast=True)]
        case Kind.MATERIAL:
            return Annotated[str, Field(max_length=LONGEST)] | None, Field(None, description=option.help)
    if option.kind in _EMPTY:
        return kind, Field(default_factory=_EMPTY[option.kind], description=option.help)
    if DEFAULTS[name] is MISSING:
        return kind, Field(description=option.help)
    return kind, Field(DEFAULTS[name], description=option.help)


@with_options(lambda option: option.http)
class RunBody(Body):
    """A question and the options of its run. Settings supply what is left out."""

    def to_request(self, base: RunRequest | None = None) -> RunRequest:
        """Return the request. base: supplies what is left out; protocol options are merged by name."""
        values = {
            name: value
            for name in self.model_fields_set & OPTIONS.keys()
            if (value := getattr(self, name)) is not None
        }
        if not values.get("models", True):
            del values["models"]
        if "files" in values:
            values["files"] = tuple(one.to_source() for one in values["files"])
        if base is None:
            return RunRequest(**values)
        options = RunRequest(**values).protocol_options
        return replace(base, **{**values, "options": {**base.protocol_options, **options}, "rounds": None})


class ResumeOptions(Body):
    """The options for resuming a run."""

    budget_usd: Amount | None = None
    """New budget of the whole run, in USD."""
    deadline_s: Amount | None = None
    """Seconds from now until the run pauses. Default: as many as it had before."""
    fork: bool = False
    """Start a new run that reuses the recorded replies whose steps have not changed."""


class SeatBody(BaseModel):
    """A seat and its model. role: null for none; "" in runs of older versions."""

    seat: str
    model: str
    role: str | None


class ResultBody(BaseModel):
    """A run. status: waiting, running, paused, cancelled, failed, or how it was decided. Absent is null.

    confidence: the probability that the answer is right, learned from 20 or more outcomes of the same panel
    (`detail.calibration`); null if there are fewer. rigor: the share of critiques that were substantive.
    consensus_reached: whether the seats agree on the answer. `detail.agreed`: the seats that do, of how many,
    and the different models. `detail.raw_confidence`: the support of the answer, which is no probability.
    """

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
    """A protocol. quorum: the seats it needs. options: name -> default, bounds and help.

    phases: its transitions in order, from "idle". calls_with_three_seats: least and most, null if unknown.
    """

    name: str
    summary: str
    quorum: int
    takes_responses: bool
    options: dict[str, dict[str, Any]]
    presets: dict[str, dict[str, Any]]
    phases: list[dict[str, str]]
    calls_with_three_seats: dict[str, int] | None


class StoredRun(ResultBody):
    """A run, with its labels if it has any. title: null without one. tags: sorted."""

    title: str | None = None
    tags: list[str] = []
    pinned: bool = False


class ListedRun(StoredRun):
    """A run in a list. created_at: when it started, UTC."""

    created_at: str


class RecalledRun(ResultBody):
    """A run found by its words. created_at: when it started, UTC. snippet: one line of its text around them.

    all_words: whether it has all the words; if no run does, runs with some of them are returned.
    """

    created_at: str
    snippet: str
    all_words: bool
