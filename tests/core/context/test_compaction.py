"""Requests are fitted into a context window by shortening material, and nothing else."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.context.compaction import MIN_CHARS, fit, texts, tokens
from pnyx.core.models import Seat
from pnyx.core.steps import Ask, Panel, Schema
from pnyx.core.text import MAX_CHARS, Draft, Material, shorten
from pnyx.core.tool_calls import ToolCall, ToolSpec, Turn
from pnyx.prompts import load

SEATS = (Seat("Participant A", "h:a"), Seat("Participant B", "h:b"))
CONTEXT, QUESTION = load("context"), load("question")


def ask_for(*texts: str, question: str = "Why is it so?", turns: tuple[Turn, ...] = ()) -> Ask:
    materials = [Material(f"item {n}", text) for n, text in enumerate(texts)]
    draft = Draft("", "", (QUESTION(question=question, today="2026-01-02"), CONTEXT(context=materials)))
    ask = Panel(SEATS, 1, "salt").ask(SEATS[0], draft)
    return Ask(ask.seat, ask.prompt, turns=turns)


def size(ask: Ask, *tools: ToolSpec) -> int:
    return sum(map(tokens, texts(ask, tools)))


def tool_turn(code: str, result: str = "ok") -> Turn:
    call = ToolCall("1", "run_python", {"code": code, "more": {"lines": [code], "n": 7}})
    return Turn("Let me see.", (call,), (result,))


def test_thoughts_count_and_are_shortened() -> None:
    turn = replace(tool_turn("print(1)"), thoughts="I add it up. " * 500)
    ask = ask_for("x", turns=(turn,))
    without = ask_for("x", turns=(replace(turn, thoughts=""),))
    assert texts(ask, thoughts=False) == texts(without)
    assert texts(ask) == [*texts(without), turn.thoughts]
    fitted = fit(ask, (size(ask) + size(without)) // 2)
    assert fitted is not None
    (cut,) = fitted[0].turns
    assert replace(cut, thoughts="") == replace(turn, thoughts="")
    assert MIN_CHARS < len(cut.thoughts) < len(turn.thoughts)


def test_a_prompt_knows_the_place_of_its_material() -> None:
    ask = ask_for("first\nline", "  second  ", "")
    pieces = [ask.prompt.text[start:end] for start, end in ask.prompt.material]
    assert pieces == ["first\nline", "second", ""]


@given(st.lists(st.text("ab ", min_size=300, max_size=900), min_size=1, max_size=3), st.floats(0.3, 1))
def test_what_a_shortened_prompt_shares_with_later_ones_is_what_the_whole_one_shares(
    pieces: list[str], share: float
) -> None:
    ask = ask_for(*pieces)
    places = [at for span in ask.prompt.material for at in span]
    ask = replace(ask, prompt=replace(ask.prompt, breaks=(0, *places, len(ask.prompt.text))))
    if (fitted := fit(ask, int(size(ask) * share))) is not None:
        short, whole = fitted[0].prompt, ask.prompt
        assert set(short.breaks) <= set(whole.breaks)
        assert [short.text[:at] for at in short.breaks] == [whole.text[:at] for at in short.breaks]


def test_a_request_that_fits_is_sent_unchanged() -> None:
    ask = ask_for("short")
    assert fit(ask, size(ask)) == (ask, 0)


def test_the_longest_piece_loses_its_middle_and_the_others_nothing() -> None:
    short, long = "s" * 900, "".join(f"<{n}>" for n in range(3000))
    ask = ask_for(short, long)
    fitted = fit(ask, size(ask) // 2)
    assert fitted is not None
    sent, cut = fitted
    assert short in sent.prompt.text
    assert "<0><1><2>" in sent.prompt.text
    assert "<2998><2999>" in sent.prompt.text
    assert "characters left out …]" in sent.prompt.text
    assert cut > len(long) // 3
    assert sent.prompt.text.startswith("The question:\n<question>\nWhy is it so?")
    assert sent.prompt.text.count("</m") == 2


def test_if_not_all_pieces_fit_those_in_the_middle_are_left_out() -> None:
    pieces = [f"<{n}>" + chr(97 + n) * 600 + f"</{n}>" for n in range(18)]
    ask = ask_for(*pieces)
    fitted = fit(ask, 1536)
    assert fitted is not None
    sent = fitted[0].prompt.text
    assert size(fitted[0]) <= 1536
    kept = [n for n in range(18) if f"<{n}>" in sent]
    first, last = kept[: (len(kept) + 1) // 2], kept[(len(kept) + 1) // 2 :]
    assert first == list(range(len(first)))
    assert last == list(range(18 - len(last), 18))
    assert 4 <= len(kept) < 18
    assert sent.count("[… 607 characters left out …]") + sent.count(
        "[… 609 characters left out …]"
    ) == 18 - len(kept)
    assert fitted[1] > 600 * (18 - len(kept)) - 18 * 40
    assert fit(ask, 1536) == fitted


def test_a_question_that_does_not_fit_is_not_cut() -> None:
    assert fit(ask_for("x" * 5000, question="Why? " * 1000), 500) is None


def test_results_of_tools_are_shortened_too_with_their_fences_whole() -> None:
    results = tuple(f"Between the lines marked m12\n<m12 tool>\n{'r' * 9000}\n</m12>" for _ in range(3))
    ask = ask_for("x", turns=(Turn("", (ToolCall("1", "read_page", {}),) * 3, results),))
    fitted = fit(ask, 2000)
    assert fitted is not None
    for result in fitted[0].turns[0].results:
        assert result.startswith("Between the lines")
        assert result.endswith("</m12>")
    assert size(fitted[0]) <= 2000


def test_every_text_that_a_host_reads_is_counted() -> None:
    tool = ToolSpec("run_python", "Runs Python.", {"type": "object", "properties": {"code": {}}})
    ask = ask_for("x", turns=(tool_turn("print(1)\n" * 1000, "r" * 100),))
    ask = Ask(ask.seat, ask.prompt, Schema.of("ballot", {"type": "object"}), turns=ask.turns)
    parts = texts(ask, (tool,))
    for part in (ask.prompt.text, "Let me see.", "run_python", '"type": "object"', "Runs Python.", "r" * 100):
        assert any(part in text for text in parts), part
    assert size(ask, tool) > 2 * 9000 // 3


def test_arguments_of_tool_calls_are_shortened_in_place() -> None:
    ask = ask_for("x", turns=(tool_turn("<begins>" + "c" * 9000 + "<ends>"),))
    fitted = fit(ask, 1500)
    assert fitted is not None
    sent, cut = fitted
    (call,) = sent.turns[0].calls
    for code in (call.arguments["code"], call.arguments["more"]["lines"][0]):
        assert code.startswith("<begins>")
        assert code.endswith("<ends>")
        assert "characters left out …]" in code
    assert (call.id, call.name, call.arguments["more"]["n"]) == ("1", "run_python", 7)
    assert size(sent) <= 1500
    assert cut > 12_000


def test_if_shortening_is_not_enough_the_oldest_turns_are_dropped_and_counted() -> None:
    numbers = Turn("", (ToolCall("1", "sum", {"numbers": list(range(2000))}),), ("1999000",))
    ask = ask_for("x", turns=(numbers, numbers, tool_turn("print(1)")))
    fitted = fit(ask, size(ask) * 2 // 3)
    assert fitted is not None
    assert fitted[0].turns == ask.turns[1:]
    assert fitted[1] > 8000
    assert fit(ask_for("x", turns=(numbers,)), 1000) is None


def test_the_definitions_of_tools_take_room_too() -> None:
    tool = ToolSpec("run_python", "Runs Python. " * 300, {"type": "object"})
    ask = ask_for("x" * 6000)
    assert fit(ask, size(ask)) == (ask, 0)
    fitted = fit(ask, size(ask), (tool,))
    assert fitted is not None
    assert fitted[1] > 3000
    assert size(fitted[0], tool) <= size(ask)


@given(st.lists(st.text(max_size=3000), min_size=1, max_size=4), st.integers(400, 4000))
def test_the_result_fits_and_is_the_same_every_time(texts: list[str], room: int) -> None:
    ask = ask_for(*texts)
    fitted = fit(ask, room)
    if fitted is None:
        assert size(ask_for(*(shorten(text, MIN_CHARS) for text in texts))) > room
    else:
        assert size(fitted[0]) <= room
        assert fitted == fit(ask, room)
        assert (fitted[1] == 0) == (fitted[0].prompt.text == ask.prompt.text)


def test_a_huge_piece_is_cut_before_names_are_masked_in_it() -> None:
    ask = ask_for("GPT-5 " * 200_000)
    ((start, end),) = ask.prompt.material
    assert end - start < 3 * MAX_CHARS
