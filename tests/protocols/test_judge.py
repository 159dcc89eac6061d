"""A judge that the request names closes the run, and does nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pnyx import protocols
from pnyx.config.load import load
from pnyx.core.models import Seat
from pnyx.core.steps import Ask
from pnyx.errors import UsageError
from pnyx.run.options.request import RunRequest
from pnyx.run.options.resolve import resolve
from pnyx.testing import ProtocolDriver, prompt_name
from tests.support.all_protocols import QUESTION, SEATS, ScriptedPanel
from tests.support.seats import seat

JUDGE = seat("J", "fourth:verdict-1", 0.1)
CLOSING = {"voting": "judge", "moa": "close", "aggregate": "review", "decompose": "merge"}
"""Protocol -> the prompt of what closes it."""
REPLY = "BEST: Participant A\n\nANSWER:\nIt is nine.\nFinal answer: 9"


def drive(name: str, judge: Seat, *, silent: bool = False) -> ProtocolDriver:
    """Run the protocol with this judge. silent: the judge does not reply."""
    panel = ScriptedPanel()

    def say(ask: Ask) -> str | None:
        if ask.seat.label == JUDGE.label:
            return None if silent else REPLY
        return panel.say(ask)

    driver = ProtocolDriver(name, say, SEATS, question=QUESTION)
    driver.panel = replace(driver.panel, judge=judge)
    driver.decide()
    return driver


def test_every_protocol_with_a_judge_is_listed_here() -> None:
    assert {one.name for one in protocols.loaded() if one.judged} == {*CLOSING, "auto"}


@pytest.mark.parametrize("name", CLOSING)
def test_the_judge_closes_and_does_nothing_else(name: str) -> None:
    run = drive(name, JUDGE)
    by_judge = [ask for ask in run.asks if ask.seat.label == JUDGE.label]
    assert by_judge
    assert by_judge == run.asks_for(CLOSING[name])
    assert "nine" in (run.decision.answer or "")
    # It has no vote, so it does not count among those that agree.
    assert JUDGE.label not in str(run.decision.detail.get("native"))


@pytest.mark.parametrize("name", CLOSING)
def test_a_seat_of_the_panel_that_judges_keeps_its_other_parts(name: str) -> None:
    weakest = SEATS[0]
    run = drive(name, weakest)
    assert {ask.seat.label for ask in run.asks_for(CLOSING[name])} == {weakest.label}
    others = {ask.seat.label for ask in run.asks if prompt_name(ask) != CLOSING[name]}
    assert others == {one.label for one in SEATS}


@pytest.mark.parametrize("name", CLOSING)
def test_the_strongest_seat_closes_for_a_silent_judge(name: str) -> None:
    run = drive(name, JUDGE, silent=True)
    closing = [ask.seat.label for ask in run.asks_for(CLOSING[name])]
    assert closing == [JUDGE.label, "Participant B"]


@pytest.mark.parametrize("name", sorted(protocols.names()))
def test_a_protocol_that_no_single_seat_closes_refuses_a_judge(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    request = RunRequest(question="Why?", protocol=name, models=["ollama:a*3"], judge="ollama:b")
    if protocols.get(name).judged:
        assert resolve(request, load()).judge is not None
    else:
        with pytest.raises(UsageError, match=f"{name} has no judge; these do: aggregate, auto"):
            resolve(request, load())
