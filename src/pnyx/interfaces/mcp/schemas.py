"""What the tools take and give, as their schemas tell it to a model."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from ...core.decision import Status
from ..json_body import Body
from ..schemas import ProtocolBody, Recalled, ResultBody, ResumeOptions, RunBody, with_options

__all__ = ["Ask", "Found", "Listing", "Named", "Nothing", "Protocols", "Resume", "Runs", "Show", "Sought"]


class Waiting(Body):
    """How the one who calls waits."""

    wait: bool = True
    """Until there is a result. With false the run goes on by itself, and `show` tells how it stands."""


@with_options(lambda option: option.mcp and not option.http)
class Ask(RunBody, Waiting):
    """A question, and how it is decided; what is left out comes from the user's settings."""


class Named(Body):
    """One run."""

    run_id: Annotated[str, Field(min_length=1, max_length=40)]
    """Its id, or any unique beginning of it."""


class Show(Named):
    """Which run, and how much of it."""

    transcript: bool = False
    """Also all that was said, as text."""


class Resume(ResumeOptions, Named, Waiting):
    """Which run, and how to go on with it."""


class Listing(Body):
    """Which runs."""

    status: Status | None = None
    """Only such."""
    limit: Annotated[int, Field(ge=1, le=100)] = 20
    """At most so many, the newest."""


class Sought(Body):
    """What earlier runs are to have."""

    text: Annotated[str, Field(min_length=1, max_length=1000)]
    """Words of their question, answer or dissent, in any form; in double quotes they stand together."""
    limit: Annotated[int, Field(ge=1, le=100)] = 10
    """At most so many, the best."""


class Nothing(Body):
    """There is nothing to say."""


class Runs(BaseModel):
    """Runs, newest first."""

    runs: list[ResultBody]


class Found(BaseModel):
    """Runs that have what was sought, best first."""

    runs: list[Recalled]


class Protocols(BaseModel):
    """The ways to an answer."""

    protocols: list[ProtocolBody]
