"""Events of a stream that are no part of the reply: nothing is wrong, or what the host does meanwhile."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.errors import ProviderError
from tests.hosts.envelopes import DIALECTS, FORMS, envelope, wire
from tests.hosts.test_mutations import Lab, lab
from tests.support.properties import examples

__all__ = ["lab"]

NOTHING_WRONG: list[dict[str, Any]] = [
    {"error": None},
    {"error": {"code": 0, "message": ""}},
    {"error": {"code": "success", "message": "success"}},
    {"error": {"message": None, "type": None}},
    {"error": "0"},
    {"ret": 0, "error": "success"},
    {"code": 20000, "msg": "OK"},
    {"message": "Success", "statusCode": 200},
    {"errno": 0, "errmsg": "ok"},
]
NOTES: list[dict[str, Any]] = [
    {"message": "warming up"},
    {"message": "queued", "status": "running"},
    {"message": "Deprecated: use v2", "code": "W01"},
    {"detail": "provider A failed, provider B is asked"},
]


@pytest.mark.parametrize("api", [*DIALECTS, *FORMS])
@examples(25)
@given(data=st.data())
def test_a_note_between_the_pieces_of_a_reply_changes_nothing(
    lab: Lab, api: str, data: st.DataObject
) -> None:
    reply = replace(envelope(api, True), names=())
    documents: list[Any] = list(reply.documents)
    tool_call = next(n for n, one in enumerate(documents) if '"add"' in json.dumps(one))
    note = data.draw(st.sampled_from(NOTHING_WRONG + NOTES))
    documents.insert(data.draw(st.integers(0, tool_call if note in NOTES else len(documents))), note)
    pieces = data.draw(wire(reply, documents, True))
    result, heard = lab.ask(api if api in DIALECTS else "openai", pieces, True)
    assert not isinstance(result, ProviderError), result
    assert result.text == heard == "".join(reply.texts.values())
    assert [call.name for call in result.tool_calls] == ["add"]


@pytest.mark.parametrize("api", [*DIALECTS, *FORMS])
@pytest.mark.parametrize("end", [b"", b"data: [DONE]\n\n"])
def test_words_behind_which_nothing_comes_are_a_failure(lab: Lab, api: str, end: bytes) -> None:
    reply = envelope(api, True)
    for count in range(max(int(path[0]) for path in reply.texts) + 1):
        documents = [*reply.documents[:count], {"detail": "Internal Server Error"}]
        body = b"".join(b"data: %s\n\n" % json.dumps(one).encode() for one in documents)
        result, _ = lab.ask(api if api in DIALECTS else "openai", [body + end], True)
        assert isinstance(result, ProviderError)
        assert (result.kind, result.billed) == ("overloaded", False)
        assert "Internal Server Error" in str(result)
