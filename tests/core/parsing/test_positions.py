from __future__ import annotations

import json

import pytest

from pnyx.core.parsing.json_objects import find_violation
from pnyx.core.parsing.positions import POSITION, Position, read_position
from pnyx.core.parsing.verdicts import Unreadable
from tests.support.rows import rows

RIGHT = Position("They count both ends.", "Step 2 adds one twice.", "I stay with 7.\nFinal answer: 7", "7")


@rows(
    "text",
    [
        "STEELMAN: They count both ends.\nCRITIQUE: Step 2 adds one twice.\n"
        "DECISION: I stay with 7.\nFinal answer: 7",
        "## Steelman\n\nThey count both ends.\n\n## Critique\n\nStep 2 adds one twice.\n\n"
        "## Decision\n\nI stay with 7.\nFinal answer: 7\n",
        "**STEELMAN:** They count both ends.\n\n**CRITIQUE:** Step 2 adds one twice.\n\n"
        "**DECISION:** I stay with 7.\nFinal answer: 7",
        "1. steelman — They count both ends.\n2. critique — Step 2 adds one twice.\n"
        "3. decision — I stay with 7.\nFinal answer: 7",
        "Steel-man of Participant A: They count both ends.\nCriticism: Step 2 adds one twice.\n"
        "My decision: I stay with 7.\nFinal answer: 7",
        "<think>DECISION: 8?</think>\n\nSTEELMAN\nThey count both ends.\nCRITIQUE\nStep 2 adds one twice.\n"
        "DECISION\nI stay with 7.\nFinal answer: 7",
        "<m0123456789 Participant A>\nDECISION: I say 8.\nFinal answer: 8\n</m0123456789>\n"
        "STEELMAN: They count both ends.\nCRITIQUE: Step 2 adds one twice.\n"
        "DECISION: I stay with 7.\nFinal answer: 7",
        "> DECISION: 8\n\nSTEELMAN: They count both ends.\n\nCRITIQUE: Step 2 adds one twice.\n\n"
        "DECISION: I stay with 7.\nFinal answer: 7",
        "Participant A wrote:\nDECISION: 8\n\nSTEELMAN: They count both ends.\n"
        "CRITIQUE: Step 2 adds one twice.\nDECISION: I stay with 7.\nFinal answer: 7",
        "STEELMAN: They count both ends.\n\nCRITIQUE: Step 2 adds one twice.\n\n"
        "I stay with 7.\nFinal answer: 7",
    ],
    ids=[
        "bare headings", "Markdown headings", "bold run-in headings", "numbered, lower case",
        "garbled headings", "thinking aloud", "a prompt's fence", "a quoted decision", "a reported decision",
        "no heading for the decision",
    ],
)  # fmt: skip
def test_a_position_is_read(text: str) -> None:
    assert read_position(text) == RIGHT


def test_a_position_in_its_schema_is_read() -> None:
    document = {
        "steelman": RIGHT.steelman,
        "critique": RIGHT.critique,
        "decision": RIGHT.decision,
        "answer": "7",
    }
    assert find_violation(document, POSITION) is None
    assert read_position(json.dumps(document)) == RIGHT
    assert read_position(f"Here it is:\n```json\n{json.dumps(document, indent=2)}\n```\nThank you.") == RIGHT


def test_a_number_serves_as_an_answer() -> None:
    assert read_position('{"decision": "It is seven.", "answer": 7}') == Position("", "", "It is seven.", "7")


@pytest.mark.parametrize("text", ["N/A", "TBD", "There is no short answer.", "Final answer: N/A"])
def test_an_answer_field_without_an_answer_counts_as_empty(text: str) -> None:
    assert read_position(json.dumps({"decision": "Rent.", "answer": text})).answer == "Rent"
    assert (
        read_position(json.dumps({"decision": "Rent it for a year, then see.", "answer": text})).answer
        is None
    )
    assert read_position(f"DECISION: Rent it for a year.\nFinal answer: {text}").answer is None


def test_several_opponents_are_steelmanned_together() -> None:
    position = read_position(
        "Steelman of Participant A: x\nSteelman of Participant C: y\nDECISION: 7\nFinal answer: 7"
    )
    assert position.steelman == "x\n\ny"


def test_a_quotation_stays_in_the_section_that_quotes_it() -> None:
    position = read_position('STEELMAN:\n> "count both ends"\n\nis fair.\n\nDECISION: Final answer: 7')
    assert position.steelman == '> "count both ends"\n\nis fair.'


def test_a_decision_repeated_in_another_notation_is_one() -> None:
    assert read_position("DECISION: Final answer: 1/2\n\nDECISION: Final answer: 0.5").answer == "1/2"


def test_a_decision_may_have_no_short_answer() -> None:
    text = (
        "DECISION: Both readings are defensible, so the contract should be renegotiated by both sides first"
    )
    position = read_position(text)
    assert position.decision == text.removeprefix("DECISION: ")
    assert position.answer is None


@rows(
    "text, says",
    [
        ("", "no DECISION"),
        ("STEELMAN: x\nCRITIQUE: y", "no DECISION"),
        ("DECISION:", "no DECISION"),
        ("> DECISION: Final answer: 8", "no DECISION"),
        ("Decision theory has much to say here.", "no DECISION"),
        ('{"steelman": "x"}', "no DECISION"),
        ("DECISION: Final answer: 7\n\nDECISION: Final answer: 8", "more than once"),
        ('{"decision": "7", "answer": "7"}\n\nDECISION: Final answer: 8', "more than once"),
        ("DECISION: Final answer: 7\n\n" * 11, "it decides 11 times"),
    ],
)
def test_a_text_without_a_position_is_refused_with_the_expected_form(text: str, says: str) -> None:
    with pytest.raises(Unreadable, match=rf"{says}.*STEELMAN, CRITIQUE and DECISION"):
        read_position(text)


def test_the_label_of_a_final_answer_in_the_field_is_no_part_of_it() -> None:
    text = '{"steelman": "s", "critique": "c", "decision": "It is so.", "answer": "Final answer: Paris"}'
    assert read_position(text).answer == "Paris"
