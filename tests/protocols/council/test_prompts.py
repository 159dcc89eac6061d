"""council, what its seats are shown: anonymous, fenced, bounded, in an order of their own."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from pnyx.core.text import Material
from pnyx.prompts import load
from pnyx.testing import prompt_name
from tests.support.councils import CYCLE, A, B, C, Members, fenced, letter, sit, task


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
            assert name not in f"{ask.prompt.system}{ask.prompt.text}"


def test_material_of_others_is_fenced_and_shuffled_once_for_all_readers() -> None:
    orders = set()
    for seed in range(9):
        run = sit(Members(dict.fromkeys("ABCDE", "B")), 5, seed=seed)
        run.decide()
        seen = set()
        for ask in run.asks_for("vote"):
            text = ask.prompt.text
            assert text.count("</m") >= 15
            seen.add(tuple(sorted("ABCDE", key=lambda x: text.index(f"proposal {x}1"))))
        assert len(seen) == 1
        orders |= seen
    assert len(orders) > 5


def test_a_round_names_what_stands_and_its_task_does_not_grow() -> None:
    turn = [CYCLE, {"A": "C", "B": "A", "C": "B"}]
    run = sit(Members(*turn * 4), rounds=6)
    run.decide()
    for name in ("propose-again", "review", "rebut", "vote"):
        tasks = [len(task(ask)) for ask in run.asks_for(name) if letter(ask) == "A"]
        assert len(tasks) > 3
        assert len(set(tasks)) == 1, name
    last = run.asks_for("vote")[-1].prompt
    spare = " ".join(last.text[start:end] for start, end in last.spare)
    assert all(old in spare for old in ("proposal A5", "seen by B5"))
    assert "proposal A6" in last.text
    assert "proposal A6" not in spare


def test_a_seat_that_writes_no_next_proposal_keeps_its_last_one() -> None:
    run = sit(Members(CYCLE, dict.fromkeys("ABC", "C"), dies={"A": "propose2"}))
    run.decide()
    assert any("proposal A1" in fenced(ask) for ask in run.asks_for("review")[3:])


def test_what_is_shared_comes_first() -> None:
    run = sit(Members(CYCLE, dict.fromkeys("ABC", "B")))
    run.decide()
    assert len({ask.prompt.system for ask in run.asks}) == 1
    for one, two in pairwise(run.asks):
        assert two.prompt.text.startswith(one.prompt.text[: one.prompt.breaks[-1]])


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
        role = "Your part on this panel: skeptic\nJudge and write from that part"
        assert (role in ask.prompt.system.partition("exactly as they are written there.")[2]) == (
            letter(ask) == "A"
        )
