"""Answer groups: who holds the same answer as whom, over the rounds of a debate."""

from __future__ import annotations

from collections.abc import Callable

from pnyx.core.protocol import Protocol
from pnyx.core.steps import Ask, Brief, Decision, Panel
from pnyx.prompts import load
from pnyx.protocols.deliberate import PHASES
from pnyx.protocols.shared.positions import AnswerGroups, StatedAnswer, leader, representative
from pnyx.protocols.shared.transcript import Transcript
from pnyx.testing import ProtocolDriver
from tests.support.seats import lab_seat as seat

A, B, C = seat("A", 2.0, 3.0), seat("B", 9.0, 2.0), seat("C", 4.0, 1.0)


def assign(
    say: Callable[[Ask], str | None], *rounds: list[StatedAnswer]
) -> tuple[list[list[str]], ProtocolDriver]:
    """The groups of each round of statements, placed one after another."""
    out: list[list[str]] = []

    async def script(brief: Brief, panel: Panel) -> Decision:
        groups = AnswerGroups(panel, Transcript(brief, panel, load("deliberate/system")))
        for answers in rounds:
            out.append([one.group for one in await groups.assign(answers)])
        return Decision(answer="-")

    run = ProtocolDriver(Protocol("camps", "", PHASES, script), say, (A, B, C))
    run.decide()
    return out, run


def short(*answers: str) -> list[StatedAnswer]:
    return [StatedAnswer(s, f"It is {a}.", a) for s, a in zip((A, B, C), answers, strict=False)]


def free(*texts: str) -> list[StatedAnswer]:
    return [StatedAnswer(s, text, None) for s, text in zip((A, B, C), texts, strict=False)]


def together(*texts: str) -> Callable[[Ask], str]:
    """A judge who puts these texts into one group."""

    def say(ask: Ask) -> str:
        shown = ask.prompt.text.split(" Text ")[1:]
        numbers = [int(part.split(">")[0]) for part in shown if any(text in part for text in texts)]
        return f'{{"groups": [{numbers}]}}'

    return say


def test_a_group_keeps_its_name_when_later_wordings_are_more_frequent() -> None:
    groups, run = assign(lambda ask: None, short("1,000", "7"), short("1000", "1000", "1000"))
    assert groups == [["1,000", "7"], ["1,000", "1,000", "1,000"]]
    assert run.asks == []


def test_a_free_answer_joins_a_short_one_when_the_judge_says_so() -> None:
    answers = [*short("Yes", "No"), StatedAnswer(C, "I am all for it.", None)]
    groups, run = assign(together("It is Yes", "all for it"), answers)
    assert groups == [["Yes", "No", "Yes"]]
    assert len(run.asks) == 1


def test_a_judge_cannot_join_what_code_separates() -> None:
    answers = [*short("Yes", "No"), StatedAnswer(C, "I am all for it.", None)]
    groups, _ = assign(together("It is Yes", "It is No", "all for it"), answers)
    assert groups == [["Yes", "No", "Participant C's answer"]]


def test_a_group_of_texts_is_found_again_in_a_later_round() -> None:
    rounds = free("Build it.", "Wait."), free("Do build it.", "Build it now.")
    groups, _ = assign(together("Build it.", "Do build it.", "Build it now."), *rounds)
    assert groups[0] == ["Participant A's answer", "Participant B's answer"]
    assert groups[1] == ["Participant A's answer", "Participant A's answer"]


def test_a_seats_second_free_answer_has_a_name_of_its_own() -> None:
    groups, _ = assign(lambda ask: '{"groups": []}', free("Build it.", "Wait."), free("Sell it."))
    assert groups[1] == ["Participant A's answer (2)"]


def test_a_single_answer_needs_no_judge() -> None:
    groups, run = assign(lambda ask: None, free("Build it."))
    assert groups == [["Participant A's answer"]]
    assert run.asks == []


def test_without_any_judge_free_answers_are_apart() -> None:
    groups, run = assign(lambda ask: None, free("Build it.", "Build it!"))
    assert len(set(groups[0])) == 2
    assert [ask.seat for ask in run.asks] == [C, B]


def test_a_tie_is_led_by_the_prior_and_then_by_the_strongest_who_speaks_for_it() -> None:
    answers = [StatedAnswer(s, s.label, None, group) for s, group in ((A, "x"), (B, "y"), (C, "x"), (B, "y"))]
    assert leader(answers) == "y"
    assert leader(answers, [{"x": 2.0, "y": 1.0}]) == "x"
    assert representative(answers, "x").seat == C
    assert representative(answers, "nobody's").seat == B
