"""Calibrated confidence, and the measures of calibration."""

from __future__ import annotations

import random
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.reliability.calibration import (
    SHRINK,
    CalibratedConfidence,
    Calibration,
    Curve,
    Outcome,
    brier,
    calibrate,
    ece,
    isotonic,
    reliability_bins,
)

unit = st.floats(0, 1)
pairs = st.lists(
    st.tuples(st.sampled_from((0.0, 0.2, 0.5, 0.55, 0.9, 1.0)) | unit, st.booleans()), max_size=30
)
outcomes = st.lists(
    st.builds(Outcome, st.sampled_from(("voting", "council")), unit, st.booleans()), max_size=40
)


def min_max(pairs: list[tuple[float, bool]], raw: float) -> float:
    """Isotonic regression from its min-max formula (Barlow et al. 1972), at a `raw` of the data."""
    at = sorted({x for x, _ in pairs})

    def mean(low: float, high: float) -> float:
        hits = [right for x, right in pairs if low <= x <= high]
        return sum(hits) / len(hits)

    return max(min(mean(low, high) for high in at if high >= raw) for low in at if low <= raw)


@given(pairs.filter(bool))
def test_the_curve_is_isotonic_regression(pairs: list[tuple[float, bool]]) -> None:
    curve = isotonic(pairs)
    assert curve.n == len(pairs)
    for raw, _ in pairs:
        assert curve.at(raw) == pytest.approx(min_max(pairs, raw))


@given(pairs.filter(bool), unit, unit)
def test_the_curve_is_non_decreasing_and_within_the_unit_interval(
    pairs: list[tuple[float, bool]], one: float, other: float
) -> None:
    low, high = sorted((one, other))
    curve = isotonic(pairs)
    assert 0 <= curve.at(low) <= curve.at(high) <= 1


def test_a_curve_is_linear_between_knots_and_constant_beyond() -> None:
    curve = Curve(((0.2, 0.1), (0.6, 0.5)), 9)
    assert [curve.at(raw) for raw in (0, 0.2, 0.4, 0.6, 1)] == pytest.approx([0.1, 0.1, 0.3, 0.5, 0.5])
    with pytest.raises(ValueError, match="without outcomes"):
        isotonic([]).at(0.5)


@given(outcomes, unit, unit)
def test_calibrated_confidence_is_a_probability_and_rises_with_the_raw_one(
    outcomes: list[Outcome], one: float, other: float
) -> None:
    calibration = calibrate(outcomes)
    low, high = (calibration.of("voting", raw) for raw in sorted((one, other)))
    if not outcomes:
        assert low is high is None
    else:
        assert low is not None
        assert high is not None
        assert 0 <= low.confidence <= high.confidence + 1e-12 <= 1 + 1e-12
        assert low.n == sum(o.protocol == "voting" for o in outcomes)


def test_one_outcome_hardly_moves_the_share_of_right_answers() -> None:
    found = calibrate([Outcome("voting", 0.9, True)]).of("voting", 0.9)
    assert found is not None
    assert found.confidence == pytest.approx(2 / 3, abs=0.03)
    assert found.rule == "calibrated (n=1)"


def test_a_protocol_without_outcomes_uses_the_curve_of_all() -> None:
    calibration = calibrate([Outcome("council", 0.8, n % 4 > 0) for n in range(4000)])
    found = calibration.of("voting", 0.8)
    assert found is not None
    assert found.n == 0
    assert found.confidence == pytest.approx(0.75, abs=0.001)


def test_a_protocol_with_many_outcomes_uses_its_own_curve() -> None:
    council = [Outcome("council", 0.8, True)] * 5000
    for n, near in ((SHRINK, 0.5), (100 * SHRINK, 0.01)):
        found = calibrate([*council, *[Outcome("voting", 0.8, False)] * n]).of("voting", 0.8)
        rest = calibrate([*council, *[Outcome("voting", 0.8, False)] * n]).of("moa", 0.8)
        assert found is not None
        assert rest is not None
        assert found.confidence == pytest.approx(near * rest.confidence, rel=0.02)


def test_a_variant_moves_from_its_protocols_curve_to_its_own_outcomes() -> None:
    whole = [Outcome("voting", 1.0, n < 90) for n in range(100)]
    apart = [Outcome("voting, strongest first", 1.0, n < 60) for n in range(100)]
    before, some, all_ = (calibrate([*whole, *apart[-n:][:n]] if n else whole) for n in (0, 5, 100))
    variants = [one.of("voting, strongest first", 1.0) for one in (before, some, all_)]
    assert [one and one.n for one in variants] == [100, 105, 200]
    plain = before.of("voting", 1.0)
    assert variants[0] == plain is not None
    first, few, many = (one.confidence for one in variants if one)
    assert first > few > many
    assert abs(many - 0.6) < 0.1
    # Outcomes of the variant change the plain protocol only through the curve of all.
    found = all_.of("voting", 1.0)
    assert found is not None
    assert found.confidence == pytest.approx(plain.confidence, abs=0.05)
    assert all_.only("voting").protocols.keys() == {"voting", "voting, strongest first"}
    assert all_.only("council").protocols == {}


def test_a_wrong_confidence_is_within_three_points_after_calibration() -> None:
    """A raw confidence of 0.5 + p / 2 for a true probability p, like rigor."""
    chance = random.Random(3)

    def draw(n: int) -> list[Outcome]:
        true = [chance.random() for _ in range(n)]
        return [Outcome("consensus", 0.5 + p / 2, chance.random() < p) for p in true]

    calibration, held_out = calibrate(draw(3000)), draw(3000)
    confidences = [(calibration.of("consensus", one.raw), one.right) for one in held_out]
    assert ece((one.raw, one.right) for one in held_out) > 0.2
    assert ece((found.confidence, right) for found, right in confidences if found) < 0.03


def test_calibration_error_and_brier_score_of_known_cases() -> None:
    sure = [(0.9, True)] * 9 + [(0.9, False)]
    assert ece(sure) == pytest.approx(0)
    assert brier(sure) == pytest.approx(0.09)
    assert ece([(1.0, False), (0.0, True)]) == 1
    assert ece([(0.95, True), (0.95, False), (0.15, False), (0.15, False)]) == pytest.approx(
        (0.45 + 0.15) / 2
    )
    assert ece([]) == brier([]) == 0


@given(pairs)
def test_bins_contain_every_decision_once(pairs: list[tuple[float, bool]]) -> None:
    bins = reliability_bins(pairs)
    assert sum(one.n for one in bins) == len(pairs)
    assert all(one.low - 1e-9 <= one.confidence <= one.high + 1e-9 for one in bins)
    assert [one.low for one in bins] == sorted({one.low for one in bins})


@given(outcomes)
def test_a_calibration_survives_json(outcomes: list[Outcome]) -> None:
    made = calibrate(outcomes)
    stored = asdict(made)
    back = Calibration(
        stored["share"],
        Curve(**stored["all"]),
        {name: Curve(**one) for name, one in stored["protocols"].items()},
    )
    assert back == made
    assert CalibratedConfidence(0.5, 3).rule == "calibrated (n=3)"
