"""State of a process by names that clients choose is bounded, and entries in use are kept."""

from __future__ import annotations

from pathlib import Path

from pnyx.core.models import Seat
from pnyx.run import learned
from pnyx.run.calls import circuit_breaker, hedging
from pnyx.run.calls.circuit_breaker import CircuitBreakers
from pnyx.run.calls.hedging import Hedging
from pnyx.run.calls.limits import Limits
from pnyx.run.learned import LearnedHistory
from pnyx.run.spec import Spec
from pnyx.store import Database

NAMES = 10_000


def test_circuit_breakers_are_bounded_and_an_open_one_is_kept() -> None:
    circuits = CircuitBreakers()
    for run in range(circuit_breaker.RUNS):
        circuits["lab:down"].record_failure(f"run {run}", "unreachable", "refused")
    for n in range(NAMES):
        assert circuits[f"lab:made-up-{n}"].refusal("run") is None
    assert len(circuits) == circuit_breaker.MODELS
    assert circuits["lab:down"].refusal("another run") is not None


def test_latencies_are_bounded_and_those_of_a_model_in_use_are_kept() -> None:
    hedges = Hedging()
    for n in range(NAMES):
        hedges.record(f"lab:made-up-{n}", 1.0)
        hedges.record("lab:real", 2.0)
    assert hedges.patience("lab:real") == 2.0
    assert hedges.patience("lab:made-up-0") is None
    assert len(hedges._latencies) == hedging.MODELS


async def test_histories_are_bounded(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "pnyx.db")
    history = LearnedHistory(database)
    limits = Limits(30.0, 100, 0)
    for n in range(3 * learned.OWNERS):
        seats = (Seat("Participant A", f"lab:{n}"),)
        spec = Spec(question="Why?", protocol="single", seats=seats, limits=limits, owner=f"key-{n}")
        assert await history.apply(spec) == spec
    assert len(history._histories) == learned.OWNERS
    await database.close()
