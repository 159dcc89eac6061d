"""consensus, driven by hand: no loop, no host, no database. Names follow PROTOCOLS.md, section consensus."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pnyx.core.models import Price, Seat
from pnyx.core.phases import START
from pnyx.core.steps import Ask
from pnyx.errors import NoQuorum, UsageError
from pnyx.protocols.call_bounds import call_bounds
from pnyx.protocols.consensus import PHASES, PROTOCOL
from pnyx.protocols.shared.challenge import challengers
from pnyx.protocols.shared.critique import CAPS
from pnyx.protocols.shared.evidence import OPEN
from pnyx.testing import ProtocolDriver, Script

FLAW = "The claim that nobody needs backups is false: disks fail at 1 % a year."
OTHER = "The cost of the second replica is missing from the comparison altogether."


def seat(label: str, model: str, output: float = 4.0, **more: Any) -> Seat:
    return Seat(f"Participant {label}", model, price=Price(1.0, output), **more)


A, B, C, D = (
    seat("A", "one:small", 2.0),
    seat("B", "two:large", 9.0),
    seat("C", "three:mid"),
    seat("D", "two:other"),
)


def debate(script: Script, *, seats: tuple[Seat, ...] = (A, B, C), **options: Any) -> ProtocolDriver:
    return ProtocolDriver(PROTOCOL, script, seats, **{"question": "Should we?", **options})


def kind(ask: Ask) -> str:
    return ask.prompt.id.removeprefix("consensus/").partition("+")[0]


def words(*challenges: str) -> Callable[[Ask], str]:
    """Proposals and revisions numbered in order; the challenges in turn."""
    numbers: dict[str, Iterator[int]] = {}
    turn = iter(challenges)

    def say(ask: Ask) -> str:
        if kind(ask) == "challenge":
            return next(turn, OTHER)
        count = numbers.setdefault(kind(ask), iter(range(1, 99)))
        return f"{kind(ask)} {next(count)}"

    return say


def test_one_round_goes_propose_challenge_revise_commit_complete() -> None:
    run = debate(words(FLAW, OTHER), rounds=1)
    decision = run.decide()
    assert run.phases == [("propose", 1), ("challenge", 1), ("revise", 1), ("commit", 1), ("complete", 1)]
    assert decision.answer == "revise 1"
    assert (decision.status, decision.stop_reason, decision.rounds) == ("decided", "max_rounds", 1)
    assert decision.agreement is None


def test_the_strongest_eligible_seat_proposes_and_revises() -> None:
    run = debate(words(), rounds=1)
    run.decide()
    assert [a.seat for a in run.asks if kind(a) in ("propose", "revise")] == [B, B]
    searcher = seat("B", "two:large", 9.0, proposer_eligible=False)
    run = debate(words(), seats=(A, searcher, C), rounds=1)
    run.decide()
    assert run.asks[0].seat == C


def test_a_proposer_that_falls_silent_is_replaced_by_the_next_strongest() -> None:
    run = debate(lambda ask: None if ask.seat == B else words()(ask), rounds=1)
    decision = run.decide()
    assert [a.seat for a in run.asks if kind(a) == "propose"] == [B, C]
    assert decision.answer == "revise 1"


def test_the_prompt_of_propose_carries_the_date_as_data() -> None:
    run = debate(words(), rounds=1)
    run.decide()
    assert "Today is 2026-01-02." in run.asks[0].prompt.text


def test_challengers_are_of_other_providers_first_then_other_models_then_the_proposers_own() -> None:
    twin = seat("E", "two:large", 9.0)
    assert challengers((A, B, C, D), B) == [A, C, D, B]
    assert challengers((B, D, A), B)[:2] == [A, D]
    assert challengers((B, twin), B) == [twin, B]
    assert challengers((A, seat("F", "one:big"), B), B)[0] == A
    assert challengers((A, B, C), B)[0] == A


def test_two_seats_challenge_at_once_by_default() -> None:
    four = tuple(seat(x, f"{x}:m") for x in "ABCD")
    run = ProtocolDriver(PROTOCOL, words(), seats=four)
    run.decide()
    assert run.prompts() == [
        "propose",
        *["challenge"] * 2,
        "revise",
        "propose-again",
        *["challenge"] * 2,
        "revise",
    ]
    assert run.waves == [2, 2]


def test_framings_go_round_flaw_alternative_risk_advocate() -> None:
    many = tuple(seat(x, f"{x}:m") for x in "ABCDEF")
    run = debate(words(), seats=many, rounds=1, challengers=5)
    run.decide()
    framings = [a.prompt.id.rpartition("/")[2] for a in run.asks if kind(a) == "challenge"]
    assert framings == ["flaw", "alternative", "risk", "advocate", "flaw"]


def test_flattering_challenges_are_flagged_and_leave_rigor() -> None:
    run = debate(words("Great answer! I fully agree with all of it.", OTHER), rounds=1)
    decision = run.decide()
    assert decision.rigor == 0.5
    assert [d.text for d in decision.dissent] == [OTHER]
    flagged = [c["flagged"] for c in decision.detail["challenges"]]
    assert flagged[0]
    assert flagged[1] is None


def test_a_flagged_challenge_is_still_shown_to_who_revises() -> None:
    praise = "Great answer! I fully agree with all of it."
    run = debate(words(praise, OTHER), rounds=1)
    run.decide()
    (revise,) = (ask.prompt.text for ask in run.asks if kind(ask) == "revise")
    assert praise in revise
    assert OTHER in revise


def test_a_revision_is_given_all_challenges_under_labels() -> None:
    many = tuple(seat(x, f"{x}:m") for x in "ABCDE")
    said = [f"Objection {n} stands." for n in range(4)]
    run = debate(words(*said), seats=many, rounds=1, challengers=4)
    run.decide()
    (revise,) = (ask for ask in run.asks if kind(ask) == "revise")
    authors = [ask.seat.label for ask in run.asks if kind(ask) == "challenge"]
    for label, text in zip(authors, said, strict=True):
        assert f" {label}>\n{text}\n</" in revise.prompt.text
    assert revise.seat == run.asks[0].seat


def test_commit_makes_no_call() -> None:
    run = debate(words(FLAW, OTHER), rounds=1)
    decision = run.decide()
    assert [kind(ask) for ask in run.asks] == ["propose", "challenge", "challenge", "revise"]
    assert decision.answer == "revise 1"


def test_rigor_runs_from_zero_to_one() -> None:
    praise = "Great answer! I fully agree."
    assert debate(words(praise, praise), rounds=1).decide().rigor == 0.0
    assert debate(words(FLAW, OTHER), rounds=1).decide().rigor == 1.0


@pytest.mark.parametrize("question_kind", list(CAPS))
def test_support_is_capped_by_the_kind_of_question(question_kind: str) -> None:
    sure = tuple(seat(x, f"{x}:m") for x in "ABCDEFGH")

    def say(ask: Ask) -> str:
        return f"{words(*[FLAW] * 7)(ask)}\nFinal answer: 4"

    decision = debate(say, seats=sure, rounds=9, challengers=7, threshold=1.0, kind=question_kind).decide()
    assert decision.support == CAPS[question_kind]
    assert str(decision.support_rule).endswith(f", capped for {question_kind} questions")


def test_the_caps_are_the_specified_ones_and_without_a_kind_support_stands() -> None:
    assert CAPS == {"factual": 0.95, "technical": 0.9, "creative": 0.85, "judgment": 0.8, "strategic": 0.7}
    decision = debate(words(FLAW, OTHER), rounds=1).decide()
    assert (decision.support, decision.support_rule) == (1 / 3, OPEN)


def test_dissent_names_label_model_and_words() -> None:
    dissent = debate(words(FLAW, OTHER), rounds=1).decide().dissent
    assert [(d.seat, d.model, d.text) for d in dissent] == [
        ("Participant A", "one:small", FLAW),
        ("Participant C", "three:mid", OTHER),
    ]


def test_a_silent_challenger_is_an_abstention_and_not_a_challenge() -> None:
    run = debate(lambda ask: None if ask.seat == A else words(FLAW)(ask), rounds=1)
    decision = run.decide()
    assert decision.rigor == 1.0
    assert len(decision.dissent) == 1


def test_without_any_challenge_there_is_no_revision() -> None:
    run = debate(lambda ask: None if kind(ask) == "challenge" else "x", rounds=1)
    with pytest.raises(NoQuorum):
        run.decide()
    assert run.phases[-1] == ("challenge", 1)


def test_one_seat_that_challenges_itself_is_no_quorum() -> None:
    for seats, challenged in (((A, B), 2), ((A, B, C), 4)):
        run = debate(
            lambda ask: words(FLAW)(ask) if ask.seat == B else None,
            seats=seats,
            rounds=2,
            challengers=challenged,
        )
        with pytest.raises(NoQuorum, match="nobody but the proposer"):
            run.decide()


def test_the_first_round_never_converges() -> None:
    run = debate(words(FLAW, FLAW, FLAW, FLAW), threshold=0.0)
    decision = run.decide()
    assert decision.rounds == 2
    assert decision.detail["overlap"][0] == 0.0


def test_it_converges_when_challenges_repeat_themselves() -> None:
    decision = debate(words(FLAW, OTHER, OTHER, FLAW)).decide()
    assert (decision.converged, decision.consensus_reached, decision.rounds) == (True, False, 2)
    assert (decision.status, decision.stop_reason) == ("stalled", "converged")
    assert decision.detail["overlap"] == [0.0, 1.0]


def test_an_overlap_of_exactly_the_threshold_converges() -> None:
    challenges = ("aa bb cc", "aa bb cc", "bb cc dd", "bb cc dd")
    assert debate(words(*challenges), threshold=0.5, rounds=2).decide().converged
    assert not debate(words(*challenges), threshold=0.51, rounds=2).decide().converged


def test_new_challenges_keep_it_going_until_the_last_round() -> None:
    fresh = [f"{x} objection{x} word{x} thing{x}" for x in "abcdef"]
    decision = debate(words(*fresh)).decide()
    assert (decision.converged, decision.rounds, decision.status) == (False, 3, "decided")
    assert decision.consensus_reached is False


def test_the_next_proposer_builds_on_the_decision_and_its_challenges_only() -> None:
    fresh = [f"{x} objection{x} word{x} thing{x}" for x in "abcdef"]
    run = debate(words(*fresh))
    run.decide()
    prompt = [a for a in run.asks if kind(a) == "propose-again"][1].prompt
    task, labels = (
        prompt.text[prompt.breaks[-1] :],
        re.findall(r"^<m\w+ ([^>]*)>\n(.*)", prompt.text, re.MULTILINE),
    )
    named = {text for label, text in labels if f'"{label}"' in task}
    assert {fresh[2], fresh[3]} < named
    assert any("revise 2" in text for text in named)
    assert not any("revise 1" in text or fresh[0] in text for text in named)
    # What it does not build on is the first to go where a window is small.
    assert [prompt.text[start:end].count("revise 1") for start, end in prompt.spare].count(1) == 1


def test_the_best_answer_so_far_is_reported_on_the_way() -> None:
    run = debate(words(FLAW, OTHER, OTHER, FLAW))
    run.decide()
    assert run.answers[:5] == [None, "propose 1", "propose 1", "revise 1", "revise 1"]
    assert run.answers[5:] == ["revise 1", "revise 1", "revise 2", "revise 2"]


def test_no_prompt_names_a_model_or_provider() -> None:
    run = debate(lambda ask: "As large, I say no. two:large knows.", rounds=2)
    run.decide()
    for ask in run.asks:
        assert "two:large" not in ask.prompt.text
        assert " large" not in ask.prompt.text


def test_the_unchanging_part_of_a_prompt_comes_first() -> None:
    run = debate(words(), rounds=1, challengers=2)
    run.decide()
    one, other = (a.prompt.text for a in run.asks if kind(a) == "challenge")
    shared = next(i for i, (x, y) in enumerate(zip(one, other, strict=False)) if x != y)
    assert "propose 1" in one[:shared]


@pytest.mark.parametrize("source", [START, "propose", "challenge", "revise", "commit"])
def test_any_phase_that_is_not_terminal_may_fail(source: str) -> None:
    PHASES.check(source, "failed", {})


def test_by_default_three_rounds_two_challengers_and_a_threshold_of_seven_tenths() -> None:
    assert PROTOCOL.resolve_options({}) == {"rounds": 3, "challengers": 2, "threshold": 0.7, "kind": ""}


def test_options_out_of_bounds_are_refused_with_their_bounds() -> None:
    with pytest.raises(UsageError, match=r"consensus.rounds must be between 1 and 20, not 0"):
        PROTOCOL.resolve_options({"rounds": 0})
    with pytest.raises(UsageError, match=r"no option 'rounds_'; did you mean rounds\? It has: challengers"):
        PROTOCOL.resolve_options({"rounds_": 1})


def test_the_number_of_calls_is_known_beforehand() -> None:
    assert PROTOCOL.calls is not None
    assert call_bounds(PROTOCOL, (A, B, C), PROTOCOL.resolve_options({})) == (8, 12)
    assert call_bounds(PROTOCOL, (A, B, C), PROTOCOL.resolve_options({"rounds": 1})) == (4, 4)
