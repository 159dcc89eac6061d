"""The circuit of a model: when runs are told that its host is down, and when one may try it again."""

from __future__ import annotations

import pytest

from pnyx.run.circuit_breaker import DOWN, LONGEST_PAUSE_S, PAUSE_S, RUNS, CircuitBreaker, CircuitBreakers


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


def test_it_opens_when_runs_give_a_model_up_one_after_another_and_says_why_and_for_how_long(
    opened: CircuitBreaker, clock: Clock
) -> None:
    clock.now += 0.5
    assert opened.refusal("new") == "its host is down (connection refused); calls resume in 30 s"
    clock.now += PAUSE_S - 1
    assert (opened.refusal("new") or "").endswith("calls resume in 1 s")


def test_one_run_by_itself_never_opens_it(clock: Clock) -> None:
    circuit = CircuitBreaker(clock)
    for _ in range(10 * RUNS):
        circuit.record_failure("one", "timeout", "no answer")
    assert circuit.refusal("one") is None
    assert circuit.refusal("new") is None


@pytest.mark.parametrize("kind", ["rate_limited", "auth", "not_found", "refused", "malformed", "too_long"])
def test_what_a_host_says_that_is_up_does_not_count_and_starts_the_count_anew(
    clock: Clock, kind: str
) -> None:
    circuit = CircuitBreaker(clock)
    for n in range(RUNS - 1):
        circuit.record_failure(f"run {n}", "overloaded", "503")
    circuit.record_failure("another", kind, "…")
    circuit.record_failure("yet another", "overloaded", "503")
    assert kind not in DOWN
    assert circuit.refusal("new") is None


def test_an_answer_starts_the_count_anew_and_closes_what_is_open(
    opened: CircuitBreaker, clock: Clock
) -> None:
    opened.record_success()
    for n in range(RUNS - 1):
        opened.record_failure(f"run {n}", "unreachable", "connection refused")
    assert opened.refusal("new") is None


def test_after_the_pause_one_run_tries_it_and_the_others_wait_for_what_comes_of_it(
    opened: CircuitBreaker, clock: Clock
) -> None:
    clock.now += PAUSE_S
    assert opened.refusal("probe") is None
    assert opened.refusal("other") is not None
    assert opened.refusal("probe") is None
    opened.record_success()
    assert opened.refusal("other") is None


def test_a_probe_that_fails_doubles_the_pause_up_to_five_minutes_and_an_answer_makes_it_short_again(
    opened: CircuitBreaker, clock: Clock
) -> None:
    pauses = []
    for n in range(6):
        began = clock.now
        while opened.refusal(f"probe {n}") is not None:
            clock.now += 1.0
        pauses.append(clock.now - began)
        opened.record_failure(f"probe {n}", "timeout", "no answer within 30 s")
    assert pauses == [PAUSE_S, 60, 120, 240, LONGEST_PAUSE_S, LONGEST_PAUSE_S]
    opened.record_success()
    for n in range(RUNS):
        opened.record_failure(f"run {n}", "unreachable", "connection refused")
    clock.now += PAUSE_S
    assert opened.refusal("probe") is None


def test_a_probe_of_which_nothing_is_heard_is_followed_by_another_after_a_pause(
    opened: CircuitBreaker, clock: Clock
) -> None:
    clock.now += PAUSE_S
    assert opened.refusal("killed") is None
    clock.now += PAUSE_S - 1
    assert opened.refusal("next") is not None
    clock.now += 1
    assert opened.refusal("next") is None


def test_runs_that_had_asked_before_it_opened_do_not_make_the_pause_longer(
    opened: CircuitBreaker, clock: Clock
) -> None:
    for n in range(20):
        opened.record_failure(f"late {n}", "unreachable", "connection refused")
    clock.now += PAUSE_S
    assert opened.refusal("probe") is None


def test_models_have_circuits_of_their_own(clock: Clock) -> None:
    circuits = CircuitBreakers(clock)
    for n in range(RUNS):
        circuits["lab:a"].record_failure(f"run {n}", "unreachable", "connection refused")
    assert circuits["lab:a"].refusal("new") is not None
    assert circuits["lab:b"].refusal("new") is None
