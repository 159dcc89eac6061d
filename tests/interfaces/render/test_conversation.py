"""The earlier turns that a question sees: the newest first, within bounds, with visible cuts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.models import Seat
from pnyx.core.text import estimate_tokens
from pnyx.interfaces.render.conversation import MOST_TOKENS, as_markdown, cost, earlier_turns
from pnyx.interfaces.views.records import Record
from pnyx.run.result import Result
from pnyx.store.records.runs import RunRow
from tests.interfaces import events


def turn(question: str, answer: str, status: str = "decided", usd: float | None = 0.25) -> Record:
    usage = events.RESULT["usage"] | {"cost_usd": usd}
    values = {"question": question, "answer": answer or None, "status": status, "usage": usage}
    row = RunRow.new("r1", "local", "2026-01-01T00:00:00.000Z", "single", question, {})
    return Record(row, Result.from_json(events.RESULT | values))


def test_turns_are_in_order_with_numbers_and_outcomes() -> None:
    materials = earlier_turns([turn("A?", "a"), turn("B?", ""), turn("C?", "c", "paused")], ())
    assert [(m.label, m.text) for m in materials] == [
        ("Turn 1", "Question: A?\n\nDecision (decided): a"),
        ("Turn 3", "Question: C?\n\nBest answer so far; nothing was decided: c"),
    ]


def test_one_long_answer_leaves_room_for_the_turns_before_it() -> None:
    materials = earlier_turns([turn("A?", "short"), turn("B?", "long " * 20_000)], ())
    assert [m.label for m in materials] == ["Turn 1", "Turn 2"]
    assert materials[0].text.endswith("short")
    assert materials[1].text.endswith(" […] (cut here)")
    assert estimate_tokens(materials[1].text) > MOST_TOKENS * 0.45


def test_turns_without_room_are_counted() -> None:
    materials = earlier_turns([turn(f"Q{n}?", "long " * 20_000) for n in range(20)], ())
    assert materials[0].label == "Earlier turns"
    assert materials[0].text == f"Left out: {21 - len(materials)}."
    assert materials[-1].label == "Turn 20"


def test_a_long_question_leaves_room_for_its_decision() -> None:
    (material,) = earlier_turns([turn("why " * 50_000, "because")], ())
    assert material.text.endswith("Decision (decided): because")
    assert "(cut here)" in material.text


TEXTS = st.text(st.characters(exclude_categories=()), max_size=40).map(lambda text: text * 400)


@given(
    turns=st.lists(st.tuples(TEXTS, TEXTS), max_size=12),
    windows=st.lists(st.one_of(st.none(), st.integers(1, 100_000)), max_size=3),
)
def test_earlier_turns_are_bounded(turns: list[tuple[str, str]], windows: list[int | None]) -> None:
    seats = [Seat(f"Participant {n}", "a:b", context=window) for n, window in enumerate(windows)]
    materials = earlier_turns([turn(*texts) for texts in turns], seats)
    most = min([MOST_TOKENS, *(window // 4 for window in windows if window is not None)])
    shown = [m for m in materials if m.label != "Earlier turns"]
    assert sum(estimate_tokens(m.text) for m in shown) <= most
    numbers = [int(m.label.removeprefix("Turn ")) for m in shown]
    assert numbers == sorted(numbers)


@pytest.mark.parametrize(("costs", "together"), [([0.25, 0.5], 0.75), ([0.25, None], None), ([], 0)])
def test_an_unknown_price_makes_the_sum_unknown(costs: list[float | None], together: float | None) -> None:
    assert cost([turn("?", "!", usd=usd) for usd in costs]) == together


def test_the_document_has_every_turn_and_nothing_active() -> None:
    page = as_markdown(
        "c1", [turn("A? <script>", "a key: hunter22"), turn("B?", "")], lambda t: t.replace("hunter22", "X")
    )
    assert page.startswith("# Conversation c1\n\n2 turns, $0.5000\n")
    assert "> A? \\<script>" in page
    assert "> a key: X" in page
    assert page.count("## Question") == 2
    assert page.count("## Answer") == 1
