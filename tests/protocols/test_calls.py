"""Calls of the asker's tools as answers: every protocol decides on them, and gives only valid ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pnyx import protocols
from pnyx.core.answers.code.calls import read_proposal, written_calls
from pnyx.core.steps import Ask, Decision
from pnyx.core.text import Material
from pnyx.core.tool_calls import ANY, ToolCall, ToolOffer, ToolSpec
from pnyx.errors import NotInForm
from pnyx.protocols import get
from pnyx.protocols.shared.call_form import with_calls
from pnyx.protocols.shared.poll import TEXT
from pnyx.run.options.client_tools import call_problem
from pnyx.testing import ProtocolDriver, prompt_name
from tests.support.all_protocols import PLAN, SEATS
from tests.support.rows import rows

READ = ToolSpec(
    "read_file",
    "Read a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
EDIT = ToolSpec(
    "edit_file",
    "Replace a text in a file.",
    {
        "type": "object",
        "properties": {name: {"type": "string"} for name in ("path", "old", "new")},
        "required": ["path", "old", "new"],
        "additionalProperties": False,
    },
)
OFFER = ToolOffer((READ, EDIT))
ALL = sorted(one.name for one in protocols.loaded())
TEXTUAL = 'if a < b:\n\tprint("BEST: Participant C \u2013 “so”")  # ```\n\n  ANSWER: 7\\n {"x": 1}'
"""What protocols and readers could take for their own: labels, quotes, fences, indentation, marks."""


def call(name: str = "read_file", **arguments: Any) -> ToolCall:
    return ToolCall("", name, arguments or {"path": "a.py"})


def fenced(*calls: ToolCall, before: str = "I have to see it first.") -> str:
    return f"{before}\n```json\n{written_calls(calls)}\n```"


def words(ask: Ask, answer: str) -> str:
    """A reply of `ask.seat` whose answer is `answer`, in the form that the prompt asks for."""
    phase = prompt_name(ask)
    match ask.prompt.name:
        case "auto/route" | "auto/classify":
            return json.dumps({"class": "open"})
        case "decompose/plan":
            return json.dumps(PLAN)
    match phase:
        case "challenge" | "flaw" | "risk" | "alternative" | "advocate":
            return f"The path could be wrong, as main.py shows.\n{answer}"
        case "vote" if ask.schema is not None:
            return "FINALIZE: Participant B\nIt is the right step."
        case "confirm":
            return "APPROVE"
        case "judge" | "weigh":
            return f"It holds.\nBEST: Participant B\n{answer}"
        case "position":
            return f"STEELMAN: It is fast.\nCRITIQUE: The file is another.\nDECISION: {answer}"
        case "review" if ask.prompt.id.startswith("aggregate"):
            return f"ACCEPTED: all\nREJECTED: none\nANSWER:\n{answer}"
    return answer


def decide(
    protocol: str,
    answers: Mapping[str, str],
    offer: ToolOffer = OFFER,
    repairs: Sequence[str] = (),
    **options: Any,
) -> tuple[Decision, list[Ask]]:
    """Run a protocol with tools. answers: of each seat. repairs: the replies to requests for a valid call."""
    left = list(repairs)

    def say(ask: Ask) -> str:
        if "form/call" in ask.prompt.id:
            return left.pop(0)
        return words(ask, answers[ask.seat.label])

    closed = with_calls(get(protocol), offer, lambda calls: call_problem(calls, offer))
    driver = ProtocolDriver(closed, say, SEATS, question="Mend the test in a.py.", **options)
    driver.brief = replace(driver.brief, offer=offer)
    return driver.decide(), driver.asks


A, B, C = (seat.label for seat in SEATS)


def everybody(answer: str) -> dict[str, str]:
    return dict.fromkeys((A, B, C), answer)


@rows("protocol", ALL)
@rows(
    "calls",
    [
        (call(),),
        (call("edit_file", path="a.py", old=TEXTUAL, new=f"{TEXTUAL}\nFinal answer: 42"),),
        (call("read_file", path="ä/日本.py"), call("read_file", path="b.py")),
    ],
    ids=["short", "text of a program", "two"],
)
def test_a_call_on_which_all_agree_is_the_answer(protocol: str, calls: tuple[ToolCall, ...]) -> None:
    decision, _ = decide(protocol, everybody(fenced(*calls)))
    assert decision.detail["tool_calls"] == [{"name": c.name, "arguments": dict(c.arguments)} for c in calls]
    assert decision.detail["corrected_by"] is None
    assert json.loads(decision.answer) == {"tool_calls": decision.detail["tool_calls"]}
    proposal = read_proposal(decision.answer)
    assert proposal is not None
    assert proposal.calls == calls


@rows("protocol", ALL)
def test_seats_read_of_the_tools_once_in_a_request_and_before_all_that_changes(protocol: str) -> None:
    _, asks = decide(protocol, everybody(fenced(call())))
    for ask in asks:
        whole = ask.prompt.system + ask.prompt.text
        if not ask.prompt.name.startswith("auto/"):
            assert whole.count('"name":"edit_file"') == 1
            assert ask.prompt.system.startswith("Tools of the person who asks.")
    assert len({ask.prompt.system[:1500] for ask in asks if ask.prompt.system}) == 1


@rows("protocol", ["voting", "sample", "escalate", "moa", "aggregate", "deliberate"])
def test_the_call_of_a_majority_wins_whatever_the_order_of_its_arguments(protocol: str) -> None:
    one = fenced(call("edit_file", path="a.py", old="1", new="2"))
    same = '{"tool_calls": [{"arguments": {"new": "2", "old": "1", "path": "a.py"}, "name": "edit_file"}]}'
    decision, _ = decide(protocol, {A: one, B: fenced(call(path="z.py")), C: same})
    votes = decision.detail.get("votes") or decision.detail.get("ballots")
    assert votes is None or len({vote["answer"] for vote in votes}) <= 2
    if protocol in ("sample", "escalate", "deliberate"):
        assert [one["name"] for one in decision.detail["tool_calls"]] == ["edit_file"]


@pytest.mark.parametrize("protocol", ["voting", "sample", "escalate", "aggregate"])
def test_a_call_and_a_text_are_two_answers_in_a_count(protocol: str) -> None:
    talk = (
        "The test is wrong, because a list has no order; I would leave the code as it is and mend the test."
    )
    options: dict[str, Any] = {"samples": 3, "adaptive": False} if protocol == "sample" else {}
    decision, _ = decide(protocol, {A: fenced(call()), B: talk, C: f"{talk} It is safe."}, **options)
    tally = decision.detail["tally"]
    assert tally == {TEXT: 2.0, 'call read_file {"path": "a.py"}': 1.0}
    if protocol != "aggregate":
        assert talk in decision.answer
        assert "tool_calls" not in decision.detail
        assert decision.final_answer is None
        assert decision.agreement == pytest.approx(2 / 3)


BROKEN = '```json\n{"tool_calls": [{"name": "read_file", "arguments": {"path": "a.py"}\n```'
WRONG = {
    "no call": "I would read the file first.",
    "not JSON": BROKEN,
    "another tool": fenced(call("shell", command="ls")),
    "arguments missing": fenced(call("edit_file", path="a.py")),
    "arguments of another type": fenced(call("read_file", path=7)),
    "arguments unknown": fenced(call("edit_file", path="a.py", old="1", new="2", mode="w")),
}


@rows("protocol", ALL)
@rows("choice", [ANY, "read_file"])
def test_a_call_that_is_needed_is_always_valid(protocol: str, choice: str) -> None:
    for problem, answer in WRONG.items():
        offer = replace(OFFER, choice=choice)
        repairs = [answer, fenced(call())]
        decision, asks = decide(protocol, everybody(answer), offer, repairs)
        assert decision.detail["tool_calls"] == [{"name": "read_file", "arguments": {"path": "a.py"}}], (
            problem
        )
        assert decision.detail["corrected_by"] is not None
        assert [ask.prompt.name for ask in asks[-2:]] == ["form/call", "repair"]
        assert '"name":"read_file"' in asks[-1].prompt.system


def test_a_call_that_no_seat_can_write_is_an_error_if_it_is_needed_and_a_text_if_not() -> None:
    for problem, answer in WRONG.items():
        needed = replace(OFFER, choice=ANY)
        with pytest.raises(NotInForm):
            decide("voting", everybody(answer), needed, [answer] * 4)
        if problem == "no call":
            decision, asks = decide("voting", everybody(answer))
            assert "form/call" not in {ask.prompt.name for ask in asks}
        else:
            decision, _ = decide("voting", everybody(answer), OFFER, [answer] * 4)
        assert decision.answer == answer
        assert "tool_calls" not in decision.detail
        assert decision.final_answer is None


def test_another_tool_than_the_one_that_is_asked_for_is_corrected() -> None:
    edit = call("edit_file", path="a.py", old="1", new="2")
    decision, _ = decide(
        "voting", everybody(fenced(call())), replace(OFFER, choice="edit_file"), [fenced(edit)]
    )
    assert [one["name"] for one in decision.detail["tool_calls"]] == ["edit_file"]


def test_several_calls_are_one_too_many_if_they_may_not_be_parallel() -> None:
    two, offer = fenced(call(), call(path="b.py")), replace(OFFER, parallel=False)
    decision, asks = decide("single", everybody(two), offer, [fenced(call())])
    assert len(decision.detail["tool_calls"]) == 1
    assert "exactly one call" in asks[0].prompt.system
    assert "it holds 2 calls, and one is allowed" in asks[-1].prompt.text


@pytest.mark.parametrize(
    ("offer", "says"),
    [
        (OFFER, "answer in words"),
        (replace(OFFER, choice=ANY), "must be a call of one of these tools"),
        (replace(OFFER, choice="edit_file"), 'must be a call of the tool "edit_file"'),
    ],
)
def test_seats_read_what_the_asker_chose(offer: ToolOffer, says: str) -> None:
    _, asks = decide("single", everybody(fenced(call("edit_file", path="a.py", old="1", new="2"))), offer)
    assert says in asks[0].prompt.system
    assert asks[0].prompt.system.count("\n\n\n") == 0


def test_small_models_read_the_tools_below_the_question() -> None:
    seats = tuple(replace(seat, short_prompts=True) for seat in SEATS)
    driver = ProtocolDriver("single", lambda ask: words(ask, fenced(call())), seats)
    driver.brief = replace(driver.brief, offer=OFFER)
    driver.decide()
    assert '"name":"read_file"' in driver.asks[0].prompt.text
    assert '"name":"read_file"' not in driver.asks[0].prompt.system


def opening(**changes: Any) -> Ask:
    seats = tuple(replace(seat, model=f"anthropic:claude-{n}") for n, seat in enumerate(SEATS))
    driver = ProtocolDriver(
        "single",
        lambda ask: words(ask, fenced(call())),
        seats,
        context=[Material("Since then, tool", "model = 'claude-1'"), Material("Since then, tool", "two")],
    )
    driver.brief = replace(driver.brief, **changes)
    driver.decide()
    return driver.asks[0]


def test_names_of_models_in_files_are_not_masked_where_a_call_must_repeat_them() -> None:
    assert "claude-1" not in opening().prompt.text
    assert "model = 'claude-1'" in opening(offer=OFFER).prompt.text


def test_each_piece_of_the_history_ends_what_the_next_step_begins_with() -> None:
    for prompt in (opening(offer=OFFER).prompt, opening().prompt):
        whole, piece, question = prompt.breaks
        assert [prompt.text[:at].splitlines()[-2][:5] for at in (piece, whole)] == ["model", "two"]
        assert prompt.text[whole:question].strip().startswith("The question:")
