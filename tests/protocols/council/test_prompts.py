"""council, what its seats are shown: anonymous, fenced, bounded, in an order of their own."""

from __future__ import annotations

from dataclasses import replace

from pnyx.core.text import Material
from pnyx.prompts import load
from pnyx.testing import prompt_name
from tests.support.councils import CYCLE, A, B, C, Members, fenced, letter, sit


def test_seats_are_anonymous_throughout() -> None:
    run = sit(
        Members(
            CYCLE,
            dict.fromkeys("ABC", "B"),
            rebut="As two:large I stand by it.",
            propose="As large, I say no.",
        )
    )
    run.decide()
    assert len(run.asks) > 20
    for ask in run.asks:
        for name in ("one:small", "two:large", "three:mid", " large"):
            assert name not in ask.prompt.text


def test_material_of_others_is_fenced_and_shuffled_for_each_reader() -> None:
    orders = set()
    for seed in range(4):
        run = sit(Members(dict.fromkeys("ABCDE", "B")), 5, seed=seed)
        run.decide()
        for ask in run.asks_for("vote"):
            text = ask.prompt.text
            assert text.count("</m") >= 15
            orders.add(tuple(sorted("ABCDE", key=lambda x: text.index(f"proposal {x}1"))))
    assert len(orders) > 5


def test_rounds_see_bounded_history() -> None:
    turn = [CYCLE, {"A": "C", "B": "A", "C": "B"}]
    run = sit(Members(*turn * 4), rounds=6)
    run.decide()
    for name in ("propose-again", "review", "rebut", "vote"):
        longest = [len(ask.prompt.text) for ask in run.asks_for(name) if letter(ask) == "A"]
        assert max(longest) - min(longest) < 40, name
    last = run.asks_for("vote")[-1].prompt.text
    assert "proposal A6" in last
    assert "proposal A5" not in last
    assert "seen by B5" not in last


def test_a_seat_that_writes_no_next_proposal_keeps_its_last_one() -> None:
    run = sit(Members(CYCLE, dict.fromkeys("ABC", "C"), dies={"A": "propose2"}))
    run.decide()
    assert any("proposal A1" in fenced(ask) for ask in run.asks_for("review")[3:])


def test_the_unchanging_part_of_a_prompt_comes_first() -> None:
    run = sit(Members(dict.fromkeys("ABC", "B")))
    run.decide()
    for name in ("review", "rebut", "vote"):
        one, other = (ask.prompt.text for ask in run.asks_for(name)[:2])
        shared = next(i for i, (x, y) in enumerate(zip(one, other, strict=False)) if x != y)
        assert "How many?" in one[:shared]


def test_what_the_run_was_given_reaches_every_phase() -> None:
    source = Material("[1] a page", "the bridge is 300 m long")
    run = sit(Members(CYCLE, dict.fromkeys("ABC", "B")), context=(source,))
    run.decide()
    assert {prompt_name(ask) for ask in run.asks} == {
        *("propose", "propose-again", "review", "rebut", "vote", "synthesise", "confirm")
    }
    assert all("300 m long" in fenced(ask) for ask in run.asks)


def test_tools_are_offered_to_those_who_propose_and_review() -> None:
    run = sit(Members(dict.fromkeys("ABC", "B")))
    run.panel = replace(run.panel, tools=("web_search",))
    run.decide()
    assert {prompt_name(ask) for ask in run.asks if ask.tools} == {"propose", "review"}


def test_tools_are_offered_for_the_next_proposal_too() -> None:
    run = sit(Members(CYCLE, dict.fromkeys("ABC", "B")))
    run.panel = replace(run.panel, tools=("web_search",))
    run.decide()
    assert {prompt_name(ask) for ask in run.asks if ask.tools} == {"propose", "propose-again", "review"}


def test_a_role_stands_in_every_prompt_of_its_seat() -> None:
    run = sit(Members(dict.fromkeys("ABC", "B")), seats=(replace(A, role="skeptic"), B, C))
    run.panel = replace(run.panel, frame=lambda role: load("role")(role=role))
    run.decide()
    for ask in run.asks:
        assert ("Your part on this panel: skeptic" in ask.prompt.text) == (letter(ask) == "A")
