"""auto, driven by hand. Names follow PROTOCOLS.md, section auto."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.parsing.verdicts import QUESTION_CLASS
from pnyx.core.steps import Ask, Brief, Decision, Panel, Run
from pnyx.core.text import Material
from pnyx.core.voting.stopping import FULL_POLL_EVERY, STOP_POSTERIOR, posterior
from pnyx.errors import NoQuorum
from pnyx.prompts import load
from pnyx.protocols import get
from pnyx.protocols.auto import PROTOCOL, auto
from pnyx.protocols.call_bounds import call_bounds
from pnyx.testing import ProtocolDriver, Script, prompt_name
from tests.support.rows import rows
from tests.support.seats import lab_seat as seat

A, B, C = seat("A", 2.0, 3.0), seat("B", 9.0, 2.0), seat("C", 4.0, 1.0)
DECIDED = Decision(answer="Twelve.", status="majority", agreement=0.75, detail={"votes": []})


def routed(say: Script, **more: Any) -> ProtocolDriver:
    return ProtocolDriver(PROTOCOL, say, (A, B, C), decide_run=lambda step: DECIDED, **more)


ROUTES = [
    ("vote-first", "checkable", "deliberate", {"early": True}),
    ("vote-first", "open", "consensus", {}),
    ("vote-first", "writing", "council", {"rounds": 3}),
    ("vote-first", "compound", "decompose", {}),
    ("classic", "reasoning", "consensus", {}),
    ("classic", "judgment", "voting", {}),
    ("classic", "compound", "decompose", {}),
]
PROMPTS = {"vote-first": "auto/route", "classic": "auto/classify"}


@rows("routing, found, protocol, options", ROUTES)
@rows("form", ['{{"class": "{}"}}', "{}", "Class: **{}**"])
def test_the_class_decides_the_protocol(
    routing: str, found: str, protocol: str, options: dict[str, Any], form: str
) -> None:
    run = routed(lambda ask: form.format(found), routing=routing)
    decision = run.decide()
    assert [(step.protocol, dict(step.brief.options)) for step in run.runs] == [(protocol, options)]
    assert run.phases == [("classify", 1), ("answer", 1), ("complete", 1)]
    assert [ask.prompt.id for ask in run.asks] == [PROMPTS[routing]]
    assert decision.detail["class"] == found
    assert (decision.detail["route"], decision.detail["fell_back"]) == (protocol, False)


def test_votes_come_first_by_default() -> None:
    run = routed(lambda ask: "checkable")
    assert run.decide().detail["route"] == "deliberate"


def test_a_run_without_the_option_is_one_of_the_first_version_and_has_its_table() -> None:
    async def stored(brief: Brief, panel: Panel) -> Decision:
        return await auto(replace(brief, options={"decompose": True}), panel)

    protocol = replace(PROTOCOL, script=stored)
    run = ProtocolDriver(protocol, lambda ask: "judgment", (A, B, C), decide_run=lambda step: DECIDED)
    decision = run.decide()
    assert [ask.prompt.id for ask in run.asks] == ["auto/classify"]
    assert [step.protocol for step in run.runs] == ["voting"]
    assert "routing" not in decision.detail


@pytest.mark.parametrize("question", ["How many?", "Why <so>?", "\u0661 + \u0661 = ?"])
def test_the_classic_table_asks_what_it_always_asked(question: str) -> None:
    """Byte for byte: the fingerprint covers the seat, the prompt and the schema."""
    run = routed(lambda ask: "judgment", routing="classic", question=question)
    run.decide()
    assert (
        run.asks[0].fingerprint
        == Panel((A, B, C)).ask(C, load("auto/classify")(question=question), QUESTION_CLASS).fingerprint
    )


def checked(answers: Mapping[str, str], *weights: float | None, **more: Any) -> ProtocolDriver:
    """The protocol of a checkable question, as `auto` runs it. answers: seat -> its first answer."""
    seats = tuple(
        replace(one, weight=weight) for one, weight in zip((A, B, C), weights or (None,) * 3, strict=True)
    )

    def say(ask: Ask) -> str:
        answer = f"Final answer: {answers[ask.seat.label[-1]]}"
        if prompt_name(ask) == "position":
            return f"STEELMAN: It may.\nCRITIQUE: It does not.\nDECISION: So.\n{answer}"
        return f"So it is.\n{answer}"

    return ProtocolDriver(get("deliberate"), say, seats, early=True, **more)


def test_a_checkable_question_that_all_agree_on_costs_one_answer_a_seat() -> None:
    run = checked({"A": "12", "B": "12", "C": "12"})
    decision = run.decide()
    assert [prompt_name(ask) for ask in run.asks] == ["answer"] * 3
    assert (decision.stop_reason, decision.rounds, decision.final_answer) == ("unanimous", 0, "12")


def test_a_split_is_debated_and_no_answer_is_asked_for_twice() -> None:
    run = checked({"A": "12", "B": "13", "C": "12"}, rounds=1)
    decision = run.decide()
    firsts = [ask.seat for ask in run.asks if prompt_name(ask) == "answer"]
    assert sorted(seat.label for seat in firsts) == [seat.label for seat in (A, B, C)]
    assert decision.rounds == 1
    assert decision.detail["vote_only"]["answer"] == "12"


# One for which no full poll is drawn, which one question in `FULL_POLL_EVERY` gets.
QUESTION = next(
    text
    for text in map("How many doors has hall {}?".format, range(100))
    if Panel((), seed=1).shuffle(range(FULL_POLL_EVERY), "everybody", text)[0]
)


def test_with_learned_weights_the_strongest_are_asked_first_until_they_are_sure() -> None:
    run = checked({"A": "12", "B": "12", "C": "13"}, 3.1, 3.0, 0.5, question=QUESTION)
    decision = run.decide()
    assert [ask.seat.label for ask in run.asks] == [A.label, B.label]
    assert (decision.stop_reason, decision.detail["not_asked"]) == ("unanimous", [C.label])


def test_votes_whose_weights_make_an_answer_sure_are_no_split() -> None:
    run = checked({"A": "12", "B": "12", "C": "13"}, 2.0, 2.4, 2.3, rounds=1, question=QUESTION)
    assert run.decide().rounds == 1
    run = checked({"A": "12", "B": "13", "C": "12"}, 6.0, 2.1, 2.0, question=QUESTION)
    decision = run.decide()
    assert (decision.stop_reason, decision.rounds, decision.final_answer) == ("settled", 0, "12")
    assert decision.consensus_reached is False
    assert decision.dissent


@given(
    answers=st.lists(st.sampled_from("12"), min_size=3, max_size=3),
    weights=st.none() | st.lists(st.floats(0, 6), min_size=3, max_size=3),
    question=st.integers(0, 30),
)
def test_a_debate_starts_exactly_when_answers_differ_and_none_is_sure(
    answers: list[str], weights: list[float] | None, question: int
) -> None:
    run = checked(
        dict(zip("ABC", answers, strict=True)), *(weights or ()), rounds=1, question=f"How many {question}?"
    )
    decision = run.decide()
    firsts = Counter(ask.seat.label for ask in run.asks if prompt_name(ask) == "answer")
    assert set(firsts.values()) == {1}
    said = {label: answers["ABC".index(label[-1])] for label in firsts}
    score = dict.fromkeys(said.values(), 0.0)
    for label, answer in said.items():
        score[answer] += (weights or [1.0] * 3)["ABC".index(label[-1])] if any(weights or [1]) else 1.0
    sure = (
        weights is not None
        and any(weights[n] for n in range(3) if f"Participant {'ABC'[n]}" in said)
        and max(posterior(score).values()) >= STOP_POSTERIOR
    )
    assert bool(decision.rounds) == (len(score) > 1 and not sure)


@pytest.mark.parametrize("routing", PROMPTS)
def test_the_cheapest_model_classes_the_question(routing: str) -> None:
    run = routed(lambda ask: "compound", routing=routing)
    run.decide()
    assert [ask.seat for ask in run.asks] == [C]
    assert run.asks[0].schema is not None
    assert run.asks[0].schema.name == "question_class"


def test_the_cheapest_model_that_reads_long_prompts_classes_the_question() -> None:
    seats = (A, replace(B, short_prompts=True), replace(C, short_prompts=True))
    run = ProtocolDriver(PROTOCOL, lambda ask: "open", seats, decide_run=lambda step: DECIDED)
    assert run.decide().detail["classified_by"] == "model"
    assert [ask.seat for ask in run.asks] == [A]


SMALL = tuple(replace(one, short_prompts=True) for one in (A, B, C))
WORDS = [
    ("Draft a letter to the council about the park.", "writing", "council", {"rounds": 3}),
    ("Should we lease or buy the vans?", "open", "consensus", {}),
    ("What does the roof cost, and given that, when should we start?", "compound", "decompose", {}),
    ("How many legs have nine spiders?", "checkable", "voting", {"aggregation": "weighted"}),
    ("Who wrote Middlemarch?", None, "voting", {"aggregation": "weighted"}),
    ("Which should we choose?\nA) red\nB) blue", "checkable", "voting", {"aggregation": "weighted"}),
]


@rows("question, found, protocol, options", WORDS)
def test_on_a_panel_of_small_models_words_decide_without_a_call(
    question: str, found: str | None, protocol: str, options: dict[str, Any]
) -> None:
    run = ProtocolDriver(
        PROTOCOL, lambda ask: "open", SMALL, question=question, decide_run=lambda step: DECIDED
    )
    decision = run.decide()
    assert run.asks == []
    assert [(step.protocol, dict(step.brief.options)) for step in run.runs] == [(protocol, options)]
    assert (decision.detail["class"], decision.detail["classified_by"]) == (found, "words")
    assert decision.detail["fell_back"] == (found is None)


def test_the_classic_table_asks_the_cheapest_model_however_small() -> None:
    run = ProtocolDriver(
        PROTOCOL, lambda ask: "judgment", SMALL, decide_run=lambda step: DECIDED, routing="classic"
    )
    assert run.decide().detail["classified_by"] == "model"
    assert [ask.seat.label for ask in run.asks] == [C.label]


def test_decompose_only_when_allowed() -> None:
    run = routed(lambda ask: "compound", decompose=False)
    decision = run.decide()
    assert [step.protocol for step in run.runs] == ["consensus"]
    assert (decision.detail["class"], decision.detail["fell_back"]) == ("compound", False)


def test_unreadable_goes_to_consensus_and_the_result_says_that_routing_fell_back() -> None:
    run = routed(lambda ask: "A question like any other.")
    decision = run.decide()
    assert [prompt_name(ask) for ask in run.asks] == ["route", "repair"]
    assert [step.protocol for step in run.runs] == ["consensus"]
    assert (decision.detail["route"], decision.detail["fell_back"]) == ("consensus", True)
    assert decision.detail["class"] is None


def test_a_class_that_is_readable_when_asked_again_counts() -> None:
    run = routed(lambda ask: "writing" if prompt_name(ask) == "repair" else "Either.")
    assert run.decide().detail["route"] == "council"


def test_a_silent_classifier_falls_back() -> None:
    run = routed(lambda ask: None)
    decision = run.decide()
    assert len(run.asks) == 1
    assert (decision.detail["route"], decision.detail["fell_back"]) == ("consensus", True)


def test_the_decision_is_the_inner_protocols() -> None:
    decision = routed(lambda ask: "open").decide()
    assert (decision.answer, decision.status, decision.agreement) == ("Twelve.", "majority", 0.75)
    assert decision.detail["votes"] == []


def test_the_inner_protocol_gets_the_question_its_context_and_its_own_options() -> None:
    source = Material("Source 1", "The hall has nine doors.")
    run = routed(lambda ask: "open", context=(source,))
    run.decide()
    brief = run.runs[0].brief
    assert (brief.question, brief.context, dict(brief.options)) == ("How many?", (source,), {})


def test_context_reaches_the_classifier() -> None:
    run = routed(lambda ask: "open", context=(Material("Earlier", "It was about doors."),))
    run.decide()
    assert "It was about doors." in run.asks[0].prompt.text


def test_what_the_inner_protocol_cannot_do_fails_the_run() -> None:
    def fails(step: Run) -> Decision | Exception:
        return NoQuorum("too few")

    with pytest.raises(NoQuorum):
        ProtocolDriver(PROTOCOL, lambda ask: "open", (A, B), decide_run=fails).decide()


@pytest.mark.parametrize(
    ("routing", "routes"),
    [
        ("classic", [("consensus", {}), ("voting", {})]),
        ("vote-first", [("consensus", {}), ("deliberate", {"early": True}), ("council", {"rounds": 3})]),
    ],
)
@pytest.mark.parametrize("weight", [None, 2.0])
def test_the_number_of_calls_is_that_of_the_routes_and_of_the_class(
    routing: str, routes: list[tuple[str, dict[str, Any]]], weight: float | None
) -> None:
    seats = tuple(replace(one, weight=weight) for one in (A, B, C))
    inner = [(get(name), options) for name, options in routes]
    bounds = [call_bounds(one, seats, one.resolve_options(options)) for one, options in inner]
    options = PROTOCOL.resolve_options({"decompose": False, "routing": routing})
    least, most = call_bounds(PROTOCOL, seats, options)
    assert least == 1 + min(low for low, _ in bounds)
    assert most == 2 + max(high for _, high in bounds)


def test_a_council_has_the_rounds_that_auto_gives_it() -> None:
    run = routed(lambda ask: "writing", council_rounds=7)
    run.decide()
    assert run.runs[0].brief.options == {"rounds": 7}
