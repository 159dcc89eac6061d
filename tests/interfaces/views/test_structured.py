"""Structured replies are shown in words, the same ones as on the page."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.events import CallFinished, Event
from pnyx.core.parsing.ballots import ballot_schema
from pnyx.core.parsing.positions import POSITION
from pnyx.core.parsing.verdicts import APPROVAL
from pnyx.interfaces.render.markdown import as_markdown
from pnyx.interfaces.views.structured import as_prose, reply_text
from pnyx.interfaces.views.transcript import Transcript
from tests.interfaces import events
from tests.interfaces.render.test_markdown import record
from tests.support.sources import ROOT

CASES = json.loads((ROOT / "web" / "tests" / "structured.json").read_text("utf-8"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab_", min_size=1), inner, max_size=3)
    ),
    max_leaves=8,
)
BALLOT = {"text": "Its sum is right.", "vote": "FINALIZE", "label": "Participant B", "ranking": []}


@pytest.mark.parametrize(("reply", "words"), CASES)
def test_a_reply_in_words(reply: str, words: str) -> None:
    assert as_prose(reply) == words


@given(st.dictionaries(st.text("abc_", min_size=1), VALUES, min_size=1, max_size=4))
def test_no_object_is_left_as_json_and_its_texts_are_all_there(value: dict[str, object]) -> None:
    words = as_prose(json.dumps(value))
    assert not words.startswith("{")
    for one in value.values():
        if isinstance(one, str):
            assert one.strip() in words


@pytest.mark.parametrize(
    "schema", [ballot_schema(["Participant A"]), POSITION, APPROVAL], ids=lambda s: s.name
)
def test_every_form_of_a_protocol_becomes_words(schema: object) -> None:
    fields = schema.document["properties"]  # type: ignore[attr-defined]
    value = {
        name: one.get("enum", ["Participant A"] if one["type"] == "array" else ["words"])[0]
        if one["type"] == "string"
        else ["Participant A"]
        for name, one in fields.items()
    }
    assert '"' not in as_prose(json.dumps(value))


@pytest.mark.parametrize("source", ["json", "prose"])
def test_the_transcript_and_the_export_show_a_ballot_in_words(source: str) -> None:
    reply = json.dumps(BALLOT) if source == "json" else f"I vote:\n```json\n{json.dumps(BALLOT)}\n```"
    log: list[Event] = [
        events.run_started(),
        *events.answered_call("Participant A", "voting", "/1", reply, source=source, data=BALLOT),
    ]
    view = Transcript()
    entries = [entry for event in log if (entry := view.add(event))]
    assert "**Endorses Participant B.** Its sum is right." in entries[-1].text
    text = as_markdown(record(log=events.with_seq(log)))
    assert "**Endorses Participant B.** Its sum is right." in text
    assert '"vote"' not in text


def test_an_object_that_nobody_asked_for_is_part_of_the_answer() -> None:
    reply = events.answered_call("Participant A", "answer", "/1", '{"port": 8080}')[-1]
    assert isinstance(reply, CallFinished)
    assert reply_text(reply) == '{"port": 8080}'
