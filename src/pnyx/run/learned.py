"""What judged runs have taught: how much a model's vote counts, and how often confidence came true."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from ..core.models import strongest
from ..core.steps import Decision
from ..store import Database
from ..store import outcomes as store
from .spec import Spec

if TYPE_CHECKING:
    from ..reliability.calibration import Calibration
    from ..reliability.feedback import Judged
    from ..reliability.weights import Weights

__all__ = ["LearnedHistory", "calibrated"]

FRESH_S = 2.0
"""Seconds for which nobody looks whether another process has recorded a judgement."""


class LearnedHistory:
    """The history of each owner, read again when it has changed."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._looked: dict[str, float] = {}
        self._known: dict[str, tuple[tuple[int, str], list[Judged]]] = {}
        self._learned: dict[tuple[str, tuple[str, ...]], tuple[tuple[int, str], Weights, Calibration]] = {}

    async def applied(self, spec: Spec) -> Spec:
        """`spec` with the weights and the calibration that its owner's history gives it; both may be none."""
        history, version = await self._history(spec.owner)
        if not history:
            return spec
        models = tuple(dict.fromkeys(seat.model for seat in strongest(spec.seats)))
        key = (spec.owner, models)
        if key not in self._learned or self._learned[key][0] != version:
            # A fit over thousands of answers is not for an event loop.
            self._learned[key] = (version, *await asyncio.to_thread(_learn, history, models))
        _, weights, calibration = self._learned[key]
        own = calibration.only(spec.protocol)
        if own.protocols:
            spec = replace(spec, calibration=asdict(own))
        if weights.rule == "equal":
            return spec
        seats = tuple(replace(seat, weight=weights.models[seat.model]) for seat in spec.seats)
        return replace(spec, seats=seats, history={"rule": weights.rule, "n": weights.n})

    async def _history(self, owner: str) -> tuple[list[Judged], tuple[int, str]]:
        if owner in self._known and time.monotonic() - self._looked[owner] < FRESH_S:
            return self._known[owner][1], self._known[owner][0]
        self._looked[owner] = time.monotonic()
        version = await self._database.read(lambda c: store.version(c, owner))
        if owner not in self._known or self._known[owner][0] != version:
            history = await self._database.read(lambda c: store.history(c, owner)) if version[0] else []
            self._known[owner] = (version, history)
        return self._known[owner][1], version


def _learn(history: list[Judged], models: tuple[str, ...]) -> tuple[Weights, Calibration]:
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
        from ..reliability.calibration import restored
        from ..reliability.feedback import measure

        kind = measure(spec.protocol, decision.confidence_rule)
        found = restored(spec.calibration).of(kind, decision.confidence)
        # What is known of other protocols alone is no outcome of this one.
        if found is not None and found.n:
            fields = {"confidence": found.confidence, "confidence_rule": found.rule}
            told |= {"raw_confidence": decision.confidence, "raw_rule": decision.confidence_rule}
    return {**fields, "detail": {**decision.detail, **told}} if told else {}
