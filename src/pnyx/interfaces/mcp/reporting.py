"""Progress and log messages of a run, for the client that waits for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from mcp_types import LoggingLevel

from ...core.events import Budget, CallFailed, CallFinished, Event, PhaseEntered, RunFinished, SeatAbstained
from ...core.models import money
from ...errors import PnyxError
from ...run.spec import Spec
from ...run.spending.expectation import usual_replies
from ...store.records.runs import RunRow
from ..views.transcript import Transcript, quantity
from .peer import Peer

__all__ = ["Report"]

PHASE = 0.01
"""What the start of a phase counts in progress, as a share of a reply: each message must count more."""
LEVELS: dict[str, LoggingLevel] = {
    "dropped": "warning",
    "silence": "warning",
    "budget": "warning",
    "retry": "notice",
    "unknown": "notice",
    "cut": "notice",
    "reply": "info",
}
"""Kind of a transcript entry -> the level of its log message. The others have text of models: no message."""


@dataclass
class Report:
    """Tells a client how a run goes on. Progress counts replies, and one step for the end of the run.

    replies: so far. usual: how many a usual run has, None if unknown. redact: masks secrets.
    """

    peer: Peer
    run_id: str
    replies: int
    usual: int | None
    redact: Callable[[str], str]
    _sent: float = -1.0
    _where: str = ""
    _transcript: Transcript = field(default_factory=Transcript)

    @classmethod
    def of(cls, peer: Peer, row: RunRow, redact: Callable[[str], str]) -> Report:
        """A report on a stored run, of which no event is counted yet."""
        return cls(peer, row.id, 0, _usual(row), redact)

    async def begin(self) -> None:
        """Send the run's id."""
        text = f"run {self.run_id} has started; read it with `show`, continue it with `resume`"
        await self._progress(self.replies, text)
        await self.peer.log("info", f"run {self.run_id} has started", run_id=self.run_id)

    def count(self, event: Event) -> None:
        """Add an event that the client is not notified of: the report goes on after it."""
        self.replies += _is_reply(event)
        self._transcript.add(event)
        self._enter(event)

    async def add(self, event: Event) -> None:
        """Send what an event means for a person who waits."""
        self.replies += _is_reply(event)
        self._enter(event)
        await self._log(event)
        if isinstance(event, RunFinished) and event.status != "paused":
            await self._progress(self.replies + 1, f"run {self.run_id} · {_ending(event)}", self.replies + 1)
        elif isinstance(event, PhaseEntered) or _is_reply(event):
            await self._progress(self.replies, f"run {self.run_id} · {self._where} · {self._count}")

    @property
    def _count(self) -> str:
        if self.usual is not None and self.replies <= self.usual:
            return f"{self.replies} of about {quantity(self.usual, 'reply', 'replies')}"
        return quantity(self.replies, "reply", "replies")

    async def _progress(self, count: float, text: str, total: float | None = None) -> None:
        self._sent = round(max(count, self._sent + PHASE), 2)
        if total is None and self.usual is not None:
            # A run that takes more than usual is never over before its end.
            total = max(self.usual, self.replies) + 1
        await self.peer.channel.progress(self._sent, total, text)

    async def _log(self, event: Event) -> None:
        entry = self._transcript.add(event)
        level: LoggingLevel | None = None
        text = ""
        if isinstance(event, PhaseEntered):
            level, text = "info", self._transcript.now
        elif isinstance(event, Budget) and event.kind == "raised":
            level, text = "info", f"the budget is now {money(event.cap_usd)}"
        elif isinstance(event, RunFinished):
            level, text = "info", _ending(event)
        elif entry is not None and isinstance(event, SeatAbstained):
            level, text = "warning", f"{entry.title}: {entry.text}"
        elif entry is not None and (level := LEVELS.get(entry.kind)):
            what = "replied" if entry.kind == "reply" else entry.text
            text = f"{entry.title}: {', '.join((what, *entry.facts))}"
        if level is not None:
            await self.peer.log(level, self.redact(f"run {self.run_id} · {text}"), run_id=self.run_id)

    def _enter(self, event: Event) -> None:
        if isinstance(event, PhaseEntered):
            round = "" if event.round is None else f"round {event.round} · "
            self._where = f"{round}{event.phase}"


def _is_reply(event: Event) -> bool:
    return isinstance(event, CallFinished) or (isinstance(event, CallFailed) and event.final)


def _ending(event: RunFinished) -> str:
    cost = (event.result.get("usage") or {}).get("cost_usd")
    return f"{event.status}, {money(cost)}"


def _usual(row: RunRow) -> int | None:
    try:
        return usual_replies(Spec.from_json(row.check().spec, row.id))
    except PnyxError:  # such as a protocol that is not installed here; the run has its own error then
        return None
