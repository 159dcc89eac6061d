"""What judged runs have taught: how much a model's vote counts, and how often confidence came true."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from ..core.lru import LRU
from ..core.models import strongest
from ..core.steps import Decision
from ..store import Database
from ..store import outcomes as store
from .spec import Spec

if TYPE_CHECKING:
    from ..reliability.calibration import Calibration
    from ..reliability.feedback import JudgedRun
    from ..reliability.weights import Weights

__all__ = ["LearnedHistory", "calibrated"]

FRESH_S = 2.0
"""Seconds before the database is asked again whether another process has recorded a judgement."""
OWNERS, PANELS = 100, 200
"""Histories, and fits to the models of a panel, that a process keeps."""


@dataclass(frozen=True, slots=True)
class _History:
    """The judged runs of one owner. read_at: when their version was last compared, in monotonic seconds."""

    read_at: float
    version: tuple[int, str]
    judged: list[JudgedRun]


class LearnedHistory:
    """The judged runs of each owner, read again when they have changed; of at most `OWNERS` owners."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._histories = LRU[str, _History](OWNERS)
        self._learned = LRU[tuple[str, tuple[str, ...]], tuple[tuple[int, str], "Weights", "Calibration"]](
            PANELS
        )

    async def applied(self, spec: Spec) -> Spec:
        """`spec` with the weights and the calibration that its owner's history supports, if any."""
        history = await self._history(spec.owner)
        if not history.judged:
            return spec
        models = tuple(dict.fromkeys(seat.model for seat in strongest(spec.seats)))
        weights, calibration = await self._fitted(spec.owner, models, history)
        own = calibration.only(spec.protocol)
        if own.protocols:
            spec = replace(spec, calibration=asdict(own))
        if weights.rule == "equal":
            return spec
        seats = tuple(replace(seat, weight=weights.models[seat.model]) for seat in spec.seats)
        return replace(spec, seats=seats, history={"rule": weights.rule, "n": weights.n})

    async def _fitted(
        self, owner: str, models: tuple[str, ...], history: _History
    ) -> tuple[Weights, Calibration]:
        key = (owner, models)
        if key in self._learned and self._learned[key][0] == history.version:
            return self._learned[key][1:]
        # A fit over thousands of answers would block the event loop.
        fitted = await asyncio.to_thread(_learn, history.judged, models)
        self._learned[key] = (history.version, *fitted)
        return fitted

    async def _history(self, owner: str) -> _History:
        known = self._histories.get(owner)
        started = time.monotonic()
        if known is not None and started - known.read_at < FRESH_S:
            return known
        version = await self._database.read(lambda c: store.version(c, owner))
        if known is not None and known.version == version:
            judged = known.judged
        else:
            judged = await self._database.read(lambda c: store.history(c, owner)) if version[0] else []
        found = self._histories[owner] = _History(started, version, judged)
        return found


def _learn(history: list[JudgedRun], models: tuple[str, ...]) -> tuple[Weights, Calibration]:
    # Without a history, which is how everyone begins, none of this is loaded.
    from ..reliability.calibration import calibrate
    from ..reliability.feedback import outcomes, questions
    from ..reliability.weights import learn

    return learn(questions(history), models), calibrate(outcomes(history))


def calibrated(spec: Spec, decision: Decision) -> dict[str, Any]:
    """The fields of the decision that history changes: its confidence, and what the result tells of both.

    `detail.given` tells whose answers were given, so that no seat is taken for who said them.
    """
    told: dict[str, Any] = {"given": [one.source for one in spec.responses]} if spec.responses else {}
    if spec.history:
        told["history"] = {**spec.history, "weights": {s.label: s.weight for s in spec.seats}}
    fields: dict[str, Any] = {}
    if decision.confidence is not None and spec.calibration:
        # As above.
        from ..reliability.calibration import from_dict
        from ..reliability.feedback import measure

        kind = measure(spec.protocol, decision.confidence_rule)
        found = from_dict(spec.calibration).of(kind, decision.confidence)
        # What is known of other protocols alone is no outcome of this one.
        if found is not None and found.n:
            fields = {"confidence": found.confidence, "confidence_rule": found.rule}
            told |= {"raw_confidence": decision.confidence, "raw_rule": decision.confidence_rule}
    return {**fields, "detail": {**decision.detail, **told}} if told else {}
