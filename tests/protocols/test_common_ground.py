"""What holds for every protocol. Names follow PROTOCOLS.md, section common ground."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import pytest

import pnyx
from pnyx.core.steps import Decision
from pnyx.core.text import Prompt
from pnyx.errors import NoQuorum, ProviderError
from pnyx.interfaces.views.transcript import Transcript
from pnyx.protocols import get, names
from pnyx.protocols.shared.transcript import HISTORY
from tests.support.all_protocols import QUESTION, SEATS, ScriptedPanel, sit
from tests.support.rows import rows

ALL = sorted(names())
ALONE = frozenset(("single", "sample", "escalate"))
"""Protocols in which no seat reads another's answer."""
WAYS: dict[str, dict[str, Any]] = {
    "consensus": {"threshold": 1.0},
    "voting": {"swap": True},
    "aggregate": {"aggregators": "each"},
    "council": {"rounds": 3},
}
"""Options with which more of a protocol is run than by default."""
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {"changing": name in ("council", "deliberate")}) for name in ALL},
    **{f"auto, {found}": ("auto", {"found": found}) for found in ("checkable", "writing", "compound")},
    **{
        f"{name}, no verdict readable": (name, {"rambling": True})
        for name in ("auto", "council", "decompose", "deliberate", "voting")
    },
}


@pytest.mark.parametrize("short", [False, True], ids=["long", "short"])
@pytest.mark.parametrize(("name", "more"), CASES.values(), ids=CASES)
def test_no_prompt_holds_the_provider_or_the_model_of_any_seat(
    name: str, more: dict[str, Any], short: bool
) -> None:
    panel = ScriptedPanel(**more)
    sit(name, panel, short=short, **WAYS.get(name, {}))
    names = [word for seat in SEATS for word in (seat.model, *seat.model.split(":"))]
    assert panel.asks
    for ask in panel.asks:
        assert not [word for word in names if word in f"{ask.prompt.system}{ask.prompt.text}".lower()]


@pytest.mark.parametrize("short", [False, True], ids=["long", "short"])
@pytest.mark.parametrize(("name", "more"), CASES.values(), ids=CASES)
def test_what_a_model_said_is_in_prompts_only_inside_fences(
    name: str, more: dict[str, Any], short: bool
) -> None:
    panel = ScriptedPanel(**more)
    sit(name, panel, short=short, **WAYS.get(name, {}))
    seen = 0
    for ask in panel.asks:
        prompt = ask.prompt
        rest, end = "", 0
        for start, stop in prompt.material:
            rest, end = rest + prompt.text[end:start], stop
        rest += prompt.text[end:] + prompt.system
        seen += sum(mark in prompt.text for mark in panel.marks)
        assert not [mark for mark in panel.marks if mark in rest], prompt.id
    assert bool(seen) == (name not in ALONE)


@rows("changing", [False, True])
@rows("found", ["checkable", "open", "writing"])
@rows("name", sorted({*ALL} - ALONE - {"decompose"}))
def test_what_the_seats_say_before_they_read_each_other_stands_beside_the_result(
    name: str, found: str, changing: bool
) -> None:
    panel = ScriptedPanel(found=found, changing=changing)
    decision = sit(name, panel, **WAYS.get(name, {}))
    before = dict[str, str]()
    for ask, reply in panel.said:
        if any(mark in ask.prompt.text for mark in panel.marks) or ask.seat.label in before:
            break
        if ask.schema is None:
            before[ask.seat.label] = reply.rpartition("Final answer: ")[2]
    vote = decision.detail["vote_only"]
    assert vote["tally"] == Counter(before.values())
    assert vote["answer"] in before.values()
    top, second, *_ = [*sorted(Counter(before.values()).values(), reverse=True), 0]
    assert vote["margin"] == top - second


VERDICTS = {
    "auto/route": "question_class",
    "council/confirm": "approval",
    "council/vote": "ballot",
    "decompose/plan": "plan",
    "deliberate/position": "position",
}


@pytest.mark.parametrize("short", [False, True], ids=["long", "short"])
def test_a_verdict_is_asked_for_with_a_schema_and_an_answer_without(short: bool) -> None:
    seen = set()
    for name in ALL:
        panel = ScriptedPanel(agreed=name == "council")
        sit(name, panel, short=short, **WAYS.get(name, {}))
        for ask in panel.asks:
            id = ask.prompt.id.partition("+")[0].removesuffix(".short")
            assert (ask.schema.name if ask.schema else None) == VERDICTS.get(id), id
            seen.add(id)
    # Models with short prompts are not asked for the class of a question.
    assert seen > VERDICTS.keys() - ({"auto/route"} if short else set())


@rows("short", [False, True], ids=["long", "short"])
@rows("name", ALL)
def test_the_unchanging_part_of_a_prompt_stands_before_all_that_changes(name: str, short: bool) -> None:
    panel = ScriptedPanel(changing=True)
    sit(name, panel, short=short, **WAYS.get(name, {}))
    beginnings: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for ask in panel.asks:
        prompt = ask.prompt
        if QUESTION in prompt.text:
            shared = prompt.text[: prompt.breaks[0]] if prompt.breaks else prompt.text.partition(QUESTION)[0]
            beginnings[prompt.name].add((prompt.system, shared))
            assert all(prompt.text.index(QUESTION) < start for start, _ in prompt.material), prompt.id
    assert beginnings
    assert {id: len(those) for id, those in beginnings.items()} == dict.fromkeys(beginnings, 1)


GROWING: dict[str, dict[str, Any]] = {
    "consensus": {"rounds": 4, "threshold": 1.0},
    "deliberate": {"rounds": 3},
    "council": {"rounds": 4},
    "moa": {"layers": 4},
}
"""Protocols in which seats are called again and again."""


@pytest.mark.parametrize("name", GROWING)
def test_each_prompt_of_a_seat_begins_with_what_its_last_one_shared(name: str) -> None:
    panel = ScriptedPanel(changing=True)
    sit(name, panel, **GROWING[name])
    last: dict[str, Prompt] = {}
    for ask in panel.asks:
        before = last.get(ask.seat.label)
        if before is not None:
            shared = before.breaks[-1]
            assert ask.prompt.system == before.system
            assert ask.prompt.text[:shared] == before.text[:shared], ask.prompt.id
            assert ask.prompt.breaks[: len(before.breaks)] == before.breaks
        last[ask.seat.label] = ask.prompt
    assert len(last) == 3
    assert all(len(prompt.breaks) >= 5 for prompt in last.values())


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("consensus", {"rounds": 20, "threshold": 1.0}),
        # Not deliberate: its last vote reads the whole debate.
        ("council", {"rounds": 20}),
    ],
)
def test_prompts_do_not_grow_without_bound(name: str, options: dict[str, Any]) -> None:
    panel = ScriptedPanel(changing=True, padding=4_000)
    decision = sit(name, panel, **options)
    assert decision.rounds == 20
    longest = max(len(ask.prompt.text) for ask in panel.asks)
    # A round has up to 12 texts, and what is left out at its start is all but two of them for each seat.
    assert HISTORY < longest < HISTORY + 24 * 4_500 < sum(map(len, panel.marks)) + 4_000 * len(panel.marks)


SPEAKS = ("sample", "single", "voting")
"""Protocols that come to an answer of one seat when the others of a panel are silent."""


@rows("name", ALL)
def test_nobody_supports_an_answer_alone(name: str) -> None:
    panel = ScriptedPanel(silent=("Participant B", "Participant C"))
    try:
        decision = sit(name, panel)
    except NoQuorum:
        assert name not in SPEAKS
    else:
        assert name in SPEAKS
        assert (decision.support, decision.support_rule) == (None, None) or name == "sample"
        assert decision.final_answer == "0"


@rows("name", ALL)
def test_support_is_measured_and_never_a_constant_and_no_protocol_claims_a_probability(name: str) -> None:
    at_one, apart = sit(name, ScriptedPanel(agreed=True)), sit(name, ScriptedPanel())
    for decision in (at_one, apart):
        assert decision.confidence is None
        assert decision.confidence_rule is None
        assert (decision.support is None) == (decision.support_rule is None)
        assert decision.support is None or 0 <= decision.support <= 1
    assert (at_one.support is None) == (apart.support is None) == (name == "single")
    assert name == "single" or at_one.support != apart.support


@rows("name", ALL)
def test_a_decision_carries_its_short_answer_why_it_stopped_and_who_dissents_and_why(name: str) -> None:
    def dissenting(decision: Decision) -> bool:
        models = {seat.label: seat.model for seat in SEATS}
        return all(d.text and models[d.seat] == d.model for d in decision.dissent)

    at_one, apart = sit(name, ScriptedPanel(agreed=True)), sit(name, ScriptedPanel())
    assert at_one.final_answer == "9"
    assert at_one.dissent == ()
    assert at_one.stop_reason
    assert apart.stop_reason
    assert dissenting(apart)
    assert bool(apart.dissent) == (name != "single")


def test_only_single_and_sample_need_no_second_seat() -> None:
    assert {name: get(name).quorum for name in ALL} == {
        name: 1 if name in ("single", "sample") else 2 for name in ALL
    }


class Gone:
    """A host that never had the model."""

    async def complete(self, call: pnyx.Call) -> str:
        raise ProviderError("not_found", "no such model")


class Here:
    """A host whose model gives the same short answer to everything."""

    async def complete(self, call: pnyx.Call) -> str:
        return "Final answer: 4"


@rows("name", ALL)
async def test_below_two_live_seats_a_run_fails_with_no_quorum(name: str) -> None:
    panel = ["here:a", "gone:b", "gone:c"]
    providers: dict[str, Any] = {"here": Here(), "gone": Gone()}
    result = await pnyx.ask("2 + 2?", protocol=name, panel=panel, providers=providers, seed=1)
    assert {drop["model"] for drop in result.dropped} <= {"gone:b", "gone:c"}
    assert (result.confidence, result.confidence_rule) == (None, None)
    if name in SPEAKS:  # of voting the specification says so: one live vote is the answer
        assert result.final_answer == "4"
    else:
        assert (result.status, result.stop_reason) == ("failed", "no_quorum")


class Rambling:
    """A host whose first model debates and whose others never say what they are asked for."""

    async def complete(self, call: pnyx.Call) -> str:
        if "STEELMAN:" in call.prompt:
            return f"DECISION: 4.\nFinal answer: {call.model}" if call.model != "c" else "Well, well."
        return f"Final answer: {call.model}"


async def test_a_seat_whose_verdict_cannot_be_read_abstains_and_the_transcript_says_so() -> None:
    view, texts = Transcript(), list[str]()
    panel = ["mine:a", "mine:b", "mine:c"]
    request: dict[str, Any] = {"protocol": "deliberate", "panel": panel, "options": {"rounds": 1}}
    async for event in pnyx.stream("Which letter?", providers={"mine": Rambling()}, **request):
        if (entry := view.add(event)) is not None and entry.kind == "tally":
            texts.append(entry.text)
    (label,) = (label for label, seat in view.seats.items() if seat.model == "mine:c")
    assert any(text.startswith(f"{label} abstains: its verdict could not be read") for text in texts)
