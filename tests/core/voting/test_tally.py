from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import permutations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.models import Seat
from pnyx.core.voting.tally import VoteCount, borda, break_tie, by_seat, majority_of, plurality, weighted
from tests.support.rows import rows

LABELS = ("A", "B", "C", "D")
labels = st.sampled_from(LABELS)
votes = st.lists(st.none() | labels, max_size=12)
weights = st.floats(0, 1e6, allow_nan=False) | st.integers(0, 50).map(lambda n: n / 10)
weighed = st.lists(st.tuples(st.none() | labels, weights), max_size=12)
ranking = st.permutations(LABELS).flatmap(lambda order: st.integers(0, 4).map(lambda n: tuple(order[:n])))
rankings = st.lists(ranking, max_size=8)


def renamed(tally: VoteCount, names: Mapping[str, str]) -> tuple[object, ...]:
    counts = {names[label]: count for label, count in tally.counts.items()}
    return counts, sorted(names[label] for label in tally.leaders), tally.margin, tally.share


def test_plurality_counts_support_leaders_margin_and_share() -> None:
    tally = plurality(["B", "A", "B", None, "C"])
    assert tally == VoteCount({"B": 2, "A": 1, "C": 1}, ("B",), margin=1, share=0.5)
    assert tally.winner == "B"
    assert list(tally.counts) == ["B", "A", "C"]


def test_a_tie_has_leaders_and_no_winner() -> None:
    tally = plurality(["B", "A", None])
    assert (tally.leaders, tally.winner, tally.margin, tally.share) == (("A", "B"), None, 0, 0.5)


@pytest.mark.parametrize("none", [[], [None], [None, None]])
def test_without_votes_there_is_no_leader(none: list[None]) -> None:
    assert plurality(none) == VoteCount({}, (), 0, 0)
    assert plurality(none, live=3).winner is None


def test_an_abstention_is_in_the_denominator_only_with_the_live_seats() -> None:
    assert plurality(["A", "A", None, None]).share == 1
    assert plurality(["A", "A", None, None], live=4).share == 0.5


def test_more_votes_than_live_seats_are_refused() -> None:
    with pytest.raises(ValueError, match="3 votes were cast, more than the 2"):
        plurality(["A", "A", "B"], live=2)


@rows("live, most", [(0, 1), (1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (26, 14)])
def test_a_majority_is_more_than_half(live: int, most: int) -> None:
    assert majority_of(live) == most


@given(st.integers(0, 10**9))
def test_a_majority_is_the_fewest_that_are_more_than_half(live: int) -> None:
    assert 2 * majority_of(live) > live >= 2 * (majority_of(live) - 1)


@given(votes)
def test_two_proposals_never_both_have_a_majority(cast: list[str | None]) -> None:
    counts = plurality(cast).counts.values()
    assert sum(count >= majority_of(len(cast)) for count in counts) <= 1


@given(votes, st.randoms())
def test_plurality_is_anonymous(cast: list[str | None], random: Random) -> None:
    mixed = list(cast)
    random.shuffle(mixed)
    assert plurality(mixed) == plurality(cast)
    assert list(plurality(mixed).counts) == list(plurality(cast).counts)


@given(weighed, st.permutations(LABELS))
def test_weighted_votes_are_neutral(cast: list[tuple[str | None, float]], order: Sequence[str]) -> None:
    names = dict(zip(LABELS, order, strict=True))
    cast_votes, ballot_weights = [vote for vote, _ in cast], [weight for _, weight in cast]
    tally = weighted(cast_votes, ballot_weights)
    other = weighted([vote and names[vote] for vote in cast_votes], ballot_weights)
    assert renamed(tally, names) == renamed(other, {label: label for label in LABELS})


@given(weighed.flatmap(lambda cast: st.tuples(st.just(cast), st.permutations(cast))))
def test_weighted_votes_are_counted_alike_in_every_order(
    orders: tuple[list[tuple[str | None, float]], list[tuple[str | None, float]]],
) -> None:
    one, two = (weighted([v for v, _ in cast], [w for _, w in cast]) for cast in orders)
    assert one == two


@given(votes, labels)
def test_a_further_vote_for_a_leader_makes_it_the_winner(cast: list[str | None], label: str) -> None:
    before, after = plurality(cast), plurality([*cast, label])
    if label in before.leaders:
        assert after.winner == label
        assert after.margin == before.margin + 1


@given(weighed, labels, weights)
def test_further_weight_never_hurts_its_candidate(
    cast: list[tuple[str | None, float]], label: str, more: float
) -> None:
    cast_votes, ballot_weights = [vote for vote, _ in cast], [weight for _, weight in cast]
    if label in weighted(cast_votes, ballot_weights).leaders:
        assert label in weighted([*cast_votes, label], [*ballot_weights, more]).leaders


@given(votes, st.sampled_from([0.1, 0.3, 1, 1.0, 7, 1e-9, 1e9]))
def test_equal_weights_are_a_plurality(cast: list[str | None], weight: float) -> None:
    plain, heavy = plurality(cast), weighted(cast, [weight] * len(cast))
    assert (heavy.leaders, heavy.winner, heavy.share) == (plain.leaders, plain.winner, plain.share)
    assert heavy.counts == {label: float(Fraction(str(weight)) * int(n)) for label, n in plain.counts.items()}


@given(weighed)
def test_shares_and_margins_stay_in_bounds(cast: list[tuple[str | None, float]]) -> None:
    tally = weighted([vote for vote, _ in cast], [weight for _, weight in cast])
    assert 0 <= tally.share <= 1
    assert 0 <= tally.margin <= max(tally.counts.values(), default=0)
    assert (tally.margin > 0) == (tally.winner is not None)


def test_equal_decimal_weights_tie() -> None:
    tally = weighted(["A", "A", "B"], [0.1, 0.2, 0.3])
    assert (tally.leaders, tally.margin, tally.counts) == (("A", "B"), 0, {"A": 0.3, "B": 0.3})
    assert weighted(["A"] * 10, [0.1] * 10).counts == {"A": 1.0}


def test_a_vote_without_weight_is_counted_and_leads_nothing() -> None:
    assert weighted(["A", "B"], [0, 2]) == VoteCount({"B": 2, "A": 0}, ("B",), 2, 1)
    assert weighted(["A"], [0]) == VoteCount({"A": 0}, (), 0, 0)


@pytest.mark.parametrize("weight", [-1, -1e-300, math.nan, math.inf])
def test_a_weight_that_is_negative_or_not_finite_is_refused(weight: float) -> None:
    with pytest.raises(ValueError, match="a weight must be a number from 0 up"):
        weighted(["A"], [weight])


def test_votes_and_weights_must_be_equally_many() -> None:
    with pytest.raises(ValueError, match="zip"):
        weighted(["A", "B"], [1])


def test_borda_of_full_rankings_is_the_textbook_count() -> None:
    assert borda([("B", "C", "A"), ("B", "A", "C"), ("C", "B", "A")], "ABC") == {"A": 1, "B": 5, "C": 3}


def test_unranked_candidates_get_the_mean_of_the_remaining_points() -> None:
    assert borda([("B",)], "ABCD") == {"A": 1, "B": 3, "C": 1, "D": 1}
    assert borda([("D", "A")], "ABCD") == {"A": 2, "B": 0.5, "C": 0.5, "D": 3}
    assert borda([()], "ABC") == {"A": 1, "B": 1, "C": 1}


def test_unknown_and_repeated_labels_are_ignored() -> None:
    assert borda([("Z", "B", "B", "A", "B")], "ABC") == borda([("B", "A")], "ABC")


def test_borda_of_nothing_is_nothing() -> None:
    assert borda([], ()) == {}
    assert borda([("A",)], ()) == {}
    assert borda([], "AB") == {"A": 0, "B": 0}
    assert borda([("A",)], "A") == {"A": 0}


@given(rankings)
def test_every_ranking_has_the_same_number_of_points(ballots: list[tuple[str, ...]]) -> None:
    assert sum(borda(ballots, LABELS).values()) == 6 * len(ballots)


@given(rankings)
def test_a_partial_ranking_is_worth_the_mean_of_its_completions(
    ballots: list[tuple[str, ...]],
) -> None:
    expected = dict.fromkeys(LABELS, Fraction(0))
    for ranking in ballots:
        completions = list(permutations([label for label in LABELS if label not in ranking]))
        for rest in completions:
            order = (*ranking, *rest)
            for label in LABELS:
                below = order[order.index(label) + 1 :]
                expected[label] += Fraction(len(below), len(completions))
    assert borda(ballots, LABELS) == expected


@given(rankings.flatmap(lambda r: st.tuples(st.just(r), st.permutations(r))), st.permutations(LABELS))
def test_borda_is_anonymous_and_neutral(
    orders: tuple[list[tuple[str, ...]], list[tuple[str, ...]]], order: Sequence[str]
) -> None:
    names = dict(zip(LABELS, order, strict=True))
    points = borda(orders[0], LABELS)
    assert borda(orders[1], order) == points
    mapped = borda([[names[label] for label in ranking] for ranking in orders[0]], LABELS)
    assert mapped == {names[label]: count for label, count in points.items()}


@given(rankings, ranking, labels)
def test_moving_up_in_one_ranking_never_costs_points(
    others: list[tuple[str, ...]], ranking: tuple[str, ...], label: str
) -> None:
    place = ranking.index(label) if label in ranking else len(ranking)
    rest = [other for other in ranking if other != label]
    before = borda([*others, ranking], LABELS)
    for higher in range(place + 1):
        after = borda([*others, [*rest[:higher], label, *rest[higher:]]], LABELS)
        assert after[label] >= before[label]


def test_a_tie_is_broken_by_points_then_by_order() -> None:
    leaders = ("A", "B", "C")
    assert break_tie(leaders, [{"A": 1, "B": 2, "C": 2}], order=["C", "A", "B"]) == "C"
    assert break_tie(leaders, [{"A": 1, "B": 2, "C": 2}, {"A": 9, "B": 5, "C": 4}], order=["C"]) == "B"
    assert break_tie(leaders, order=["D", "B", "A", "C"]) == "B"
    assert break_tie(["B"]) == "B"


def test_a_label_without_points_ranks_below_labels_with_points() -> None:
    assert break_tie(["A", "B"], [{"B": -3}]) == "B"


@pytest.mark.parametrize(
    ("leaders", "order", "message"),
    [((), ("A",), "leaders is empty"), (("A", "B"), ("C",), "order names none")],
)
def test_an_unbreakable_tie_is_an_error(
    leaders: tuple[str, ...], order: tuple[str, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        break_tie(leaders, [], order)


@given(st.sets(labels, min_size=1), rankings, st.permutations(LABELS), st.randoms())
def test_the_order_of_the_leaders_decides_nothing(
    leaders: set[str], ballots: list[tuple[str, ...]], order: list[str], random: Random
) -> None:
    mixed = sorted(leaders)
    random.shuffle(mixed)
    points = [borda(ballots, LABELS)]
    assert break_tie(mixed, points, order) == break_tie(sorted(leaders), points, order)
    assert break_tie(mixed, points, order) in leaders


def test_weights_count_only_if_all_are_known() -> None:
    seats = [Seat("Participant A", "a:a", weight=3.0), *(Seat(f"Participant {x}", "b:b") for x in "BC")]
    assert by_seat(["5", "4", "4"], seats).counts == {"4": 2.0, "5": 1.0}
