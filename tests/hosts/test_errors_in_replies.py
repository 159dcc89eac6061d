"""An error inside a reply of status 200 costs nothing: wherever it stands, whatever came before it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pnyx.core.events import CallFailed
from pnyx.errors import ProviderError
from pnyx.store import Database
from tests.hosts.case import PRICE, Case, Reply
from tests.hosts.trial import ask, run
from tests.support.scripted import ScriptedHost

ERRORS: dict[str, dict[str, Any]] = {
    "overloaded": {"code": 502, "message": "Error processing stream"},
    "rate_limited": {"code": 429, "message": "Rate limit reached"},
    "refused": {"code": 402, "message": "Insufficient credits"},
    "malformed": {"code": "json_validate_failed", "message": "Failed to generate JSON"},
}
USAGE = {"prompt_tokens": 10, "completion_tokens": 972, "total_tokens": 982}
PLACES = ("top", "choice", "event", "finish")
COUNTED = "not charged; the host counted 972 output tokens"


def reply_of(place: str, stream: bool, error: dict[str, Any], text: str, usage: bool) -> bytes:
    """A reply of OpenAI's form that fails after `text`. place: where the error stands;
    `finish`: only as the finish reason."""
    key = "delta" if stream else "message"
    choice: dict[str, Any] = {"index": 0, key: {"role": "assistant", "content": text}}
    document: dict[str, Any] = {"id": "g", "choices": [choice], **({"usage": USAGE} if usage else {})}
    if place in ("choice", "finish"):
        choice |= {"finish_reason": "error"} | ({"error": error} if place == "choice" else {})
    elif place == "top":
        document |= {"error": error}
    failed = {"error": error, **({"usage": USAGE} if usage else {})}
    if not stream:
        return json.dumps(failed if place == "event" else document).encode()
    said = {"id": "g", "choices": [{"index": 0, "delta": {"content": text}}]}
    events = [said] * bool(text) + [failed if place == "event" else document]
    head = "event: error\n" if place == "event" else ""
    lines = [f"data: {json.dumps(event)}\n\n" for event in events]
    return "".join([*lines[:-1], head + lines[-1]]).encode()


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("place", PLACES)
async def test_an_error_inside_a_reply_is_never_billed(lab: ScriptedHost, place: str, stream: bool) -> None:
    for number, (kind, error) in enumerate(ERRORS.items()):
        for text in ("", "Seven is"):
            for usage in (False, True):
                body = reply_of(place, stream, error, text, usage)
                case = Case(
                    name=kind,
                    host="any",
                    dialect="openai",
                    stream=stream,
                    file="",
                    replies=[Reply(body)],
                    model=f"m{number}{len(text)}{usage}",
                )
                failed, _ = await ask(lab, case)
                assert isinstance(failed, ProviderError), body
                assert not failed.billed, body
                assert (COUNTED in str(failed)) is usage, (body, str(failed))
                assert place == "finish" or failed.kind == kind, (body, str(failed))


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("place", PLACES)
async def test_its_reservation_is_given_back(
    lab: ScriptedHost, database: Database, place: str, stream: bool
) -> None:
    body = reply_of(place, stream, ERRORS["overloaded"], "Seven is", usage=True)
    case = Case(name=place, host="any", dialect="openai", stream=stream, file="", replies=[Reply(body)])
    trial = await run(lab, database, case)
    (failed,) = trial.of(CallFailed)
    assert (failed.charged_usd, failed.final, trial.reserved) == (0, False, 0)
    assert trial.spent == lab.bill({"alpha": PRICE}) > 0
    assert (len(lab.log), trial.result.status) == (2, "single")
