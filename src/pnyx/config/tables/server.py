"""The settings of what others use: the server, the tools for assistants, workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from ...core.models import MOST
from ...core.thinking import Effort
from .base import Table

__all__ = ["NO_LIMITS", "KeyLimits", "McpSettings", "ServeSettings", "ServedModel", "WorkerSettings"]


class ServedModel(Table):
    """The panel of a name that clients give as a model. panel: its seats; empty: the configured panel.

    preset: of the protocol, quick or deep. options: of the protocol, by name. footer: whether answers of
    chats end with a line about the run, unless the request says so itself.
    """

    protocol: Annotated[str, Field(min_length=1)]
    panel: Annotated[tuple[str, ...], Field(strict=False)] = ()
    preset: str | None = None
    effort: Effort | None = None
    options: Mapping[str, str | int | float | bool] = Field(default_factory=dict)
    footer: bool | None = None


Patterns = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(strict=False)]
"""Names; `*` matches any characters."""


class KeyLimits(Table):
    """What a named key may use; None is everything of its kind, and an empty list is nothing.

    aliases: names of `[serve.models]`. panels: names of saved panels. protocols: also those that an option of
    another names. models: of the seats and the judge, such as "openai:*". A listed alias or panel may be used
    as it is saved, whatever the other lists say. runs_at_once: limit of its running runs. priority: its share
    of the workers, which start that many of its runs for each one of a key of priority 1 while both wait.
    requests_per_minute: limit of its requests, with PostgreSQL to all servers together. day_usd: what its
    runs may cost in a day (UTC). storage_mb: what they may take of the database, in MB.
    sessions: most of its sessions of MCP; None: as in `[mcp]`.
    """

    aliases: Patterns | None = None
    panels: Patterns | None = None
    protocols: Patterns | None = None
    models: Patterns | None = None
    runs_at_once: Annotated[int, Field(ge=1, le=100_000)] | None = None
    priority: Annotated[float, Field(ge=0.01, le=100)] = 1.0
    requests_per_minute: Annotated[int, Field(ge=1, le=100_000)] | None = None
    day_usd: Annotated[float, Field(gt=0, le=MOST)] | None = None
    storage_mb: Annotated[float, Field(gt=0, le=1e9)] | None = None
    sessions: Annotated[int, Field(ge=1, le=100_000)] | None = None


NO_LIMITS = KeyLimits()


class ServeSettings(Table):
    """Settings of `pnyx serve`. host, port: address to listen on; port 0 is any free port.

    hosts: allowed `Host` headers besides the names of this machine, with a port or without. origins: of pages
    on other hosts that may send requests; `*` matches any characters. runs: limit of running runs.
    wait_s: seconds for which a run waits for its turn while there are as many. queue: put runs into the queue
    of `pnyx worker` instead of running them in the server. grace_s: seconds that a
    run goes on after its client has left, in case the client tries again. models: names of models for clients
    -> their panels. keys: the name of a key -> what it may use; a key without an entry may use all.
    body_mb: limit of a request body, in MB. connections: most open connections of clients. head_s: seconds in
    which the head of a request must arrive. body_s: the same of its body, and more for a long one.
    """

    host: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8642
    hosts: Annotated[tuple[str, ...], Field(strict=False)] = ()
    origins: Annotated[tuple[str, ...], Field(strict=False)] = ()
    runs: Annotated[int, Field(ge=1, le=100_000)] = 2000
    wait_s: Annotated[float, Field(ge=0, le=3600)] = 30.0
    queue: bool = False
    grace_s: Annotated[float, Field(ge=0, le=86_400)] = 10.0
    models: Mapping[str, ServedModel] = Field(default_factory=dict)
    body_mb: Annotated[float, Field(gt=0, le=1000)] = 16.0
    connections: Annotated[int, Field(ge=1, le=1_000_000)] = 4000
    head_s: Annotated[float, Field(gt=0, le=3600)] = 10.0
    body_s: Annotated[float, Field(gt=0, le=3600)] = 30.0
    keys: Mapping[str, KeyLimits] = Field(default_factory=dict)


class McpSettings(Table):
    """Settings of MCP. wait_s: seconds that a call waits for a run before it returns its state.

    For sessions over HTTP, which clients of 2025 have: idle_s: seconds without a request after which a
    session ends. sessions: most sessions of a key.
    """

    wait_s: Annotated[float, Field(gt=0, le=86_400)] = 45.0
    idle_s: Annotated[float, Field(gt=0, le=604_800)] = 1800.0
    sessions: Annotated[int, Field(ge=1, le=100_000)] = 100


class WorkerSettings(Table):
    """Settings of `pnyx worker`. concurrency: limit of running runs. tries: workers that may end, killed or
    without power, while they carry out one run; then it is paused and no worker starts it again.
    """

    concurrency: Annotated[int, Field(ge=1, le=10_000)] = 16
    tries: Annotated[int, Field(ge=1, le=1000)] = 3
