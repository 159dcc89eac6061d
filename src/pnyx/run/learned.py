"""What judged runs teach: the weight of each model's vote, and the calibration of confidence."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from ..core.caching.lru import LRU
from ..core.models import strongest
from ..core.steps import Decision
from ..store import Database
from ..store.records import outcomes as store
from .spec import Spec

if TYPE_CHECKING:
    from ..reliability.calibration import Calibration
    from ..reliability.feedback import JudgedRun
    from ..reliability.weights import Weights

__all__ = ["LearnedHistory", "calibrate_decision"]

FRESH_S = 2.0
"""Seconds until the database is checked again for outcomes that another process recorded."""
OWNERS, PANELS = 100, 200
"""The most histories, and fits to the models of a panel, that a process keeps."""


@dataclass(frozen=True, slots=True)
class _History:
    """The judged runs of one owner. read_at: when their version was last checked, in monotonic seconds."""

    read_at: float
    version: tuple[int, str]
    judged: list[JudgedRun]


class LearnedHistory:
    """The judged runs of at most `OWNERS` owners, read again when they change."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._histories = LRU[str, _History](OWNERS)
        self._learned = LRU[tuple[str, tuple[str, ...]], tuple[tuple[int, str], "Weights", "Calibration"]](
            PANELS
        )

    async def apply(self, spec: Spec) -> Spec:
        """Return `spec` with the weights and the calibration that its owner's history supports, if any."""
        history = await self._history(spec.owner)
        if not history.judged:
            return spec
        models = tuple(dict.fromkeys(seat.model for seat in strongest(spec.seats)))
        weights, calibration = await self._fit(spec.owner, models, history)
        calibration = calibration.only(spec.protocol)
        if calibration.measures:
            spec = replace(spec, calibration=asdict(calibration))
        if weights.rule == "equal":
            return spec
        seats = tuple(
            replace(seat, weight=weights.models[seat.model], judged=weights.counts.get(seat.model, 0))
            for seat in spec.seats
        )
        return replace(spec, seats=seats, history={"rule": weights.rule, "n": weights.n})

    async def _fit(
        self, owner: str, models: tuple[str, ...], history: _History
    ) -> tuple[Weights, Calibration]:
        key = (owner, models)
        if key in self._learned and self._learned[key][0] == history.version:
            return self._learned[key][1:]
        # A fit over thousands of answers would block the event loop.
        fit = await asyncio.to_thread(_learn, history.judged, models)
        self._learned[key] = (history.version, *fit)
        return fit

    async def _history(self, owner: str) -> _History:
        cached = self._histories.get(owner)
        started = time.monotonic()
        if cached is not None and started - cached.read_at < FRESH_S:
            return cached
        version = await self._database.read(lambda c: store.version(c, owner))
        if cached is not None and cached.version == version:
            judged = cached.judged
        else:
            judged = await self._database.read(lambda c: store.history(c, owner)) if version[0] else []
        history = self._histories[owner] = _History(started, version, judged)
        return history


def _learn(history: list[JudgedRun], models: tuple[str, ...]) -> tuple[Weights, Calibration]:
    # Start-up time: none of this is loaded without a history.
    from ..reliability.calibration import calibrate
    from ..reliability.feedback import outcomes, questions
    from ..reliability.weights import learn

    return learn(questions(history), models), calibrate(outcomes(history), models)


def calibrate_decision(spec: Spec, decision: Decision) -> dict[str, Any]:
    """Return the fields of the decision that history changes: its confidence, and `detail` about it.

    `detail.given` lists the sources of existing answers, so that a reader does not take them for seats.
    """
    detail: dict[str, Any] = {"given": [one.source for one in spec.responses]} if spec.responses else {}
    if spec.history:
        detail["history"] = {**spec.history, "weights": {s.label: s.weight for s in spec.seats}}
    # What a protocol sets as its confidence is support; only outcomes make a probability of it.
    fields: dict[str, Any] = {"confidence": None, "confidence_rule": None}
    if decision.support is not None:
        detail |= {"raw_confidence": decision.support, "raw_rule": decision.support_rule}
    if decision.support is not None and spec.calibration:
        # Start-up time, as above.
        from ..reliability.calibration import from_dict
        from ..reliability.feedback import measure

        kind, calibration = measure(spec.protocol, decision.support_rule), from_dict(spec.calibration)
        estimate = calibration.of(kind, decision.support_rule, decision.support)
        if estimate is not None:
            fields = {"confidence": estimate.confidence, "confidence_rule": estimate.rule}
            detail["calibration"] = estimate.to_dict(kind, calibration.panel, decision.support_rule)
    return {**fields, "detail": {**decision.detail, **detail}}
