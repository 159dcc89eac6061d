"""Forms: a reply that is one object of the schema is read from its data, to the same verdict as prose."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.parsing.ballots import Ballot, ballot_form
from pnyx.core.parsing.directives import Unreadable
from pnyx.core.parsing.form import Form
from pnyx.core.parsing.json_objects import read_structured
from pnyx.core.parsing.partitions import groups_form
from pnyx.core.parsing.plans import PLAN_FORM
from pnyx.core.parsing.positions import position_form
from pnyx.core.parsing.verdicts import QUESTION_CLASS_FORM, approval_form
from pnyx.core.steps import Panel, Reply
from pnyx.core.text import Draft
from tests.support.panels import seats
from tests.support.rows import rows

LABELS = ("Participant A", "Participant B", "Participant C")
PANEL = Panel(seats("a:1"))
FORMS: dict[str, Form[Any]] = {
    "approval": approval_form("Participant A"),
    "ballot": ballot_form(LABELS, "Participant A"),
    "class": QUESTION_CLASS_FORM,
    "groups": groups_form(4),
    "plan": PLAN_FORM,
    "position": position_form(),
}
WORDS = st.text("abcdefgh ", min_size=1, max_size=12).map(str.strip).filter(bool)


def documents(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that satisfy a schema."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema["type"]:
        case "object":
            return st.fixed_dictionaries({name: documents(of) for name, of in schema["properties"].items()})
        case "array":
            return st.lists(documents(schema["items"]), max_size=4)
        case _:
            return WORDS


def reply(text: str, form: Form[Any]) -> Reply:
    """As the runner makes it."""
    assert form.schema is not None
    data, source = read_structured(text, form.schema)
    ask = PANEL.ask(PANEL.seats[0], Draft("t", "0", ("?",)), form.schema)
    return Reply(ask, text, data, source=source)


def verdict(form: Form[Any], read: Reply) -> Any:
    try:
        return form.read(read)
    except Unreadable as exc:
        return f"unreadable: {exc}"


@pytest.mark.parametrize("name", FORMS)
@given(data=st.data(), fence=st.sampled_from(["{}", "```json\n{}\n```", "  {}\n", "~~~\n{}\n~~~"]))
def test_an_object_of_the_schema_is_read_from_its_data(name: str, data: st.DataObject, fence: str) -> None:
    form = FORMS[name]
    assert form.schema is not None
    document = data.draw(documents(form.schema.document))
    read = reply(fence.replace("{}", json.dumps(document)), form)
    assert (read.source, read.data) == ("json", document)
    assert form.from_data is not None
    assert verdict(form, read) == verdict(Form(form.schema, form.from_data, _never), read)


def _never(text: str) -> Any:
    raise AssertionError("prose was read")


@pytest.mark.parametrize("name", FORMS)
@given(data=st.data())
def test_both_readers_of_a_form_agree_on_an_object_of_the_schema(name: str, data: st.DataObject) -> None:
    form = FORMS[name]
    assert form.schema is not None
    text = json.dumps(data.draw(documents(form.schema.document)))
    structured = verdict(form, reply(text, form))
    assert structured == verdict(Form(form.schema, None, form.from_prose), reply(text, form))


@rows(
    "text",
    [
        'One could write {"verdict": "APPROVE", "reason": ""}, but the sum is wrong.\nREJECT: the sum',
        '{"verdict": "APPROVE", "reason": ""}\n{"verdict": "REJECT", "reason": "the sum"}',
        '{"verdict": "APPROVED!", "reason": "x"}',
        '{"verdict": "APPROVE"}',
        "REJECT: the sum",
        '> ```json\n> {"verdict": "APPROVE", "reason": ""}\n> ```\nREJECT: the sum',
    ],
)
def test_a_reply_that_is_more_or_less_than_the_object_is_prose(text: str) -> None:
    assert reply(text, FORMS["approval"]).source == "prose"


def test_a_vote_without_a_label_is_sent_back() -> None:
    form = FORMS["ballot"]
    document = {"text": "why", "vote": "FINALIZE", "label": "", "ranking": []}
    with pytest.raises(Unreadable, match="FINALIZE does not name a proposal"):
        form.read(reply(json.dumps(document), form))
    revise = document | {"vote": "REVISE", "label": "Participant B"}
    assert form.read(reply(json.dumps(revise), form)) == Ballot("revise", None, "why")
