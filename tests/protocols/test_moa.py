"""moa, driven by hand. Names follow PROTOCOLS.md, section moa."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pnyx.core.decision import Given
from pnyx.core.models import Seat
from pnyx.core.steps import Ask, Decision, Reply
from pnyx.core.text import Material
from pnyx.core.voting.stopping import posterior
from pnyx.errors import NoQuorum, UsageError
from pnyx.protocols.call_bounds import call_bounds
from pnyx.protocols.moa import PROTOCOL
from pnyx.testing import ProtocolDriver, Script, prompt_name
from tests.support.seats import seat

A, B, C = seat("A", "one:small", 2.0), seat("B", "two:large", 9.0), seat("C", "three:mid")
SEATS = (A, B, C)


def layer(driven: ProtocolDriver) -> int:
    return sum(phase == "layer" for phase, _ in driven.phases)


def run(say: Script | None = None, **options: Any) -> tuple[ProtocolDriver, Decision]:
    def numbered(ask: Ask) -> str:
        place = "closed" if prompt_name(ask) == "close" else f"{ask.seat.label} in layer {layer(driven)}"
        return f"Word of {place}.\nFinal answer: 4"

    driven = ProtocolDriver(PROTOCOL, say or numbered, seats=SEATS, **options)
    return driven, driven.decide()


def read(ask: Ask) -> list[str]:
    """What an ask shows inside its fences, in order."""
    return [body for _, body in re.findall(r"(?ms)^<(m\w{10}) [^\n]+>\n(.*?)\n</\1>", ask.prompt.text)]


def spoken(layer: int) -> set[str]:
    """What the seats say in a layer."""
    return {f"Word of {one.label} in layer {layer}.\nFinal answer: 4" for one in SEATS}


def labels(ask: Ask) -> list[str]:
    """The labels of what an ask shows, in order."""
    return re.findall(r"(?m)^<m\w{10} ([^\n]+)>$", ask.prompt.text)


def test_every_seat_answers_in_every_layer_and_one_aggregator_closes() -> None:
    driven, decision = run()
    assert driven.prompts() == ["answer"] * 3 + ["layer"] * 6 + ["close"]
    assert driven.waves == [3, 3, 3]
    assert driven.phases == [("layer", 1), ("layer", 2), ("layer", 3), ("close", 3), ("complete", 3)]
    assert driven.asks[-1].seat == B
    assert decision.answer == "Word of closed.\nFinal answer: 4"
    assert (decision.rounds, decision.stop_reason, decision.final_answer) == (3, "closed", "4")
    assert decision.detail["aggregator"] == {"seat": B.label, "model": B.model}


def test_the_first_layer_sees_nobody_and_the_next_all_of_those_before_it() -> None:
    driven, _ = run()
    assert all(read(ask) == [] for ask in driven.asks_for("answer"))
    second, third = driven.asks_for("layer")[:3], driven.asks_for("layer")[3:]
    for asks, n in ((second, 1), (third, 2), (driven.asks_for("close"), 3)):
        for ask in asks:
            said = [spoken(layer) for layer in range(1, n + 1)]
            assert set(read(ask)[-3:]) == said[-1]
            assert set(read(ask)) == set().union(*said)
            assert f"of layer {n}" in ask.prompt.text[ask.prompt.breaks[-1] :]


def test_answers_are_shuffled_for_each_reader() -> None:
    orders = set()
    for seed in range(6):
        driven, _ = run(seed=seed)
        orders |= {tuple(read(ask)) for ask in driven.asks_for("layer")[:3]}
    assert len(orders) > 3
    assert [a.prompt.text for a in run()[0].asks] == [a.prompt.text for a in run()[0].asks]


def test_no_prompt_names_a_model() -> None:
    driven, _ = run(lambda ask: "As large, I say no. two:large knows.")
    for ask in driven.asks:
        assert not re.search(r"two:large|\blarge\b", ask.prompt.text)


def test_one_layer_is_answers_and_an_aggregator() -> None:
    driven, _ = run(layers=1)
    assert driven.prompts() == ["answer"] * 3 + ["close"]
    assert driven.phases == [("layer", 1), ("close", 1), ("complete", 1)]


def test_the_last_layers_short_answers_are_counted() -> None:
    def say(ask: Ask) -> str:
        value = {A: 4, B: 5, C: 4}[ask.seat] if prompt_name(ask) != "close" else 4
        return f"Final answer: {value}"

    driven, decision = run(say)
    (event,) = driven.tallies
    assert (event.rule, dict(event.tally), event.winner) == ("plurality", {"4": 2, "5": 1}, "4")
    assert decision.agreement == pytest.approx(2 / 3)
    assert decision.support == pytest.approx(posterior({"4": 2.5, "5": 1.25})["4"])
    assert decision.status == "majority"
    assert [(d.seat, d.text) for d in decision.dissent] == [(B.label, "Final answer: 5")]


def test_what_seats_answered_alone_is_shown_beside_what_they_decided() -> None:
    def say(ask: Ask) -> str:
        return f"Final answer: {4 if ask.seat == A or prompt_name(ask) != 'answer' else 5}"

    _, decision = run(say)
    assert decision.detail["tally"] == {"4": 3}
    assert decision.detail["native"] == {A.label: "4", B.label: "5", C.label: "5"}
    assert decision.detail["vote_only"]["answer"] == "5"


def test_answers_that_cannot_be_counted_measure_nothing() -> None:
    prose = "It depends on the weather, on the season, and on the people who are asked about it, of course."
    _, decision = run(lambda ask: prose)
    assert (decision.status, decision.agreement, decision.support) == ("decided", None, None)


def test_a_silent_aggregator_is_replaced_and_without_one_the_leading_answer_stands() -> None:
    driven, decision = run(
        lambda ask: (
            None if prompt_name(ask) == "close" and ask.seat == B else f"{ask.seat.label}\nFinal answer: 4"
        )
    )
    assert [ask.seat for ask in driven.asks_for("close")] == [B, C]
    assert decision.answer.startswith(C.label)
    _, decision = run(
        lambda ask: None if prompt_name(ask) == "close" else f"{ask.seat.label}\nFinal answer: 4"
    )
    assert decision.answer == f"{B.label}\nFinal answer: 4"
    assert (decision.stop_reason, decision.detail["aggregator"]) == ("no_aggregator", None)


def test_an_aggregator_that_was_cut_off_is_used_only_where_all_are() -> None:
    def cut(*off: Seat) -> Script:
        def say(ask: Ask) -> str | Reply:
            if prompt_name(ask) == "close" and ask.seat in off:
                return Reply(ask, f"{ask.seat.label} beg", truncated=True)
            return f"{ask.seat.label}\nFinal answer: 4"

        return say

    driven, decision = run(cut(B))
    assert [ask.seat for ask in driven.asks_for("close")] == [B, C]
    assert decision.answer.startswith(C.label)
    assert run(cut(A, B, C))[1].answer == f"{B.label} beg"


def test_a_mixture_needs_two_answers() -> None:
    with pytest.raises(NoQuorum):
        run(lambda ask: "Yes." if ask.seat == A else None)


def test_a_seat_that_falls_silent_is_missing_from_the_next_layer() -> None:
    driven, _ = run(
        lambda ask: None if ask.seat == A and prompt_name(ask) == "layer" else f"{ask.seat.label}."
    )
    closing = driven.asks_for("close")[0]
    newest = [text for text, label in zip(read(closing), labels(closing), strict=True) if "layer 3" in label]
    assert sorted(newest) == [f"{B.label}.", f"{C.label}."]


def test_a_layer_in_which_nobody_answers_leaves_the_one_before_it_standing() -> None:
    driven, decision = run(lambda ask: None if prompt_name(ask) == "layer" else f"{ask.seat.label}.")
    assert sorted(read(driven.asks_for("close")[0])) == [f"{s.label}." for s in SEATS]
    assert decision.stop_reason == "closed"


def test_the_best_answer_so_far_is_reported_on_the_way() -> None:
    driven, _ = run(layers=2)
    words = [None, *(f"Word of {B.label} in layer {n}.\nFinal answer: 4" for n in (1, 2))]
    assert driven.answers == [*words, "Word of closed.\nFinal answer: 4"]


def test_context_reaches_every_layer_fenced() -> None:
    driven, _ = run(context=(Material("Notes", "We chose nine."),))
    assert all(" Notes>\nWe chose nine.\n</" in ask.prompt.text for ask in driven.asks)


def test_layers_out_of_bounds_are_refused() -> None:
    with pytest.raises(UsageError, match=r"moa.layers must be between 1 and 10, not 0"):
        PROTOCOL.resolve_options({"layers": 0})


def test_the_number_of_calls_is_known_beforehand() -> None:
    assert PROTOCOL.calls is not None
    assert call_bounds(PROTOCOL, SEATS, PROTOCOL.resolve_options({})) == (10, 10)
    assert call_bounds(PROTOCOL, SEATS, PROTOCOL.resolve_options({"layers": 1})) == (4, 4)


@pytest.mark.parametrize(("layers", "asked"), [(1, ["close"]), (2, ["layer"] * 3 + ["close"])])
def test_given_answers_are_the_first_layer(layers: int, asked: list[str]) -> None:
    given = (Given("4", "Add them up."), Given("5"), Given("6", source="far:away"), Given("7"))
    driven, decision = run(responses=given, layers=layers)
    assert driven.prompts() == asked
    assert "Add them up.\n\nFinal answer: 4" in read(driven.asks[0])
    assert driven.asks[-1].seat == B
    assert decision.answer == "Word of closed.\nFinal answer: 4"
    assert call_bounds(PROTOCOL, SEATS, PROTOCOL.resolve_options({"layers": layers}), responses=4) == (
        len(asked),
        len(asked),
    )
