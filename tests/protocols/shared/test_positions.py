"""Camps: who holds the same answer as whom, over the rounds of a debate."""

from __future__ import annotations

from collections.abc import Callable

from pnyx.core.protocol import Protocol
from pnyx.core.steps import Ask, Brief, Decision, Panel
from pnyx.protocols.deliberate import PHASES
from pnyx.protocols.shared.positions import Camps, Stated, leader, voice
from pnyx.testing import ProtocolDriver
from tests.support.seats import lab_seat as seat

A, B, C = seat("A", 2.0, 3.0), seat("B", 9.0, 2.0), seat("C", 4.0, 1.0)


def placed(say: Callable[[Ask], str | None], *rounds: list[Stated]) -> tuple[list[list[str]], ProtocolDriver]:
    """The camps of each round of statements, placed one after another."""
    out: list[list[str]] = []

    async def script(brief: Brief, panel: Panel) -> Decision:
        camps = Camps(panel, brief.question)
        for said in rounds:
            out.append([one.camp for one in await camps.place(said)])
        return Decision(answer="-")

    run = ProtocolDriver(Protocol("camps", "", PHASES, script), say, (A, B, C))
    run.decide()
    return out, run


def short(*answers: str) -> list[Stated]:
    return [Stated(s, f"It is {a}.", a) for s, a in zip((A, B, C), answers, strict=False)]


def free(*texts: str) -> list[Stated]:
    return [Stated(s, text, None) for s, text in zip((A, B, C), texts, strict=False)]


def together(*texts: str) -> Callable[[Ask], str]:
    """A judge who puts these texts into one group."""

    def say(ask: Ask) -> str:
        shown = ask.prompt.text.split(" Text ")[1:]
        numbers = [int(part.split(">")[0]) for part in shown if any(text in part for text in texts)]
        return f'{{"groups": [{numbers}]}}'

    return say


def test_a_camp_keeps_its_name_when_later_wordings_are_more_frequent() -> None:
    camps, run = placed(lambda ask: None, short("1,000", "7"), short("1000", "1000", "1000"))
    assert camps == [["1,000", "7"], ["1,000", "1,000", "1,000"]]
    assert run.asks == []


def test_a_free_answer_joins_a_short_one_when_the_judge_says_so() -> None:
    said = [*short("Yes", "No"), Stated(C, "I am all for it.", None)]
    camps, run = placed(together("It is Yes", "all for it"), said)
    assert camps == [["Yes", "No", "Yes"]]
    assert len(run.asks) == 1


def test_a_judge_cannot_join_what_code_has_told_apart() -> None:
    said = [*short("Yes", "No"), Stated(C, "I am all for it.", None)]
    camps, _ = placed(together("It is Yes", "It is No", "all for it"), said)
    assert camps == [["Yes", "No", "Participant C's answer"]]


def test_a_free_camp_is_found_again_in_a_later_round() -> None:
    rounds = free("Build it.", "Wait."), free("Do build it.", "Build it now.")
    camps, _ = placed(together("Build it.", "Do build it.", "Build it now."), *rounds)
    assert camps[0] == ["Participant A's answer", "Participant B's answer"]
    assert camps[1] == ["Participant A's answer", "Participant A's answer"]


def test_a_seats_second_free_answer_has_a_name_of_its_own() -> None:
    camps, _ = placed(lambda ask: '{"groups": []}', free("Build it.", "Wait."), free("Sell it."))
    assert camps[1] == ["Participant A's answer (2)"]


def test_a_single_answer_needs_no_judge() -> None:
    camps, run = placed(lambda ask: None, free("Build it."))
    assert camps == [["Participant A's answer"]]
    assert run.asks == []


def test_without_any_judge_free_answers_are_apart() -> None:
    camps, run = placed(lambda ask: None, free("Build it.", "Build it!"))
    assert len(set(camps[0])) == 2
    assert [ask.seat for ask in run.asks] == [C, B]


def test_a_tie_is_led_by_the_prior_and_then_by_the_strongest_who_speaks_for_it() -> None:
    said = [Stated(s, s.label, None, camp) for s, camp in ((A, "x"), (B, "y"), (C, "x"), (B, "y"))]
    assert leader(said) == "y"
    assert leader(said, [{"x": 2.0, "y": 1.0}]) == "x"
    assert voice(said, "x").seat == C
    assert voice(said, "nobody's").seat == B
