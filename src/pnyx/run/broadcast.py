"""Publishes the events of one run to its followers: stored events first, then live ones.

What waits for a follower that does not read is bounded: it is left behind, and reads on from the journal.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Literal, TypeAlias

from ..core.events import CallFailed, CallFinished, CallStarted, Event, RunFinished, Token
from ..store import Database
from ..store.records import runs as store
from ..store.records.entries import FOLLOWED_CHARS, PAGE

__all__ = ["AT_ONCE", "Broadcast", "TextWanted", "Turn"]

TextWanted: TypeAlias = Literal["answer"] | bool
"""Whether a follower wants the text of replies as it arrives, or that of the answer alone."""
Turn: TypeAlias = AbstractAsyncContextManager[object]
"""What a follower holds while it reads a page of stored events: a lock if followers take turns."""
AT_ONCE: Turn = nullcontext()
MOST_WAITING = 1_000_000
"""Bytes of events and texts, about, that wait for a follower before it is left behind."""
OBJECT = 64
"""Bytes of a piece of text without its characters, and of a field of an event, about."""


class Broadcast:
    """The followers of one run, the text that is arriving, and the run's last event.

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
        self._followers: set[_Follower] = set()
        self._texts: dict[str, _Text] = {}
        self._calls: dict[str, int | None] = {}
        for event in past:
            if isinstance(event, RunFinished):
                self.last = event

    def open(self) -> None:
        """Accept followers of live events until `close`."""
        self._is_open = True

    def close(self) -> None:
        """End the iteration of every follower after the events it already has."""
        self._is_open = False
        for follower in self._followers:
            follower.end()

    def want_text(self, wanted: TextWanted) -> None:
        """Stream text from the next call on, or that of the answer alone, if nobody wants more."""
        if wanted and self._wanted is not True:
            self._wanted = wanted

    def wants(self, answer: bool) -> bool:
        """Whether the provider should stream the text of a call. answer: whether it is to be the answer."""
        return self._wanted is True or (answer and self._wanted == "answer")

    def publish(self, event: Event, seq: int | None = None) -> None:
        """Send an event to every follower. seq: its number in the journal; None: it is not stored."""
        if isinstance(event, Token):
            self._publish_text(event)
            return
        if self._observe is not None:
            self._observe(event, seq)
        # Most runs have no follower, and copying an event costs more than everything else here.
        if seq is not None and (self._followers or isinstance(event, RunFinished)):
            event = replace(event, run_id=self.run_id, seq=seq)
        match event:
            case RunFinished():
                self.last = event
            case CallStarted():
                self._texts.pop(event.key, None)
                self._calls[event.key] = seq
            case CallFinished() | CallFailed():
                self._texts.pop(event.key, None)
                self._calls.pop(event.key, None)
        size = _size(event) if self._followers else 0
        for follower in self._followers:
            follower.add(event, size)

    def _publish_text(self, piece: Token) -> None:
        text = self._texts.get(piece.key)
        if text is None or piece.restart:
            text = self._texts[piece.key] = _Text(piece, self._calls.get(piece.key))
        else:
            text.add(piece)
        for follower in self._followers:
            follower.add_text(text)

    async def events(
        self, after: int = 0, tokens: TextWanted = False, prompts: bool = True, turn: Turn = AT_ONCE
    ) -> AsyncGenerator[Event, None]:
        """Yield events with a `seq` above `after`: stored ones first, then live, until the terminal one.

        tokens: also the text as it arrives, starting with the partial text of unfinished replies; "answer":
        only that of the answer. Text of a reply that has ended meanwhile may be left out for one that reads
        slowly. prompts: False does not read those of stored calls. turn: held while stored events are read.
        Ends without a terminal event if the run cannot be written.
        """
        follower = _Follower(tokens)
        self._followers.add(follower)
        if not self._is_open:
            follower.end()
        elif tokens:
            self.want_text(tokens)
        page = partial(store.log, run_id=self.run_id, limit=PAGE, prompts=prompts, most_chars=FOLLOWED_CHARS)
        calls: dict[str, int | None] = {}
        try:
            while follower.is_behind:
                has_more = True
                follower.catch_up(self._texts)
                while has_more:
                    async with turn:
                        stored = await self.database.read(partial(page, after=after))
                    has_more = stored.has_more
                    for event in stored:
                        after = event.seq or after
                        _track(calls, event)
                        yield event
                while (live := await follower.next()) is not None:
                    if isinstance(live, _Unread):
                        text, piece = live.text, live.take()
                        # The journal may have had the end of its call already, or even the next call.
                        if calls.get(text.last.key, text.call) == text.call:
                            yield piece
                    elif (live.seq or 0) > after:
                        after = live.seq or after
                        _track(calls, live)
                        yield live
            if self.last is not None and (self.last.seq is None or self.last.seq > after):
                yield self.last
        finally:
            self._followers.discard(follower)


class _Follower:
    """What waits for one follower. is_behind: whether it has to read the journal next; so it starts.

    wanted: the texts that it wants.
    """

    def __init__(self, wanted: TextWanted) -> None:
        self.is_behind = True
        self._wanted = wanted
        self._has_ended = False
        self._waiting: deque[tuple[Event | _Unread, int]] = deque()
        self._size = 0
        self._texts: dict[str, _Unread] = {}
        self._news = asyncio.Event()

    def add(self, event: Event, size: int) -> None:
        """Let an event wait. size: about its bytes."""
        if isinstance(event, CallStarted | CallFinished | CallFailed):
            self._texts.pop(event.key, None)
        if self._take_room(size):
            self._waiting.append((event, size))

    def add_text(self, text: _Text) -> None:
        """Let the last piece of a text wait."""
        if not self._wants(text) or not self._take_room(size := OBJECT + len(text.pieces[-1])):
            return
        unread = self._texts.get(text.last.key)
        if unread is None or unread.text is not text:
            unread = self._texts[text.last.key] = _Unread(text)
        if not unread.size:
            self._waiting.append((unread, 0))
        unread.grow(size)

    def end(self) -> None:
        """Nothing follows what waits."""
        self._has_ended = True
        self._news.set()

    def catch_up(self, texts: Mapping[str, _Text]) -> None:
        """What follows is what the journal has now. texts: those that arrive."""
        self.is_behind = False
        before, self._texts = self._texts, {}
        for text in texts.values():
            if self._wants(text) and not self._has_ended:
                unread = before.get(text.last.key)
                read = unread.start if unread is not None and unread.text is text else 0
                size = sum(OBJECT + len(piece) for piece in text.pieces[read:])
                self._texts[text.last.key] = unread = _Unread(text, read, size)
                self._size += size
                if size:
                    self._waiting.append((unread, 0))

    async def next(self) -> Event | _Unread | None:
        """Return what is to be read next; None if that is in the journal, or nothing follows."""
        while not self.is_behind:
            if self._waiting:
                first, size = self._waiting.popleft()
                self._size -= first.size if isinstance(first, _Unread) else size
                return first
            if self._has_ended:
                return None
            self._news.clear()
            await self._news.wait()
        return None

    def _wants(self, text: _Text) -> bool:
        return self._wanted is True or (self._wanted == "answer" and text.last.answer)

    def _take_room(self, size: int) -> bool:
        """Take room for so much more; without any, the follower is left behind, and forgets what waits."""
        if self._waiting and self._size + size > MOST_WAITING:
            self.is_behind = True
            self._waiting.clear()
            self._size = 0
        self._news.set()
        if self.is_behind:
            return False
        self._size += size
        return True


class _Text:
    """The text of a reply that arrives. last: its last piece. call: the number of its first event."""

    def __init__(self, first: Token, call: int | None) -> None:
        self.restart, self.last, self.pieces = first.restart, first, [first.text]
        self.call = call

    def add(self, piece: Token) -> None:
        self.last = piece
        self.pieces.append(piece.text)


@dataclass(slots=True)
class _Unread:
    """The part of a text that a follower has not read: the pieces from `start` on, of `size` bytes."""

    text: _Text
    start: int = 0
    size: int = 0

    def grow(self, size: int) -> None:
        """Count a new piece."""
        self.size += size

    def take(self) -> Token:
        """Return the part as one piece; it counts as read."""
        text, start = self.text, self.start
        self.start, self.size = len(text.pieces), 0
        return replace(text.last, text="".join(text.pieces[start:]), restart=text.restart and not start)


def _size(event: Event) -> int:
    """The bytes of an event, about."""
    values = (getattr(event, one.name) for one in fields(event))
    return sum(OBJECT + (len(value) if isinstance(value, str) else 0) for value in values)


def _track(calls: dict[str, int | None], event: Event) -> None:
    """Note the number of the last event of each call in `calls`."""
    if isinstance(event, CallStarted | CallFinished | CallFailed):
        calls[event.key] = event.seq
