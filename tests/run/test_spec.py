"""The values that a spec accepts, from any interface."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.models import REVISION
from pnyx.core.thinking import EFFORTS, Thinking
from pnyx.errors import UsageError
from pnyx.run.spec import Spec
from tests.support.processes import spec
from tests.support.rows import rows

AMOUNTS = ("budget_usd", "day_usd", "batch_usd", "key_usd", "key_day_usd", "warn_usd", "deadline_s")


@rows("name", AMOUNTS)
@rows("value", [-1, 0, 0.0, math.nan, math.inf, 1e10, 10**400, True, "1"])
def test_an_invalid_amount_is_refused_with_what_to_do(name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=f"{name} must be a number above 0 and at most .*; leave it out"):
        spec(**{name: value}).check()


@rows("value", [-1, 2**32, 2**40, 1.5, True, "1"])
def test_an_invalid_seed_is_refused_with_what_to_do(value: Any) -> None:
    with pytest.raises(
        UsageError, match=r"seed must be a whole number from 0 to 4294967295, not .*; leave it out"
    ):
        spec(seed=value).check()


def test_the_smallest_and_largest_values_are_accepted() -> None:
    for amount in (1e-9, 1, 1e9):
        spec(**dict.fromkeys(AMOUNTS, amount), allow_unknown_price=True).check()
    for seed in (0, 2**32 - 1):
        spec(seed=seed).check()


def test_a_stored_run_without_a_revision_keeps_the_rules_of_revision_1() -> None:
    stored = json.loads(json.dumps(spec().to_json()))
    assert Spec.from_json(stored).panel.revision == REVISION
    del stored["revision"]
    assert Spec.from_json(stored).panel.revision == 1


UNSET, OFF = Thinking(), Thinking("none", 0)
LEVELS = st.builds(Thinking, st.sampled_from([None, *EFFORTS]), st.sampled_from([None, 0, 1000, 2000]))


@given(LEVELS, LEVELS, LEVELS, LEVELS, LEVELS, LEVELS)
def test_thinking_is_that_of_the_request_then_the_phase_the_model_and_the_run(
    asked: Thinking, of_seat: Thinking, request: Thinking, of_phase: Thinking, model: Thinking, run: Thinking
) -> None:
    """asked: for the phase, of_seat: for the seat, request: for all."""
    one = spec(effort=request.effort, thinking_tokens=request.tokens)
    label, other = (seat.label for seat in one.seats[:2])
    named = {label: asdict(of_seat), other: {"tokens": 10**6}}
    one = replace(one, efforts_of_phases={"vote": asdict(asked)}, efforts_of_seats=named)
    limits = replace(
        one.limits, effort=run.effort, thinking_tokens=run.tokens, phases={"vote": asdict(of_phase)}
    )
    one = Spec.from_json(json.loads(json.dumps(replace(one, limits=limits).to_json())))
    seat = replace(one.seats[0], effort=model.effort, thinking_tokens=model.tokens)
    others = [of_seat, request]
    assert one.thinking(seat, "vote") == Thinking.first([asked, *others, of_phase, model, run])
    assert one.thinking(seat, "judge") == Thinking.first([*others, model, run])
    # A ballot needs no thoughts, and may have some only where its phase is configured.
    needs_none = one.thinking(seat, "judge", "none")
    assert needs_none == (OFF if Thinking.first([*others, model, run]) == OFF else Thinking("none"))
    ballot = one.thinking(seat, "vote", "none")
    general = Thinking.first([asked, *others, of_phase, model, run])
    named_phases = [level for level in (asked, of_phase) if level != UNSET]
    configured = Thinking.first(named_phases) if named_phases else Thinking("none")
    assert ballot == (OFF if general == OFF else configured)
    for phase in ("vote", "judge"):
        for effort in (None, EFFORTS[0]):
            tokens = one.thinking(seat, phase, effort).tokens or 0
            assert limits.max_output_tokens + tokens <= one.output_limit(seat)


@given(levels=st.lists(LEVELS, max_size=4))
def test_no_thinking_and_a_limit_of_it_exclude_each_other(levels: list[Thinking]) -> None:
    merged = Thinking.first(levels)
    assert (merged.tokens == 0) == (merged.effort == "none") == (merged == OFF)
    decides = next((level for level in levels if level != UNSET), UNSET)
    if decides.effort == "none" or decides.tokens == 0:
        assert merged == OFF
    else:
        assert merged.effort == (decides.effort or merged.effort)
        assert merged.tokens == (decides.tokens or merged.tokens)


def test_thinking_of_a_higher_place_is_not_turned_off_by_a_lower_one() -> None:
    assert Thinking.first([Thinking(tokens=500), Thinking("none")]) == Thinking(None, 500)
    assert Thinking.first([Thinking("low"), Thinking(tokens=0), Thinking(tokens=500)]) == Thinking("low")
    assert Thinking.first([Thinking("none"), Thinking("high", 500)]) == OFF
    assert Thinking.first([UNSET, Thinking("high"), Thinking("low", 500)]) == Thinking("high", 500)
