"""Calibrated confidence, and the measures of calibration."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import asdict, replace
from math import exp, log
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.reliability.calibration import (
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
from pnyx.reliability.curves import Curve, fit_beta
from tests.support.properties import examples
from tests.support.rows import rows

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


@examples(40)
@given(pairs.filter(bool), pairs, st.lists(unit, min_size=6, max_size=6))
def test_curves_are_non_decreasing_probabilities_inside_their_intervals(
    pairs: list[tuple[float, bool]], others: list[tuple[float, bool]], supports: list[float]
) -> None:
    curve, before = fit_beta(pairs, others), 0.0
    assert (curve.n, curve.right) == (len(pairs) + len(others), sum(hit for _, hit in (*pairs, *others)))
    for value, low, high in map(curve.at, sorted(supports)):
        assert 0 <= low <= value <= high <= 1
        assert before <= value + 1e-9
        assert 0 < value < 1
        before = value


@examples(30)
@given(pairs.filter(bool))
def test_an_interval_excludes_no_certainty_that_no_outcome_contradicts(
    pairs: list[tuple[float, bool]],
) -> None:
    all_right, all_wrong = (fit_beta([(raw, right) for raw, _ in pairs]) for right in (True, False))
    for raw, _ in pairs:
        assert all_right.at(raw)[2] == 1
        assert all_wrong.at(raw)[1] == 0


def test_a_curve_is_linear_between_knots_and_constant_beyond() -> None:
    curve = Curve("beta", 9, 3, ((0.2, 0.1, 0.0, 0.2), (0.6, 0.5, 0.4, 0.6)))
    assert [curve.at(raw)[0] for raw in (0, 0.2, 0.4, 0.6, 1)] == pytest.approx([0.1, 0.1, 0.3, 0.5, 0.5])


def test_beta_calibration_finds_the_curve_that_made_the_outcomes() -> None:
    chance = random.Random(1)

    def true(raw: float) -> float:
        return 1 / (1 + exp(-(-1 + 0.5 * log(raw) - 2 * log(1 - raw))))

    raws = [chance.uniform(0.02, 0.98) for _ in range(20_000)]
    curve = fit_beta([(raw, chance.random() < true(raw)) for raw in raws])
    assert all(abs(curve.at(k / 20)[0] - true(k / 20)) < 0.035 for k in range(1, 20))


Sampler = Callable[[random.Random], float]


def log_odds(share: float) -> float:
    return log(share / (1 - share))


def votes(*supports: float) -> Sampler:
    return lambda chance: chance.choice(supports)


def anywhere(chance: random.Random) -> float:
    return chance.uniform(0.2, 0.95)


SHAPES: dict[str, tuple[Sampler, Callable[[float], float], float]] = {
    "support is the probability": (anywhere, log_odds, 0.0),
    "votes, and some levels are off any curve": (
        votes(0.31, 0.48, 0.61, 0.75, 0.89),
        {0.31: -0.9, 0.48: 0.3, 0.61: -0.4, 0.75: 1.6, 0.89: 1.0}.__getitem__,
        0.0,
    ),
    "one level only": (votes(0.73), lambda _: -0.2, 0.0),
    "two of three models, or all": (votes(0.42, 0.42, 0.87), lambda raw: 4 * raw - 2.5, 0.0),
    "steps": (anywhere, lambda raw: 2.5 if raw > 0.6 else -0.6, 0.0),
    "upside down": (votes(0.33, 0.66, 0.95), lambda raw: -0.8 * log_odds(raw), 0.0),
    "says nothing": (anywhere, lambda _: 0.4, 0.0),
    "nearly always right": (votes(0.69, 0.87, 0.95), lambda raw: 5 + raw, 0.0),
    "nearly always wrong": (votes(0.31, 0.48), lambda _: -4.5, 0.0),
    "worse of late": (anywhere, log_odds, -0.7),
    "better of late": (votes(0.31, 0.48, 0.61, 0.89), log_odds, 0.7),
}


@pytest.mark.parametrize("n", [20, 300])
def test_the_interval_holds_the_true_share_as_often_as_it_says(n: int) -> None:
    """Whatever the outcomes of a support are like. Its level is 0.9."""
    held: dict[str, list[bool]] = {}
    for name, (draw, logit, drift) in SHAPES.items():
        for seed in range(6):
            chance = random.Random(f"{name} {n} {seed}")
            pairs = []
            for place in range(n):
                raw = draw(chance)
                old = drift * (place / n - 1)
                pairs.append((raw, chance.random() < 1 / (1 + exp(-logit(raw) - old))))
            curve = fit_beta(pairs)
            for raw in (draw(chance) for _ in range(5)):
                _, low, high = curve.at(raw)
                held.setdefault(name, []).append(low <= 1 / (1 + exp(-logit(raw))) <= high)
    shares = {name: fmean(every) for name, every in held.items()}
    assert fmean(shares.values()) > 0.88, shares
    assert min(shares.values()) > 0.6, shares


def test_the_interval_narrows_with_outcomes() -> None:
    chance, widths = random.Random(2), list[float]()
    for n in (30, 300, 3000):
        raws = [chance.uniform(0.2, 0.9) for _ in range(n)]
        _, low, high = fit_beta([(raw, chance.random() < raw) for raw in raws]).at(0.7)
        widths.append(high - low)
    assert widths[0] > 1.2 * widths[1] > 1.2**2 * widths[2]


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


def test_steps_are_learned_from_the_outcomes_of_each_level() -> None:
    chance = random.Random(4)
    pairs = [(raw, chance.random() < (0.95 if raw > 0.5 else 0.3)) for raw in _uniform(chance, 800)]
    curve = fit_beta(pairs)
    assert [curve.at(raw)[0] for raw in (0.1, 0.4, 0.6, 0.9)] == pytest.approx(
        [0.3, 0.3, 0.95, 0.95], abs=0.06
    )


def _uniform(chance: random.Random, n: int) -> list[float]:
    return [chance.random() for _ in range(n)]


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
    found = CalibratedConfidence(0.8, 0.7, 0.9, 1057, 900, "beta")
    assert found.rule == "beta calibration on 1057 outcomes of this panel"
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


@rows("full, first", [(10, 12), (12, 10), (19, 1), (20, 0), (0, 20), (300, 0)])
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
    assert other.high - other.low > 2 * (own.high - own.low)
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
    for seed in range(40):
        learned = calibrate(two_kinds(10, 12, offset, seed), ("a", "b"))
        for raw in (0.3, 0.6, 0.9):
            truth = 1 / (1 + exp(-(log(raw / (1 - raw)) * 0.8 + offset)))
            found = learned.of(*FIRST, raw)
            assert found is not None
            apart.append(found.confidence - truth)
            inside.append(found.low <= truth <= found.high)
    assert abs(fmean(apart)) < 0.08
    assert fmean(inside) > 0.85
