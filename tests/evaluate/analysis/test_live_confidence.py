"""The confidence that an evaluation rates is the one that a live run shows with the same outcomes."""

from __future__ import annotations

import random
from dataclasses import asdict
from typing import Any

import pytest

from pnyx.core.models import Seat
from pnyx.core.steps import Decision
from pnyx.evaluate.analysis.arms import Column, _folds, arms
from pnyx.evaluate.analysis.confidence import confidence
from pnyx.evaluate.analysis.learning import lessons
from pnyx.evaluate.analysis.log import Arm, Log, Row
from pnyx.reliability.calibration import brier, calibrate, ece
from pnyx.reliability.feedback import outcomes
from pnyx.run.calls.limits import Limits
from pnyx.run.learned import calibrate_decision
from pnyx.run.spec import Spec

MODELS = ("lab:a", "lab:b")
RULE = "posterior of the votes"


def row(arm: str, n: int, chance: random.Random) -> Row:
    support = chance.choice((0.3, 0.45, 0.7, 0.9))
    fields: dict[str, Any] = {"confidence": support, "rule": RULE} if arm == "voting" else {}
    is_right = chance.random() < support
    answer = "1" if is_right else "2"
    return Row(
        arm=arm, id=f"q{n:03}", target="1", answer=answer, correct=is_right, run_id=f"{arm}{n}", **fields
    )


def evaluation(n: int) -> Log:
    chance = random.Random(n)
    singles = [Arm(name=model, kind="single", protocol="single") for model in MODELS]
    every = [*singles, Arm(name="voting", kind="protocol", protocol="voting")]
    rows = [row(arm.name, k, chance) for arm in every for k in range(n)]
    return Log(dataset="d", models=MODELS, arms=tuple(every), rows=tuple(rows))


def live(history: Log, support: float) -> Decision:
    """The decision of a run whose history is the graded evaluation."""
    calibration = calibrate(outcomes(judged for _, judged in lessons(history)), MODELS).only("voting")
    seats = tuple(Seat(f"Participant {x}", model) for x, model in zip("AB", MODELS, strict=True))
    stored = asdict(calibration) if calibration.measures else None
    spec = Spec(question="q", protocol="voting", seats=seats, limits=Limits(60.0, 512), calibration=stored)
    decision = Decision(answer="1", support=support, support_rule=RULE)
    return Decision(answer="1", **calibrate_decision(spec, decision))


def column(log: Log) -> Column:
    return next(one for one in arms(log) if one.name == "voting")


@pytest.mark.parametrize("n", [26, 200])
def test_live_confidence_equals_that_of_the_evaluation_for_the_same_outcomes(n: int) -> None:
    log = evaluation(n)
    found = column(log)
    assert len(found.calibrated) == n
    for id, calibrated in list(found.calibrated.items())[:: n // 13]:
        # The questions of a fold are those whose confidence was learned from the same others.
        others = [r for r in log.rows if r.id not in _fold(log, id)]
        shown = live(Log(dataset="d", models=MODELS, arms=log.arms, rows=tuple(others)), _support(found, id))
        assert shown.confidence == calibrated.confidence
        assert shown.confidence_rule == calibrated.rule
        assert shown.detail["calibration"]["n"] == calibrated.n == n - len(_fold(log, id))


def test_the_reported_errors_are_those_of_that_confidence() -> None:
    found = column(evaluation(200))
    pairs = [(one.confidence, found.rows[id].correct) for id, one in found.calibrated.items()]
    figures = confidence(found)
    assert figures is not None
    assert figures["calibrated"]["ece"] == ece(pairs)
    assert figures["calibrated"]["brier"] == brier(pairs)
    assert (figures["calibrated"]["n"], figures["calibrated"]["outcomes"]) == (200, [160, 160])


def test_neither_has_a_confidence_below_twenty_outcomes() -> None:
    log = evaluation(22)
    assert column(log).calibrated == {}
    assert live(evaluation(19), 0.7).confidence is None
    assert live(evaluation(20), 0.7).confidence is not None


def _support(found: Column, id: str) -> float:
    support = found.rows[id].confidence
    assert support is not None
    return support


def _fold(log: Log, id: str) -> set[str]:
    return next(set(test) for _, test in _folds(sorted(log.ids), log.seed) if id in test)
