"""Arguments and results of the tools; models read these docstrings in the tools' schemas."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from ...core.decision import Status
from ...store.records.labels import MOST_TAGS, MOST_TITLE
from ..requests.bounds import Name
from ..requests.json_body import Body
from ..requests.schemas import (
    ProtocolBody,
    RecalledRun,
    ResultBody,
    ResumeOptions,
    RunBody,
    StoredRun,
    with_options,
)

__all__ = [
    "Ask",
    "Deleted",
    "NoArguments",
    "Protocols",
    "RecallQuery",
    "RecalledRuns",
    "Resume",
    "RunLabels",
    "RunQuery",
    "RunReference",
    "RunResult",
    "Runs",
    "Show",
    "Tagging",
]


class Waiting(Body):
    """Whether the call waits for the run."""

    wait: bool = True
    """Wait for the result, for as long as the settings allow. After that, or if false, the run continues in
    the background; read it with `show`."""


@with_options(lambda option: option.mcp and not option.http)
class Ask(RunBody, Waiting):
    """A question and the options of its run. The user's settings supply what is left out."""


class RunReference(Body):
    """One run."""

    run_id: Annotated[str, Field(min_length=1, max_length=40)]
    """The run's id, or any unique prefix of it."""


class Show(RunReference):
    """The run to read."""

    transcript: bool = False
    """Also return the transcript, as text. A long one has parts: the last line says how to read the next."""
    after: Annotated[int, Field(ge=0)] = 0
    """Return the part of the transcript after this event, as the last line of a part says."""
    wait_s: Annotated[float, Field(ge=0, le=3600)] = 0.0
    """Wait for the end of the run for at most so many seconds."""


class Resume(ResumeOptions, RunReference, Waiting):
    """The run to resume, and how."""


class Tagging(RunReference):
    """A change of a run's labels. What is left out stays as it is."""

    add: Annotated[tuple[Name, ...], Field(strict=False, max_length=MOST_TAGS)] = ()
    """Tags to add."""
    remove: Annotated[tuple[Name, ...], Field(strict=False, max_length=MOST_TAGS)] = ()
    """Tags to remove."""
    title: Annotated[str, Field(max_length=MOST_TITLE)] | None = None
    """Shown in place of the question; an empty one shows the question again."""
    pinned: bool | None = None
    """Whether it is pinned."""


Cursor = Annotated[str, Field(max_length=1000)]


class RunQuery(Body):
    """The runs to list."""

    status: Status | None = None
    """Only runs with this status."""
    tag: Annotated[str, Field(max_length=1000)] | None = None
    """Only runs with this tag."""
    pinned: bool = False
    """Only pinned runs."""
    limit: Annotated[int, Field(ge=1, le=100)] = 20
    """Most runs to return, newest first."""
    cursor: Cursor | None = None
    """The `next_cursor` of the list before."""


class RecallQuery(Body):
    """The words to look for."""

    text: Annotated[str, Field(min_length=1, max_length=1000)]
    """Words of the question, answer or dissent, in any inflection; double quotes mark a phrase."""
    limit: Annotated[int, Field(ge=1, le=100)] = 10
    """Most runs to return, best first."""
    cursor: Cursor | None = None
    """The `next_cursor` of the list before."""


class NoArguments(Body):
    """No arguments."""


class RunResult(ResultBody):
    """A run. status: waiting, running, paused, cancelled, failed, or how it was decided. Absent is null.

    notice: how to take the texts in it. next: what can be done with it now, null if it is over.
    """

    notice: str
    next: str | None


class RunLabels(BaseModel):
    """The labels of a run. title: null without one. tags: sorted."""

    run_id: str
    title: str | None
    tags: list[str]
    pinned: bool


class Deleted(BaseModel):
    """The run that was deleted."""

    run_id: str
    deleted: bool


class Runs(BaseModel):
    """Runs, newest first. notice: how to take the texts in them. next_cursor: null at the end.

    Texts longer than 2,000 characters are cut, and end with "…" then; `show` has the whole run.
    """

    notice: str
    runs: list[StoredRun]
    next_cursor: str | None


class RecalledRuns(BaseModel):
    """Matching runs, best first. notice: how to take the texts in them. next_cursor: null at the end.

    Texts longer than 2,000 characters are cut, and end with "…" then; `show` has the whole run.
    """

    notice: str
    runs: list[RecalledRun]
    next_cursor: str | None


class Protocols(BaseModel):
    """The available protocols."""

    protocols: list[ProtocolBody]
