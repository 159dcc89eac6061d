"""How a council's ballots are counted, and its reviews and rebuttals taken apart."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.parsing.ballots import Ballot
from pnyx.protocols.council.count import Count, describe_ballot
from pnyx.protocols.council.texts import review_of, split_rebuttal
from tests.support.rows import rows

LABELS = [f"Participant {x}" for x in "ABCDE"]


@st.composite
def counts(draw: st.DrawFn) -> Count:
    labels = LABELS[: draw(st.integers(2, 5))]
    rankings = st.lists(st.sampled_from(labels), unique=True).map(tuple)
    finalize = st.builds(Ballot, st.just("finalize"), st.sampled_from(labels), ranking=rankings)
    other = st.builds(Ballot, st.sampled_from(["revise", "split"]), text=st.just("why"), ranking=rankings)
    voters = draw(st.lists(st.sampled_from(labels), min_size=2, unique=True))
    ballots = {seat: draw(st.one_of(finalize, other, st.none())) for seat in voters}
    return Count(tuple(draw(st.permutations(labels))), ballots, draw(st.integers(len(voters), len(labels))))


@given(counts())
def test_a_majority_is_more_than_half_of_the_live_seats_behind_one_proposal(count: Count) -> None:
    for_each = Counter(b.label for b in count.ballots.values() if b and b.kind == "finalize")
    best = max(for_each.values(), default=0)
    assert (count.settled_by == "majority") == (best > count.live / 2)
    assert (count.outcome(None, last=False) == "majority") == (best > count.live / 2)
    assert count.endorsed == best
    assert for_each.get(count.winner, 0) == best


@given(counts())
def test_a_tie_goes_to_most_borda_points_then_to_the_first_in_the_order(count: Count) -> None:
    rivals = [label for label in count.leaders if label != count.winner]
    place = count.candidates.index
    for rival in rivals:
        assert count.points[count.winner] >= count.points[rival]
        if count.points[count.winner] == count.points[rival]:
            assert place(count.winner) < place(rival)


@given(counts())
def test_the_same_ballots_again_end_the_voting(count: Count) -> None:
    assert count.outcome(count, last=False) in ("majority", "deadlock")


def test_a_seat_that_left_makes_the_votes_others_than_before() -> None:
    first = Count(tuple(LABELS[:3]), {LABELS[0]: Ballot("revise"), LABELS[1]: None, LABELS[2]: None}, 3)
    second = Count(tuple(LABELS[:3]), {LABELS[0]: Ballot("revise"), LABELS[1]: None}, 2)
    assert second.outcome(first, last=False) == ""
    assert second.outcome(second, last=True) == "deadlock"


@pytest.mark.parametrize(
    ("ballot", "words"),
    [
        (Ballot("finalize", "Participant B", "it is right"), "FINALIZE: Participant B. it is right"),
        (Ballot("finalize", "Participant B"), "FINALIZE: Participant B"),
        (Ballot("revise", text="the cost"), "REVISE: the cost"),
        (Ballot("split"), "SPLIT"),
    ],
)
def test_a_ballot_in_words(ballot: Ballot, words: str) -> None:
    assert describe_ballot(ballot) == words


@rows(
    "head",
    [
        "NEW PROPOSAL:",
        "**NEW PROPOSAL:**",
        "**New proposal**:",
        "## New Proposal",
        "new proposal:",
        "### NEW PROPOSAL:  ",
    ],
)
def test_what_stands_below_new_proposal_replaces_the_old_one(head: str) -> None:
    assert split_rebuttal(f"They are right.\n\n{head}\n\nUse *two*.\n\nFinal answer: 2") == (
        "They are right.",
        "Use *two*.\n\nFinal answer: 2",
    )


def test_a_new_proposal_may_begin_on_its_line() -> None:
    assert split_rebuttal("Yes.\nNEW PROPOSAL: Use two.") == ("Yes.", "Use two.")


@pytest.mark.parametrize(
    "text",
    [
        "I stand by it.",
        "I see no ground for a new proposal: none of this holds.",
        "They say:\n> NEW PROPOSAL:\n> use two\nI disagree.",
        "The form was\n```\nNEW PROPOSAL:\nuse two\n```\nbut I keep mine.",
    ],
)
def test_without_a_line_of_its_own_nothing_is_replaced(text: str) -> None:
    assert split_rebuttal(text) == (text, "")


@rows(
    "kept",
    [
        "",
        "None",
        "(none)",
        "N/A",
        "unchanged",
        "No change needed.",
        "Not applicable.",
        "No new proposal is needed; my original proposal stands.",
        "There is no need for a new proposal, as my proposal stands as written.",
        "I keep my proposal as it is.",
        "I\u2019ll stand by my original proposal.",
        "**My proposal is unchanged.**",
        "The proposal remains the same.",
        "Same as before.",
        "\nI see no need for changes to my proposal.",
    ],
)
def test_an_empty_new_proposal_replaces_nothing(kept: str) -> None:
    assert split_rebuttal(f"I stand by it.\nNEW PROPOSAL: {kept}") == ("I stand by it.", "")


@pytest.mark.parametrize(
    "new",
    [
        "No change is needed to the schema, because the column exists.",
        "I keep my proposal, but with two doors instead of one.",
        "My proposal stands as it is, with one step more: test it first.",
        "No new proposal for the bridge is needed before 2030.",
    ],
)
def test_a_new_proposal_that_says_more_replaces_the_old_one(new: str) -> None:
    assert split_rebuttal(f"They are right.\nNEW PROPOSAL:\n{new}") == ("They are right.", new)


def test_what_was_thought_aloud_replaces_nothing() -> None:
    text = "<think>\nNEW PROPOSAL:\nperhaps two\n</think>\nI stand by it."
    assert split_rebuttal(text)[1] == ""


@rows(
    "heads",
    [
        ("## Participant A", "## Participant B"),
        ("**Participant A**", "**Participant B:**"),
        ("Participant A:", "Participant B:"),
        ("### Review of Participant A", "### Review of Participant B's proposal"),
        ("## participant_a", "## B"),
        ("#### Proposal of Participant A", "#### Participant B - proposal"),
    ],
)
def test_a_review_is_taken_apart_at_its_headings(heads: tuple[str, str]) -> None:
    review = f"Some words first.\n{heads[0]}\nA's sum is off.\nIt is 7.\n\n{heads[1]}\nB lacks a case."
    assert review_of("Participant A", review, LABELS) == "A's sum is off.\nIt is 7."
    assert review_of("Participant B", review, LABELS) == "B lacks a case."
    assert review_of("Participant C", review, LABELS) == ""


def test_a_review_that_names_authors_in_its_sentences_has_no_headings() -> None:
    review = "Participant A forgets the cost.\nParticipant B is right that it rains, and A is not."
    assert review_of("Participant A", review, LABELS) == review
    assert review_of("Participant C", review, LABELS) == review
