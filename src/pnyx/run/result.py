"""The result of a run: the public result object, from a decision and the run's events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..core.documents import build
from ..core.events import Budget, CallFailed, CallFinished, CallStarted, Event, PhaseEntered, SeatDropped
from ..core.steps import Decision, Dissent
from ..errors import Unreadable

__all__ = ["Cost", "Result", "Summary", "exit_code"]


@dataclass(frozen=True, kw_only=True)
class Result(Decision):
    """A decision and the record of its run. Amounts in USD; a cost of None is unknown. elapsed_s: in seconds.

    status: as in `Decision`, or failed | paused | cancelled. consensus_reached: None if agreement was not
    measured. confidence: a probability, learned from outcomes as `detail.calibration` says, or None. support
    is `detail.raw_confidence` in JSON.
    usage: calls (requests sent), input_tokens, cached_tokens, output_tokens, cost_usd.
    """

    run_id: str
    protocol: str
    question: str
    seats: tuple[Mapping[str, Any], ...] = ()
    dropped: tuple[Mapping[str, Any], ...] = ()
    degraded: bool = False
    usage: Mapping[str, Any] = field(default_factory=dict)
    elapsed_s: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the public result object, its keys in order; a missing value is null."""
        out = {name: getattr(self, name) for name in _ORDER}
        out["answer"] = self.answer or None
        out["dissent"] = [{"seat": d.seat, "model": d.model, "text": d.text} for d in self.dissent]
        for name in ("seats", "dropped"):
            out[name] = [dict(item) for item in out[name]]
        out["usage"], out["detail"] = dict(self.usage), dict(self.detail)
        return out

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Result:
        """Return the result in a stored document; unknown fields are ignored. Raises `Unreadable`.

        Earlier versions stored shares of votes and curves of few outcomes as confidence: that is support.
        """
        what = f"the result of run {document.get('run_id', '')}".strip()
        try:
            return build(cls, cls._fields_of(document, what), what)
        except (TypeError, ValueError, AttributeError) as exc:
            raise Unreadable(f"{what} cannot be read: {exc}") from exc

    @staticmethod
    def _fields_of(document: Mapping[str, Any], what: str) -> dict[str, Any]:
        values = dict(document)
        detail = dict(values.get("detail") or {})
        values["support"] = detail.get("raw_confidence", values.get("confidence"))
        values["support_rule"] = detail.get("raw_rule", values.get("confidence_rule"))
        if values.get("confidence") is not None and "calibration" not in detail:
            detail |= {"raw_confidence": values["support"], "raw_rule": values["support_rule"]}
            values |= {"confidence": None, "confidence_rule": None, "detail": detail}
        for name in ("answer", "stop_reason"):  # null in public documents
            values[name] = "" if values.get(name) is None else values[name]
        values["dissent"] = tuple(build(Dissent, one, what) for one in values.get("dissent", ()))
        for name in ("seats", "dropped"):
            values[name] = tuple(values.get(name, ()))
        return values


@dataclass(slots=True)
class Cost:
    """The cost of requests. unpriced: (key, attempt) of those of unknown price, including open ones."""

    known_usd: float = 0.0
    unpriced: set[tuple[str, int]] = field(default_factory=set)

    @property
    def usd(self) -> float | None:
        """The sum, or None if the price of any request is unknown."""
        return None if self.unpriced else self.known_usd

    def add(self, event: CallStarted | CallFinished | CallFailed) -> None:
        match event:
            case CallStarted():
                amount = 0.0 if event.reserved_usd is not None else None
            case CallFinished():
                amount = 0.0 if event.copied else event.cost_usd
            case CallFailed():
                amount = event.charged_usd
        if amount is None:
            self.unpriced.add((event.key, event.attempt))
        else:
            self.unpriced.discard((event.key, event.attempt))
            self.known_usd = round(self.known_usd + amount, 9)


@dataclass(slots=True)
class Summary:
    """The sums over a run's events.

    answer: the best one so far: the one that the protocol named (is_named); before that, the first whole
    reply with an answer, or the longest that was cut off. answering: the keys of calls for such replies.
    exhausted: the last one. cut: replies that ended at a token limit. silent: seat -> why it last gave no
    answer, for all seats that once gave none; unanswered: the keys of those calls. too_long: the seats that a
    prompt did not fit. answered: the seats that gave an answer. models: seat -> its model, once it was asked.
    failing: key -> why the last attempt failed, of calls that would be tried again.
    """

    usage: dict[str, Any] = field(
        default_factory=lambda: {
            "calls": 0,
            "input_tokens": 0,
            "cached_tokens": 0,
            "output_tokens": 0,
            "cost_usd": 0.0,
        }
    )
    cost: Cost = field(default_factory=Cost)
    dropped: list[dict[str, Any]] = field(default_factory=list)
    rounds: int = 0
    answer: str | None = None
    is_named: bool = False
    answering: set[str] = field(default_factory=set)
    exhausted: Budget | None = None
    overrun_usd: float = 0.0
    cut: set[str] = field(default_factory=set)
    silent: dict[str, dict[str, Any]] = field(default_factory=dict)
    unanswered: dict[str, set[str]] = field(default_factory=dict)
    too_long: set[str] = field(default_factory=set)
    answered: set[str] = field(default_factory=set)
    models: dict[str, str] = field(default_factory=dict)
    failing: dict[str, str] = field(default_factory=dict)

    @property
    def missing(self) -> tuple[dict[str, Any], ...]:
        """The seats that were dropped, and those that never gave an answer, each with the reason."""
        dropped = {one["seat"] for one in self.dropped}
        never = [one for seat, one in self.silent.items() if seat not in self.answered | dropped]
        return (*self.dropped, *never)

    @property
    def fits_nobody(self) -> bool:
        """Whether seats gave no answer, each because a prompt is longer than its window."""
        return bool(self.missing) and all(one["seat"] in self.too_long for one in self.missing)

    @property
    def degraded(self) -> bool:
        """Whether a seat was dropped or once gave no answer. To refuse in words is an answer."""
        return bool(self.dropped or self.silent)

    def cut_mark(self, answer: str) -> dict[str, Any]:
        """Return the detail of a result whose answer was cut off at a token limit; {} if it was not."""
        return {"truncated": True} if answer.strip() in self.cut else {}

    def add(self, event: Event) -> None:
        if isinstance(event, CallStarted | CallFinished | CallFailed):
            self.cost.add(event)
            self.usage["cost_usd"] = self.cost.usd
        if isinstance(event, CallFinished | CallFailed):
            self.failing.pop(event.key or "", None)
        match event:
            case CallStarted():
                self.usage["calls"] += 1
                self.models[event.seat or ""] = event.model
                if event.answers:
                    self.answering.add(event.key)
            case CallFinished(copied=False):
                for name in ("input_tokens", "cached_tokens", "output_tokens"):
                    self.usage[name] += getattr(event, name)
                if event.finish_reason == "length":
                    self.cut.add(event.text.strip())
                self._hear(event)
            case CallFinished():
                self._hear(event)
            case CallFailed():
                for name in ("input_tokens", "cached_tokens", "output_tokens"):
                    self.usage[name] += getattr(event, name)
                if event.final:
                    self._miss(event, event.message)
                else:
                    self.failing[event.key or ""] = event.message
                if event.text.strip():
                    self.cut.add(event.text.strip())
                    self._offer(event)
                if event.kind == "too_long":
                    self.too_long.add(event.seat or "")
            case SeatDropped():
                self.dropped.append({"seat": event.seat, "model": event.model, "reason": event.reason})
            case PhaseEntered():
                self.rounds = max(self.rounds, event.round or 0)
                if event.answer:
                    self.answer, self.is_named = event.answer, True
            case Budget(kind="exhausted"):
                self.exhausted = event
            case Budget(kind="overrun"):
                self.overrun_usd = round(self.overrun_usd + event.overrun_usd, 9)
            case _:
                pass

    def _hear(self, event: CallFinished) -> None:
        filtered = event.absent is not None and event.finish_reason == "filter"
        if event.absent not in (None, "refusal") or filtered:
            self._miss(event, event.abstention)
        elif event.text.strip():
            self.answered.add(event.seat or "")
            self._find(event)
            if event.absent is None and not event.tool_calls:
                self._offer(event)

    def _offer(self, event: CallFinished | CallFailed) -> None:
        """Take a reply as the best answer so far, unless the protocol named one or a better one is known."""
        if self.is_named or event.key not in self.answering:
            return
        best, is_cut = (self.answer or "").strip(), event.text.strip() in self.cut
        if not best or (best in self.cut and (not is_cut or len(event.text) > len(best))):
            self.answer = event.text

    def _find(self, event: CallFinished) -> None:
        """Forget that a call had no answer, if it was asked again after a resume."""
        seat = event.seat or ""
        if event.key in self.unanswered.get(seat, ()):
            self.unanswered[seat].remove(event.key)
            if not self.unanswered[seat]:
                del self.silent[seat]

    def _miss(self, event: CallFinished | CallFailed, reason: str) -> None:
        seat = event.seat or ""
        self.unanswered.setdefault(seat, set()).add(event.key)
        self.silent[seat] = {"seat": seat, "model": self.models.get(seat, event.model), "reason": reason}


def exit_code(result: Result, require_consensus: bool = False) -> int:
    """Return the documented exit code for a result."""
    match result.status, result.stop_reason:
        case "failed", "no_quorum":
            return 3
        case (("failed" | "cancelled"), _):
            return 1
        case "paused", "interrupted":
            return 130
        case "paused", "workers_lost":
            return 1
        case "paused", _:
            return 4
    if require_consensus and not _is_agreement(result):
        return 3
    return 5 if result.degraded else 0


def _is_agreement(result: Result) -> bool:
    """Return whether all seats or a majority agreed, not counting a vote after a debate without result."""
    if result.status == "majority":
        return result.stop_reason not in ("stuck", "max_rounds")
    return result.status == "consensus" and result.consensus_reached is not False


_ORDER = (
    *("run_id", "status", "protocol", "question", "answer", "final_answer", "confidence", "confidence_rule"),
    *("rigor", "agreement", "consensus_reached", "dissent", "rounds", "converged", "stop_reason"),
    *("seats", "dropped", "degraded", "usage", "elapsed_s", "detail"),
)
