"""The confidence that an evaluation rates is the one that a live run shows with the same outcomes."""

from __future__ import annotations

import asyncio
import random
from dataclasses import asdict, replace
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from pnyx.core.models import Seat
from pnyx.core.steps import Decision
from pnyx.evaluate.analysis.arms import Column, _folds, arms
from pnyx.evaluate.analysis.confidence import confidence
from pnyx.evaluate.analysis.learning import lessons
from pnyx.evaluate.analysis.log import Arm, Log, Row
from pnyx.protocols import names
from pnyx.reliability.calibration import Calibration, brier, calibrate, ece
from pnyx.reliability.feedback import JudgedRun, outcomes
from pnyx.run.calls.limits import Limits
from pnyx.run.learned import calibrate_decision
from pnyx.run.spec import Spec
from pnyx.store import Database
from pnyx.store.records import outcomes as store
from tests.support.all_protocols import ScriptedPanel, sit

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
    # In the order of a database, where all outcomes of an evaluation have one time.
    judged = [judged for _, judged in sorted(lessons(history), key=itemgetter(0))]
    calibration = calibrate(outcomes(judged), MODELS).only("voting")
    seats = tuple(Seat(f"Participant {x}", model) for x, model in zip("AB", MODELS, strict=True))
    stored = asdict(calibration) if calibration.measures else None
    spec = Spec(question="q", protocol="voting", seats=seats, limits=Limits(60.0, 512), calibration=stored)
    decision = Decision(answer="1", support=support, support_rule=RULE)
    return Decision(answer="1", **calibrate_decision(spec, decision))


def column(log: Log) -> Column:
    return next(one for one in arms(log) if one.name == "voting")


def test_live_confidence_equals_that_of_the_evaluation_for_the_same_outcomes() -> None:
    n = 26
    log = evaluation(n)
    found = column(log)
    assert len(found.calibrated) == n
    for id, calibrated in list(found.calibrated.items())[::5]:
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


SCENES: tuple[dict[str, Any], ...] = ({"agreed": True}, {"changing": True}, {})


def decisions(name: str) -> list[Decision]:
    """Decisions by the protocol of an arm, on panels that agree, that change their minds, and that differ."""
    protocol, _, option = name.partition(":")
    options: dict[str, Any] = dict([option.split("=")]) if option else {}
    return [sit(protocol, ScriptedPanel(**scene), **options) for scene in SCENES]


ARMS = (*sorted(names()), "voting:aggregation=weighted")


def every_arm(n: int) -> Log:
    """An evaluation of every protocol: its decisions of several kinds, right or wrong by chance."""
    chance = random.Random(7)
    arms = [Arm(name=model, kind="single", protocol="single") for model in MODELS]
    rows = [row(arm.name, k, chance) for arm in arms for k in range(n)]
    for name in ARMS:
        arms.append(Arm(name=name, kind="protocol", protocol=name.partition(":")[0]))
        kinds = decisions(name)
        for k in range(n):
            kind, is_right = kinds[chance.randrange(len(kinds))], chance.random() < 0.6
            fields: dict[str, Any] = {"confidence": kind.support, "rule": kind.support_rule}
            # Ids of runs are in no order of the questions.
            run = f"{chance.random()}"
            rows.append(
                Row(arm=name, id=f"q{k:03}", target="1", answer="1", correct=is_right, run_id=run, **fields)
            )
    return Log(dataset="d", models=MODELS, arms=tuple(arms), rows=tuple(rows))


def test_every_protocol_shows_live_the_number_that_its_evaluation_rates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pnyx.evaluate.analysis.arms.FOLDS", 2)  # Fewer fits; the rule is the same.
    log = every_arm(48)
    held_out = next(set(test) for _, test in _folds(sorted(log.ids), log.seed))
    known = replace(log, rows=tuple(r for r in log.rows if r.id not in held_out))
    calibration = asyncio.run(learned(tmp_path, known))
    shown = set()
    for column in arms(log):
        for id in held_out if column.kind == "protocol" else ():
            found = column.rows[id]
            decision = Decision(answer="1", support=found.confidence, support_rule=found.rule)
            own = calibration.only(column.protocol)
            seats = (Seat("Participant A", MODELS[0]), Seat("Participant B", MODELS[1]))
            limits = Limits(60.0, 512)
            spec = Spec(
                question="?", protocol=column.protocol, seats=seats, limits=limits, calibration=asdict(own)
            )
            fields = calibrate_decision(spec, decision)
            rated = column.calibrated.get(id)
            assert fields["confidence"] == (rated and rated.confidence), (column.name, id)
            if rated is not None:
                assert fields["detail"]["calibration"]["low"] == rated.low
                assert fields["detail"]["calibration"]["n"] == rated.n
                shown.add(column.name)
    # The others state no support, or too few outcomes have the same kind of it.
    assert shown >= set(ARMS) - WITHOUT, set(ARMS) - shown


WITHOUT = {"single"}


async def learned(folder: Path, history: Log) -> Calibration:
    """What live runs learn from a graded evaluation, by way of the database."""

    def record(connection: Connection) -> list[JudgedRun]:
        for run_id, judged in lessons(history):
            store.record(connection, run_id, "me", "2026-01-02T00:00:00Z", judged)
        return store.history(connection, "me")

    database = await Database.open(folder / "pnyx.db")
    try:
        return calibrate(outcomes(await database.write(record)), MODELS)
    finally:
        await database.close()


def _support(found: Column, id: str) -> float:
    support = found.rows[id].confidence
    assert support is not None
    return support


def _fold(log: Log, id: str) -> set[str]:
    return next(set(test) for _, test in _folds(sorted(log.ids), log.seed) if id in test)
