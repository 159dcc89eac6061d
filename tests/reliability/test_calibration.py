"""Calibrated confidence, and the measures of calibration."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, replace
from math import exp, log
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.reliability.calibration import (
    CHOOSE,
    ENOUGH,
    CalibratedConfidence,
    Outcome,
    brier,
    calibrate,
    cross_fitted,
    ece,
    fit,
    from_dict,
    reliability_bins,
)
from pnyx.reliability.curves import Curve, fit_beta, fit_isotonic

unit = st.floats(0, 1)
pairs = st.lists(
    st.tuples(st.sampled_from((0.0, 0.2, 0.5, 0.55, 0.9, 1.0)) | unit, st.booleans()), max_size=60
)
PANEL = ("a", "b")
outcomes = st.lists(
    st.builds(
        Outcome,
        st.sampled_from(("voting", "council")),
        unit,
        st.booleans(),
        st.sampled_from((PANEL, ("a",), ())),
        st.sampled_from(("posterior", "share", None)),
    ),
    max_size=90,
)


def min_max(pairs: list[tuple[float, bool]], raw: float) -> float:
    """Isotonic regression from its min-max formula (Barlow et al. 1972), at a `raw` of the data."""
    at = sorted({x for x, _ in pairs})

    def mean(low: float, high: float) -> float:
        hits = [right for x, right in pairs if low <= x <= high]
        return sum(hits) / len(hits)

    return max(min(mean(low, high) for high in at if high >= raw) for low in at if low <= raw)


@given(pairs.filter(bool))
def test_the_isotonic_curve_is_isotonic_regression(pairs: list[tuple[float, bool]]) -> None:
    curve = fit_isotonic(pairs)
    assert (curve.n, curve.right) == (len(pairs), sum(right for _, right in pairs))
    for raw, _ in pairs:
        assert curve.at(raw)[0] == pytest.approx(min(max(min_max(pairs, raw), 0.005), 0.995))


@pytest.mark.parametrize("method", [fit_beta, fit_isotonic])
@given(pairs=pairs.filter(bool), one=unit, other=unit)
def test_curves_are_non_decreasing_probabilities_inside_their_intervals(
    method: type, pairs: list[tuple[float, bool]], one: float, other: float
) -> None:
    curve = method(pairs)
    low, high = (curve.at(raw) for raw in sorted((one, other)))
    assert low[0] <= high[0] + 1e-9
    for value, least, most in (low, high):
        assert 0 < least <= value <= most < 1


def test_an_isotonic_curve_is_linear_between_knots_and_constant_beyond() -> None:
    curve = Curve("isotonic", 9, 3, ((0.2, 0.1, 0.0, 0.2), (0.6, 0.5, 0.4, 0.6)))
    assert [curve.at(raw)[0] for raw in (0, 0.2, 0.4, 0.6, 1)] == pytest.approx([0.1, 0.1, 0.3, 0.5, 0.5])


def test_beta_calibration_finds_the_curve_that_made_the_outcomes() -> None:
    chance = random.Random(1)

    def true(raw: float) -> float:
        return 1 / (1 + exp(-(-1 + 0.5 * log(raw) - 2 * log(1 - raw))))

    raws = [chance.uniform(0.02, 0.98) for _ in range(20_000)]
    curve = fit_beta([(raw, chance.random() < true(raw)) for raw in raws])
    assert all(abs(curve.at(k / 20)[0] - true(k / 20)) < 0.02 for k in range(1, 20))


def test_the_interval_holds_the_true_share_about_nine_times_in_ten_and_narrows() -> None:
    chance, held, widths = random.Random(2), 0, dict[int, float]()
    for n in (40, 400):
        for _ in range(100):
            drawn = [(raw, chance.random() < raw) for raw in (chance.uniform(0.2, 0.9) for _ in range(n))]
            _, low, high = fit_beta(drawn).at(0.7)
            held += low <= 0.7 <= high
            widths[n] = widths.get(n, 0.0) + (high - low) / 100
    assert 0.85 < held / 200 < 0.97
    assert widths[400] < 0.5 * widths[40]


@given(outcomes, unit)
def test_there_is_a_confidence_from_enough_outcomes_of_one_kind_only(
    outcomes: list[Outcome], raw: float
) -> None:
    calibration = calibrate(outcomes, reversed(PANEL))
    for measure in ("voting", "council"):
        for rule in ("posterior", None):
            own = [one for one in outcomes if one.kind == (measure, PANEL, rule)]
            found = calibration.of(measure, rule, raw)
            assert (found is None) == (len(own) < ENOUGH)
            if found is not None:
                assert (found.n, found.right) == (len(own), sum(one.right for one in own))
                assert found.rule == f"beta calibration on {len(own)} outcomes of this panel"


def test_outcomes_of_others_change_nothing() -> None:
    own = [Outcome("voting", n % 5 / 5, n % 3 > 0, PANEL, "posterior") for n in range(40)]
    others = [
        replace(one, right=False, **change)
        for one in own
        for change in ({"protocol": "voting, strongest first"}, {"panel": ("a",)}, {"rule": "vote share"})
    ]
    alone = calibrate(own, PANEL).of("voting", "posterior", 0.6)
    assert alone == calibrate([*own, *others], PANEL).of("voting", "posterior", 0.6) is not None


def test_isotonic_regression_is_used_where_enough_outcomes_show_that_it_predicts_better() -> None:
    chance = random.Random(4)

    def steps(n: int) -> list[tuple[float, bool]]:
        raws = [chance.random() for _ in range(n)]
        return [(raw, chance.random() < (0.95 if raw > 0.5 else 0.3)) for raw in raws]

    few, many = fit(steps(CHOOSE - 1)), fit(steps(4 * CHOOSE))
    assert few is not None
    assert many is not None
    assert (few.method, many.method) == ("beta", "isotonic")
    smooth = fit([(raw, chance.random() < raw) for raw in (chance.random() for _ in range(2 * CHOOSE))])
    assert smooth is not None
    assert smooth.method == "beta"


def test_a_wrong_support_is_within_three_points_after_calibration() -> None:
    """Support of 0.5 + p / 2 for a true probability p."""
    chance = random.Random(3)

    def draw(n: int) -> list[tuple[float, bool]]:
        true = [chance.random() for _ in range(n)]
        return [(0.5 + p / 2, chance.random() < p) for p in true]

    curve, held_out = fit(draw(3000)), draw(3000)
    assert curve is not None
    assert ece(held_out) > 0.2
    assert ece((curve.at(raw)[0], right) for raw, right in held_out) < 0.03
    assert ece(cross_fitted(held_out)) < 0.03
    assert cross_fitted(held_out[: ENOUGH + 1]) == []


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
    made = calibrate(outcomes, PANEL)
    assert from_dict(json.loads(json.dumps(asdict(made)))) == made
    assert made.only("voting").measures.keys() <= {"voting"}


def test_the_calibration_of_an_earlier_version_calibrates_nothing() -> None:
    """It was learned from shares of votes, of all panels, perhaps from one outcome."""
    curve = {"knots": [[0.5, 1.0]], "n": 1}
    found = from_dict({"share": 0.6, "all": curve, "protocols": {"voting": curve}})
    assert found.of("voting", "posterior of the votes", 0.9) is None


def test_a_confidence_names_its_rule() -> None:
    found = CalibratedConfidence(0.8, 0.7, 0.9, 1057, 900, "isotonic")
    assert found.rule == "isotonic on 1057 outcomes of this panel"
    learned = found.to_dict("voting", PANEL, "posterior of the votes")
    assert (learned["level"], learned["low"], learned["high"], learned["panel"]) == (
        0.9,
        0.7,
        0.9,
        ["a", "b"],
    )


FULL, FIRST = ("voting", "posterior"), ("voting, strongest first", "posterior, strongest first")


def two_kinds(full: int, first: int, offset: float = 0.0, seed: int = 0) -> list[Outcome]:
    """Votes that asked all seats, and those that asked the strongest first, whose log-odds differ."""
    rng = random.Random(seed)

    def outcome(kind: tuple[str, str], apart: float) -> Outcome:
        raw = rng.choice([0.3, 0.45, 0.6, 0.75, 0.9])
        right = rng.random() < 1 / (1 + exp(-(log(raw / (1 - raw)) * 0.8 + apart)))
        return Outcome(kind[0], raw, right, ("a", "b"), kind[1])

    return [outcome(FULL, 0.0) for _ in range(full)] + [outcome(FIRST, offset) for _ in range(first)]


@pytest.mark.parametrize(("full", "first"), [(10, 12), (12, 10), (19, 1), (20, 0), (0, 20), (300, 0)])
def test_twenty_outcomes_of_votes_suffice_whoever_was_asked_first(full: int, first: int) -> None:
    learned = calibrate(two_kinds(full, first), ("a", "b"))
    for (measure, rule), others in ((FULL, first), (FIRST, full)):
        found = learned.of(measure, rule, 0.6)
        assert found is not None
        own = full + first - others
        assert found.n == (own if own >= 20 else full + first)
        assert found.low < found.confidence < found.high
    short = calibrate(two_kinds(full, first)[:19], ("a", "b"))
    assert [short.of(*kind, 0.6) for kind in (FULL, FIRST)] == [None, None]


def test_outcomes_of_the_other_kind_leave_an_interval_for_the_difference() -> None:
    learned = calibrate(two_kinds(2000, 0), ("a", "b"))
    own, other = (learned.of(*kind, 0.6) for kind in (FULL, FIRST))
    assert own is not None
    assert other is not None
    assert own.confidence == other.confidence
    assert other.high - other.low > 5 * (own.high - own.low)
    # With outcomes of its own, the difference is learned.
    seen = calibrate(two_kinds(2000, 19, offset=-0.7), ("a", "b")).of(*FIRST, 0.6)
    assert seen is not None
    assert seen.confidence < own.confidence - 0.05
    assert seen.high - seen.low < other.high - other.low


def test_other_protocols_panels_and_rules_are_no_other_kind() -> None:
    base = two_kinds(10, 12)
    for change in ({"protocol": "deliberate"}, {"panel": ("a",)}, {"rule": "vote share"}):
        mixed = [replace(one, **change) if one.protocol == FULL[0] else one for one in base]
        assert calibrate(mixed, ("a", "b")).of(*FIRST, 0.6) is None


@pytest.mark.parametrize("offset", [-0.5, 0.0, 0.5])
def test_a_confidence_from_twenty_two_votes_of_both_kinds_is_calibrated(offset: float) -> None:
    """Over many homes the mean confidence is near the share right, and the interval holds as it says."""
    apart, inside = [], []
    for seed in range(150):
        learned = calibrate(two_kinds(10, 12, offset, seed), ("a", "b"))
        for raw in (0.3, 0.6, 0.9):
            truth = 1 / (1 + exp(-(log(raw / (1 - raw)) * 0.8 + offset)))
            found = learned.of(*FIRST, raw)
            assert found is not None
            apart.append(found.confidence - truth)
            inside.append(found.low <= truth <= found.high)
    assert abs(fmean(apart)) < 0.08
    assert fmean(inside) > 0.85
