"""Publishes the events of one run to its watchers: stored events first, then live ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Literal, TypeAlias

from ..core.events import CallFailed, CallFinished, CallStarted, Event, RunFinished, Token
from ..store import Database
from ..store.records import runs as store
from ..store.records.entries import PAGE

__all__ = ["AT_ONCE", "Broadcast", "TextWanted", "Turn"]

TextWanted: TypeAlias = Literal["answer"] | bool
"""Whether a watcher wants the text of replies as it arrives, or that of the answer alone."""
Turn: TypeAlias = AbstractAsyncContextManager[object]
"""What a follower holds while it reads a page of stored events: a lock if followers take turns."""
AT_ONCE: Turn = nullcontext()


class Broadcast:
    """The watchers of one run, the text that is arriving, and the run's last event.

    past: events stored before this process took the run over. observe: called with every new event but text,
    and its `seq`.
    """

    def __init__(
        self,
        database: Database,
        run_id: str,
        past: Sequence[Event] = (),
        observe: Callable[[Event, int | None], object] | None = None,
    ) -> None:
        self.database, self.run_id = database, run_id
        self._observe = observe
        self._wanted: TextWanted = False
        self.last: RunFinished | None = None
        self._is_open = False
        self._watchers: set[asyncio.Queue[Event | None]] = set()
        self._partial_texts: dict[str, list[Token]] = {}
        for event in past:
            if isinstance(event, RunFinished):
                self.last = event

    def open(self) -> None:
        """Accept watchers of live events until `close`."""
        self._is_open = True

    def close(self) -> None:
        """End the iteration of every watcher after the events it already has."""
        self._is_open = False
        for queue in self._watchers:
            queue.put_nowait(None)

    def want_text(self, wanted: TextWanted) -> None:
        """Stream text from the next call on, or that of the answer alone."""
        self._wanted = True if self._wanted is True else wanted

    def wants(self, answer: bool) -> bool:
        """Whether the provider should stream the text of a call. answer: whether it is to be the answer."""
        return self._wanted is True or (answer and self._wanted == "answer")

    def publish(self, event: Event, seq: int | None = None) -> None:
        """Send an event to every watcher. seq: its number in the journal; None: it is not stored."""
        if self._observe is not None and not isinstance(event, Token):
            self._observe(event, seq)
        # Most runs have no watcher, and copying an event costs more than everything else here.
        if seq is not None and (self._watchers or isinstance(event, RunFinished)):
            event = replace(event, run_id=self.run_id, seq=seq)
        match event:
            case RunFinished():
                self.last = event
            case Token(restart=True):
                self._partial_texts[event.key] = [event]
            case Token():
                self._partial_texts.setdefault(event.key, []).append(event)
            case CallStarted() | CallFinished() | CallFailed():
                self._partial_texts.pop(event.key, None)
        for queue in self._watchers:
            queue.put_nowait(event)

    async def events(
        self, after: int = 0, tokens: TextWanted = False, prompts: bool = True, turn: Turn = AT_ONCE
    ) -> AsyncGenerator[Event, None]:
        """Yield events with a `seq` above `after`: stored ones first, then live, until the terminal one.

        tokens: also the text as it arrives, starting with the partial text of unfinished replies; "answer":
        only that of the answer. prompts: False does not read those of stored calls. turn: held while stored
        events are read. Ends without a terminal event if the run cannot be written.
        """
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._watchers.add(queue)
        if not self._is_open:
            queue.put_nowait(None)
        elif tokens:
            self.want_text(tokens)
            for pieces in self._partial_texts.values():
                queue.put_nowait(replace(pieces[0], text="".join(piece.text for piece in pieces)))
        try:
            finished: set[str] = set()
            page = partial(store.log, run_id=self.run_id, limit=PAGE, prompts=prompts)
            while True:
                async with turn:
                    stored = await self.database.read(partial(page, after=after))
                for event in stored:
                    after = event.seq or after
                    _track(finished, event)
                    yield event
                if not stored.has_more:
                    break
            while (live := await queue.get()) is not None:
                if isinstance(live, Token):
                    # A reply may have been stored while the log was read.
                    if (tokens is True or (tokens and live.answer)) and live.key not in finished:
                        yield live
                elif (live.seq or 0) > after:
                    after = live.seq or after
                    _track(finished, live)
                    yield live
            if self.last is not None and (self.last.seq is None or self.last.seq > after):
                yield self.last
        finally:
            self._watchers.discard(queue)


def _track(finished: set[str], event: Event) -> None:
    """Update `finished`, the keys of the steps whose last request has an outcome."""
    match event:
        case CallStarted():
            finished.discard(event.key)
        case CallFinished() | CallFailed():
            finished.add(event.key)
