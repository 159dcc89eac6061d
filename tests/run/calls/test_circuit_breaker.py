"""The circuit of a model: when it refuses calls, and when a run may try the host again."""

from __future__ import annotations

import pytest

from pnyx.run.calls.circuit_breaker import (
    DOWN,
    LONGEST_PAUSE_S,
    PAUSE_S,
    RUNS,
    CircuitBreaker,
    CircuitBreakers,
)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def opened(clock: Clock) -> CircuitBreaker:
    """A circuit that has just opened."""
    circuit = CircuitBreaker(clock)
    for n in range(RUNS):
        assert circuit.refusal("new") is None
        circuit.record_failure(f"run {n}", "unreachable", "connection refused")
    return circuit


def test_it_opens_when_consecutive_runs_fail_on_a_model_and_says_why_and_for_how_long(
    opened: CircuitBreaker, clock: Clock
) -> None:
    clock.now += 0.5
    assert opened.refusal("new") == "its host is down (connection refused); calls resume in 30 s"
    clock.now += PAUSE_S - 1
    assert (opened.refusal("new") or "").endswith("calls resume in 1 s")


def test_a_single_run_never_opens_it(clock: Clock) -> None:
    circuit = CircuitBreaker(clock)
    for _ in range(10 * RUNS):
        circuit.record_failure("one", "timeout", "no answer")
    assert circuit.refusal("one") is None
    assert circuit.refusal("new") is None


@pytest.mark.parametrize("kind", ["rate_limited", "auth", "not_found", "refused", "malformed", "too_long"])
def test_an_error_of_a_host_that_is_up_resets_the_count(clock: Clock, kind: str) -> None:
    circuit = CircuitBreaker(clock)
    for n in range(RUNS - 1):
        circuit.record_failure(f"run {n}", "overloaded", "503")
    circuit.record_failure("another", kind, "…")
    circuit.record_failure("yet another", "overloaded", "503")
    assert kind not in DOWN
    assert circuit.refusal("new") is None


def test_a_reply_resets_the_count_and_closes_an_open_circuit(opened: CircuitBreaker, clock: Clock) -> None:
    opened.record_success()
    for n in range(RUNS - 1):
        opened.record_failure(f"run {n}", "unreachable", "connection refused")
    assert opened.refusal("new") is None


def test_after_the_pause_one_run_tries_the_model_and_the_others_wait_for_its_result(
    opened: CircuitBreaker, clock: Clock
) -> None:
    clock.now += PAUSE_S
    assert opened.refusal("probe") is None
    assert opened.refusal("other") is not None
    assert opened.refusal("probe") is None
    opened.record_success()
    assert opened.refusal("other") is None


def test_a_failed_probe_doubles_the_pause_up_to_five_minutes_and_a_reply_resets_it(
    opened: CircuitBreaker, clock: Clock
) -> None:
    pauses = []
    for n in range(6):
        started_at = clock.now
        while opened.refusal(f"probe {n}") is not None:
            clock.now += 1.0
        pauses.append(clock.now - started_at)
        opened.record_failure(f"probe {n}", "timeout", "no answer within 30 s")
    assert pauses == [PAUSE_S, 60, 120, 240, LONGEST_PAUSE_S, LONGEST_PAUSE_S]
    opened.record_success()
    for n in range(RUNS):
        opened.record_failure(f"run {n}", "unreachable", "connection refused")
    clock.now += PAUSE_S
    assert opened.refusal("probe") is None


def test_a_probe_without_a_result_is_followed_by_another_after_a_pause(
    opened: CircuitBreaker, clock: Clock
) -> None:
    clock.now += PAUSE_S
    assert opened.refusal("killed") is None
    clock.now += PAUSE_S - 1
    assert opened.refusal("next") is not None
    clock.now += 1
    assert opened.refusal("next") is None


def test_calls_from_before_it_opened_do_not_extend_the_pause(opened: CircuitBreaker, clock: Clock) -> None:
    for n in range(20):
        opened.record_failure(f"late {n}", "unreachable", "connection refused")
    clock.now += PAUSE_S
    assert opened.refusal("probe") is None


def test_each_model_has_its_own_circuit(clock: Clock) -> None:
    circuits = CircuitBreakers(clock)
    for n in range(RUNS):
        circuits["lab:a"].record_failure(f"run {n}", "unreachable", "connection refused")
    assert circuits["lab:a"].refusal("new") is not None
    assert circuits["lab:b"].refusal("new") is None
