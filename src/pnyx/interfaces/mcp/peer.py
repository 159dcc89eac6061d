"""The client of one request, whichever server and version of the protocol carries it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, get_args

from mcp_types import (
    LOG_LEVEL_META_KEY,
    ClientCapabilities,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    LoggingLevel,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
    ServerNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ...errors import PnyxError
from ..requests.bugs import public_message
from ..requests.option_names import with_tools

__all__ = ["Channel", "InputNeeded", "Peer", "Session"]

LEVELS: tuple[LoggingLevel, ...] = get_args(LoggingLevel)
"""Least severe first."""
LOGGER = "pnyx"
"""The name of the logger in messages to the client."""


class Channel(Protocol):
    """What a server can send while it answers a request. Messages belong to that request."""

    async def notify(self, notification: ServerNotification) -> None:
        """Send a notification."""

    async def progress(self, progress: float, total: float | None, message: str) -> None:
        """Send progress, if the client asked for it."""

    async def elicit(self, params: ElicitRequestFormParams) -> ElicitResult | None:
        """Ask the person, and wait for the answer; None if the client cannot be asked."""


class InputNeeded(Exception):  # noqa: N818 (it is the way in which a client of 2026 is asked, not an error)
    """The client is to ask the person, and to send its request again with the answer."""

    def __init__(self, key: str, params: ElicitRequestFormParams, state: str | None) -> None:
        super().__init__(params.message)
        self.result = InputRequiredResult(
            input_requests={key: ElicitRequest(params=params)}, request_state=state
        )


@dataclass
class Session:
    """What a connection of the 2025 versions keeps between requests.

    level: of the least severe log message that the client wants. The watches are tasks that end with the
    session.
    """

    level: LoggingLevel = "warning"
    watches: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator[Self]:
        """Open a session; on exit, its watches end."""
        session = cls()
        try:
            yield session
        finally:
            for uri in list(session.watches):
                session.unwatch(uri)

    def watch(self, uri: str, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` until it ends, or `unwatch` or the end of the session cancels it."""
        self.unwatch(uri)
        task = self.watches[uri] = asyncio.create_task(work)
        task.add_done_callback(lambda done: self._forget(uri, done))

    def unwatch(self, uri: str) -> None:
        """Cancel the watch of a resource, if there is one."""
        if task := self.watches.pop(uri, None):
            task.cancel()

    def _forget(self, uri: str, task: asyncio.Task[None]) -> None:
        if self.watches.get(uri) is task:
            del self.watches[uri]


@dataclass
class Peer:
    """The client of one request.

    owner: of the runs that it can see. version: of the protocol. answers, state: what a client of 2026 sends
    when it repeats a request, see `InputNeeded`. request_id: of the JSON-RPC request. session: None for
    versions without one. local: whether it started this process, so that it may name files of this machine.
    push: sends a notification that belongs to no request.
    """

    owner: str
    version: str
    channel: Channel
    capabilities: ClientCapabilities | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    answers: dict[str, Any] = field(default_factory=dict)
    state: str | None = None
    request_id: str | int = ""
    session: Session | None = None
    local: bool = False
    push: Callable[[ServerNotification], Coroutine[Any, Any, None]] | None = None

    @property
    def modern(self) -> bool:
        """Whether its version of the protocol has no sessions: from 2026-07-28 on."""
        return self.version in MODERN_PROTOCOL_VERSIONS

    @property
    def can_elicit(self) -> bool:
        """Whether the client declares that it can show a form to the person."""
        forms = None if self.capabilities is None else self.capabilities.elicitation
        return forms is not None and (forms.form is not None or forms.url is None)

    def message(self, log: logging.Logger, where: str, exc: PnyxError, redact: Callable[[str], str]) -> str:
        """Return the message of an error. The person who started this process sees all of it."""
        return with_tools(redact(str(exc)) if self.local else public_message(log, where, exc, redact))

    async def log(self, level: LoggingLevel, text: str, **data: Any) -> None:
        """Send a log message, if the client wants messages of this level."""
        if not self._wants(level):
            return
        params = LoggingMessageNotificationParams(level=level, logger=LOGGER, data={**data, "message": text})
        await self.channel.notify(LoggingMessageNotification(params=params))

    async def elicit(
        self, key: str, params: ElicitRequestFormParams, state: str | None = None
    ) -> ElicitResult | None:
        """Ask the person with a form. None: this client cannot be asked.

        Raises `InputNeeded` for a client of 2026 that has not brought the answer with its request; it does
        with the next one, and `state` with it.
        """
        if not self.can_elicit:
            return None
        if not self.modern:
            return await self.channel.elicit(params)
        answer = self.answers.pop(key, None)
        if answer is None:
            raise InputNeeded(key, params, state)
        return answer if isinstance(answer, ElicitResult) else None

    def _wants(self, level: LoggingLevel) -> bool:
        if self.modern:
            least = self.meta.get(LOG_LEVEL_META_KEY)
        else:
            least = self.session.level if self.session else Session.level
        return least in LEVELS and LEVELS.index(level) >= LEVELS.index(least)
