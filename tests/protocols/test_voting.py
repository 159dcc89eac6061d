"""voting, driven by hand. Names follow PROTOCOLS.md, section voting."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import log1p
from typing import Any

import pytest

from pnyx.core.decision import Given
from pnyx.core.models import Seat, strengths
from pnyx.core.steps import Ask, Decision, Reply
from pnyx.core.text import Material
from pnyx.core.voting.stopping import posterior
from pnyx.errors import NoQuorum, UsageError
from pnyx.protocols.call_bounds import call_bounds
from pnyx.protocols.voting import PROTOCOL
from pnyx.testing import ProtocolDriver, Script, prompt_name
from tests.support.seats import seat

A, B, C = seat("A", "one:small", 2.0), seat("B", "two:large", 9.0), seat("C", "three:mid")
SEATS = (A, B, C)


def vote(value: object, why: str = "Counted twice.") -> str:
    return f"{why}\nFinal answer: {value}"


def ruling(pick: Seat, answer: str) -> str:
    return f"The others slip in step two.\n\nBEST: {pick.label}\n\n{answer}"


def said(votes: Sequence[str | None], *judgements: str | None) -> Script:
    """Votes in the order of the seats; judgements in the order they are asked for, the last for ever."""
    turn = list(judgements)

    def say(ask: Ask) -> str | None:
        if prompt_name(ask) == "vote":
            return votes[SEATS.index(ask.seat)]
        return turn.pop(0) if len(turn) > 1 else turn[0]

    return say


def run(say: Script, **options: Any) -> tuple[ProtocolDriver, Decision]:
    driven = ProtocolDriver(PROTOCOL, say, seats=SEATS, **options)
    return driven, driven.decide()


def shown(ask: Ask) -> list[str]:
    """The labels of the fenced votes, in the order in which the judge sees them."""
    return re.findall(r"^<m[0-9a-f]{10} Answer by (.+)>$", ask.prompt.text, re.MULTILINE)


def test_every_seat_answers_alone_in_parallel_and_the_strongest_judges() -> None:
    driven, decision = run(said([vote(4), vote(5), vote(4)], ruling(A, vote(4, "Two and two."))))
    assert driven.prompts() == ["vote", "vote", "vote", "judge"]
    assert driven.waves == [3, 1]
    assert [ask.seat for ask in driven.asks] == [A, B, C, B]
    assert all("Participant" not in ask.prompt.text for ask in driven.asks_for("vote"))
    assert driven.phases == [("vote", 1), ("judge", 1), ("complete", 1)]
    assert decision.answer == vote(4, "Two and two.")
    assert (decision.final_answer, decision.stop_reason) == ("4", "judged")
    assert decision.detail["judge"] == {"seat": B.label, "model": B.model}
    assert (decision.detail["pick"], decision.detail["settled_by"]) == (A.label, "judge")


def test_the_judge_improves_what_it_picks_and_its_reasons_stay_out_of_the_answer() -> None:
    _, decision = run(said([vote(4), vote(5), vote(4)], ruling(A, vote(4, "Better."))))
    assert decision.answer == vote(4, "Better.")
    assert "step two" not in decision.answer


@pytest.mark.parametrize(
    "reply", ["BEST: Participant A", "**Best:** participant_a", "Best answer: Participant A\n"]
)
def test_a_judge_that_only_picks_ships_the_vote_verbatim(reply: str) -> None:
    driven, decision = run(said([vote(4, "So."), vote(5), vote(4)], reply))
    assert len(driven.asks) == 4
    assert decision.answer == vote(4, "So.")


def test_a_judge_that_is_cut_off_ships_its_pick_verbatim() -> None:
    def say(ask: Ask) -> str | Reply:
        if prompt_name(ask) == "judge":
            return Reply(ask, ruling(A, "The answer is, as we"), truncated=True)
        return vote(4, "Whole.")

    assert run(say)[1].answer == vote(4, "Whole.")


def test_an_answer_of_the_judge_may_name_an_option_like_a_label() -> None:
    text = ruling(A, "The best choice is C.\n\nBest overall: C.\nFinal answer: C")
    driven, decision = run(said([vote("C"), vote("B"), vote("B")], text))
    assert len(driven.asks) == 4
    assert (decision.detail["pick"], decision.final_answer) == (A.label, "C")


def test_the_judge_sees_shuffled_labels_and_never_a_name() -> None:
    orders = set()
    for seed in range(12):
        driven, _ = run(said([f"As large, I say {x}." for x in "123"], ruling(A, "Yes.")), seed=seed)
        (judged,) = driven.asks_for("judge")
        orders.add(tuple(shown(judged)))
        assert sorted(shown(judged)) == sorted(s.label for s in SEATS)
        assert not re.search(r"two:large|large|small", judged.prompt.text)
    assert len(orders) > 3


def test_votes_with_a_short_answer_are_tallied_in_code() -> None:
    driven, decision = run(said([vote("1/2"), vote("0.7"), vote("50%")], ruling(A, vote("0.5"))))
    (event,) = driven.tallies
    assert (event.rule, dict(event.tally), event.winner) == ("plurality", {"1/2": 2, "0.7": 1}, "1/2")
    assert (decision.detail["tally"], decision.detail["margin"]) == ({"1/2": 2, "0.7": 1}, 1)
    assert decision.detail["votes"] == [
        {"seat": A.label, "model": A.model, "answer": "1/2"},
        {"seat": B.label, "model": B.model, "answer": "0.7"},
        {"seat": C.label, "model": C.model, "answer": "1/2"},
    ]


@pytest.mark.parametrize(
    ("votes", "judged", "share", "status"),
    [
        ("444", "4", 1.0, "consensus"),
        ("445", "4", 2 / 3, "majority"),
        ("445", "5", 1 / 3, "decided"),
        ("456", "5", 1 / 3, "plurality"),
        ("445", "9", 0.0, "decided"),
    ],
)
def test_agreement_is_the_share_of_votes_on_the_decisions_answer(
    votes: str, judged: str, share: float, status: str
) -> None:
    _, decision = run(said([vote(x) for x in votes], ruling(A, vote(judged))))
    assert decision.agreement == pytest.approx(share)
    known = posterior({answer: votes.count(answer) for answer in votes})
    assert decision.support == pytest.approx(known.get(judged, 0.0))
    assert (decision.status, decision.final_answer) == (status, judged)


def test_dissent_is_who_voted_for_another_answer_and_why() -> None:
    _, decision = run(said([vote(4), vote(5, "Off by one."), vote(4)], ruling(A, vote(4))))
    assert [(d.seat, d.model, d.text) for d in decision.dissent] == [
        (B.label, B.model, vote(5, "Off by one."))
    ]


def test_answers_that_cannot_be_counted_have_no_agreement_and_dissent_when_not_picked() -> None:
    _, decision = run(said(["Use one.", "Use two.", "Use three."], ruling(C, "Use three, slowly.")))
    assert (decision.status, decision.agreement, decision.support) == ("decided", None, None)
    assert decision.final_answer is None
    assert [d.seat for d in decision.dissent] == [A.label, B.label]


def test_one_countable_vote_measures_nothing() -> None:
    _, decision = run(said([vote(4), "Hard to say.", "Who knows."], ruling(A, vote(4))))
    assert (decision.status, decision.agreement, decision.support) == ("decided", None, None)


def test_a_vote_that_was_cut_off_is_shown_to_the_judge_and_not_counted() -> None:
    def say(ask: Ask) -> str | Reply:
        if prompt_name(ask) == "judge":
            return ruling(B, vote(5))
        return Reply(ask, vote(4, "So far"), truncated=True) if ask.seat == A else vote(5)

    driven, decision = run(say)
    assert decision.detail["tally"] == {"5": 2}
    assert "So far" in driven.asks_for("judge")[0].prompt.text
    assert decision.agreement == pytest.approx(2 / 3)


@pytest.mark.parametrize("aggregation", ["majority", "weighted"])
def test_one_live_vote_needs_no_judge_and_has_no_support(aggregation: str) -> None:
    driven, decision = run(said([None, vote(5), None], "unused"), aggregation=aggregation)
    assert driven.prompts() == ["vote"] * 3
    assert driven.phases == [("vote", 1), ("complete", 1)]
    assert (decision.answer, decision.status, decision.final_answer) == (vote(5), "single", "5")
    assert (decision.support, decision.support_rule, decision.agreement) == (None, None, None)


def test_without_any_vote_there_is_no_quorum() -> None:
    with pytest.raises(NoQuorum):
        run(said([None, None, None], "unused"))


def test_silence_is_nobodys_vote() -> None:
    _, decision = run(said([vote(4), None, vote(4)], ruling(A, vote(4))))
    assert (decision.agreement, decision.status) == (1.0, "consensus")
    assert [v["seat"] for v in decision.detail["votes"]] == [A.label, C.label]


def test_weighted_states_the_weights_as_numbers_for_labels() -> None:
    driven, decision = run(said([vote(4), vote(5), vote(4)], ruling(B, vote(5))), aggregation="weighted")
    assert driven.prompts()[-1] == "weigh"
    logs = {s.label: log1p(p) for s, p in zip(SEATS, (2.0, 9.0, 4.0), strict=True)}
    weights = {label: x / sum(logs.values()) for label, x in logs.items()}
    text = driven.asks[-1].prompt.text
    assert "\n".join(f"{label}: {x:.2f}" for label, x in weights.items()) in text
    assert "large" not in text
    assert decision.detail["weights"] == pytest.approx(weights)
    assert driven.tallies[0].rule == "weighted plurality"
    assert driven.tallies[0].tally["4"] == pytest.approx(weights[A.label] + weights[C.label])


def test_weighted_votes_can_beat_more_of_less_weight() -> None:
    seats = (seat("A", "a:a", 0.5), seat("B", "b:b", 60.0), seat("C", "c:c", 0.5))
    driven = ProtocolDriver(
        PROTOCOL,
        lambda ask: (
            None if prompt_name(ask) == "weigh" else vote(5 if ask.seat.label == "Participant B" else 4)
        ),
        seats=seats,
        aggregation="weighted",
    )
    decision = driven.decide()
    assert decision.final_answer == "5"
    assert decision.agreement == pytest.approx(1 / 3)
    assert decision.status == "plurality"


def test_a_synthesis_does_not_overrule_the_weights_that_were_stated() -> None:
    votes = [vote(4), vote(5), vote(4, "Four.")]  # 4 outweighs 5: ln 3 + ln 5 > ln 10
    for end in (ruling(B, vote(5)), ruling(A, vote("4.5"))):
        for swap in (False, True):
            _, decision = run(said(votes, end), aggregation="weighted", swap=swap)
            assert (decision.answer, decision.final_answer) == (vote(4, "Four."), "4")
            assert (decision.detail["pick"], decision.detail["settled_by"]) == (C.label, "plurality")
            assert [d.seat for d in decision.dissent] == [B.label]
    _, picked = run(said(votes, ruling(B, vote(5))))
    assert (picked.final_answer, picked.detail["settled_by"]) == ("5", "judge")


def test_a_synthesis_stands_where_the_weights_cannot_say() -> None:
    _, agreed = run(said([vote(4), vote(5), vote(4)], ruling(A, vote(4, "Both."))), aggregation="weighted")
    assert (agreed.answer, agreed.detail["settled_by"]) == (vote(4, "Both."), "judge")
    _, free = run(said(["Do it.", "Wait.", "Never."], ruling(B, "Wait a day.")), aggregation="weighted")
    assert (free.answer, free.detail["settled_by"]) == ("Wait a day.", "judge")


def test_strength_is_the_output_price_then_the_parameters_then_equal() -> None:
    assert strengths(SEATS)[B.label] > strengths(SEATS)[C.label] > strengths(SEATS)[A.label]
    assert sum(strengths(SEATS).values()) == pytest.approx(1)
    local = tuple(seat(x, f"local:{x}", 0.0, parameters=n) for x, n in (("A", 0.5), ("B", 1.5)))
    assert strengths(local)["Participant B"] == pytest.approx(log1p(1.5) / (log1p(0.5) + log1p(1.5)))
    unknown = Seat("Participant D", "lab:new")
    assert set(strengths((*SEATS, unknown)).values()) == {0.25}


def test_with_swap_it_judges_twice_in_opposite_orders_at_once() -> None:
    driven, decision = run(said([vote(4), vote(5), vote(4)], ruling(A, vote(4))), swap=True)
    one, two = driven.asks_for("judge")
    assert shown(one) == shown(two)[::-1]
    assert one.seat == two.seat == B
    assert driven.waves == [3, 2]
    assert decision.detail["flipped"] is False
    assert run(said([vote(4)] * 3, ruling(A, vote(4))))[1].detail["flipped"] is None


def test_two_picks_of_one_answer_are_no_flip() -> None:
    _, decision = run(
        said([vote("0.5"), vote(5), vote("1/2")], ruling(A, vote("50%")), ruling(C, vote("1/2"))), swap=True
    )
    assert decision.detail["flipped"] is False


def test_a_flip_is_reported_and_the_tallys_plurality_decides() -> None:
    _, decision = run(
        said([vote(4), vote(5), vote(4)], ruling(B, vote(5)), ruling(A, vote(4, "Second."))), swap=True
    )
    assert decision.detail["flipped"] is True
    assert decision.detail["judgements"] == [
        {"pick": B.label, "answer": "5"},
        {"pick": A.label, "answer": "4"},
    ]
    assert (decision.answer, decision.detail["settled_by"]) == (vote(4, "Second."), "plurality")


def test_a_flip_between_two_minorities_ships_the_pluralitys_strongest_vote() -> None:
    _, decision = run(
        said([vote(4), vote(5), vote(4, "Why.")], ruling(B, vote(5)), ruling(B, vote(6))), swap=True
    )
    assert (decision.answer, decision.detail["pick"]) == (vote(4, "Why."), C.label)


def test_a_flip_without_a_plurality_leaves_the_first_order_standing() -> None:
    _, decision = run(said(["Do it.", "Wait.", "Never."], ruling(B, "Wait."), ruling(C, "No.")), swap=True)
    assert (decision.answer, decision.detail["flipped"]) == ("Wait.", True)
    assert decision.detail["settled_by"] == "first order"


def test_with_swap_one_readable_judgement_is_enough() -> None:
    votes = ["Do it.", "Wait.", "Never."]

    def say(ask: Ask) -> str | None:
        if prompt_name(ask) == "vote":
            return votes[SEATS.index(ask.seat)]
        return ruling(C, "No.") if shown(ask)[0] == first[0] else None

    first = shown(run(said(votes, ruling(C, "No.")))[0].asks_for("judge")[0])
    _, decision = run(say, swap=True)
    assert (decision.answer, decision.detail["flipped"]) == ("No.", None)


def test_a_seat_that_did_not_vote_does_not_judge() -> None:
    driven, _ = run(said([vote(4), None, vote(5)], ruling(A, vote(4))))
    assert driven.asks_for("judge")[0].seat == C


def test_the_best_answer_so_far_is_reported_on_the_way() -> None:
    driven, _ = run(said([vote(4, "Low."), vote(5), vote(4, "Mid.")], ruling(B, vote(5, "End."))))
    assert driven.answers == [None, vote(4, "Mid."), vote(5, "End.")]


def test_context_reaches_every_seat_and_the_judge_fenced() -> None:
    context = (Material("Decision of 2 May", "We chose nine."),)
    driven, _ = run(said([vote(4)] * 3, ruling(A, vote(4))), context=context)
    for ask in driven.asks:
        assert re.search(r"<(m\w{10}) Decision of 2 May>\nWe chose nine\.\n</\1>", ask.prompt.text)


def test_seats_that_do_better_with_fewer_words_get_the_short_prompts() -> None:
    seats = tuple(seat(x, f"{x}:m", short_prompts=True) for x in "AB")
    for aggregation in ("majority", "weighted"):
        driven = ProtocolDriver(
            PROTOCOL,
            lambda ask: vote(4) if prompt_name(ask) == "vote" else "BEST: A",
            seats=seats,
            aggregation=aggregation,
        )
        driven.decide()
        assert all(ask.prompt.id.endswith(".short") for ask in driven.asks)


def test_the_unchanging_part_of_the_two_judgements_comes_first() -> None:
    driven, _ = run(said([vote(4), vote(5), vote(6)], ruling(A, vote(4))), swap=True)
    one, two = (ask.prompt.text for ask in driven.asks_for("judge"))
    shared = next(i for i, (x, y) in enumerate(zip(one, two, strict=False)) if x != y)
    assert "How many?" in one[:shared]


def test_an_unknown_aggregation_is_refused() -> None:
    with pytest.raises(UsageError, match=r"voting.aggregation must be one of majority, weighted"):
        PROTOCOL.resolve_options({"aggregation": "mean"})


def test_the_number_of_calls_is_known_beforehand() -> None:
    assert PROTOCOL.calls is not None
    assert call_bounds(PROTOCOL, SEATS, PROTOCOL.resolve_options({})) == (4, 5)
    assert call_bounds(PROTOCOL, SEATS, PROTOCOL.resolve_options(PROTOCOL.presets["deep"])) == (5, 7)


GIVEN = (Given("4", "Two and two."), Given("5"), Given("4"), Given("6", source="far:away"))


def test_given_answers_are_judged_by_the_strongest_seat_and_nobody_votes() -> None:
    driven, decision = run(said([None] * 3, ruling(A, vote(4))), responses=GIVEN)
    assert [ask.seat for ask in driven.asks_for("judge")] == [ask.seat for ask in driven.asks] == [B]
    assert set(shown(driven.asks[0])) == {f"Participant {name}" for name in "ABC4"}
    assert "far:away" not in driven.asks[0].prompt.text
    assert (decision.final_answer, decision.agreement) == ("4", 0.5)
    assert decision.detail["native"]["Participant 4"] == "6"
    assert call_bounds(PROTOCOL, SEATS, PROTOCOL.resolve_options({}), responses=4) == (1, 2)


def test_of_given_answers_without_a_judge_the_leading_one_stands() -> None:
    _, decision = run(said([None] * 3, None), responses=GIVEN)
    assert (decision.final_answer, decision.stop_reason) == ("4", "no_judge")


def test_an_answer_that_cannot_be_counted_dissents_beside_those_that_can() -> None:
    _, decision = run(said([vote(4), "The premise is broken.", vote(4)], ruling(A, vote(4))))
    assert [d.seat for d in decision.dissent] == [B.label]
    assert decision.agreement == pytest.approx(2 / 3)
