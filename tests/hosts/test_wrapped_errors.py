"""The errors of `errors.toml` as gateways pass them on: the host's whole report as text in a message."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from pnyx.providers.hosted.failures import failure, read_report
from tests.hosts.test_errors import KINDS, TABLE, Row, answer, every_error, request_body
from tests.support.properties import THOROUGH
from tests.support.rows import rows


def document(row: Row) -> dict[str, Any] | None:
    """The JSON of a row with a status of its own."""
    try:
        found = json.loads(row.body)
    except ValueError:
        return None
    return found if isinstance(found, dict) and row.status else None


def meaning(row: Row) -> tuple[Any, ...]:
    found = answer(row)
    return found.error.kind, found.change and found.change.max_tokens, found.body


@every_error(*sorted(TABLE.keys() - {"thoughts"}))
def test_a_report_in_the_words_of_an_exception_means_the_same(row: Row) -> None:
    if (report := document(row)) is None:
        return
    meant = (row.table, None, request_body(row.dialect, row.model)) if row.table in KINDS else meaning(row)
    forms = (row.body, repr(report))  # the latter of a gateway in Python, which prints what its client raises
    for text in forms if THOROUGH else forms[row.number % 2 :][:1]:
        message = f"litellm.APIError: AcmeException - {text}"
        error = {"error": {"message": message, "type": None, "code": str(row.status)}}
        assert meaning(replace(row, body=json.dumps(error))) == meant, message


INSIDE = '{"type":"error","error":{"type":"invalid_request_error","message":"messages: no text"}}'
SHOWN = [
    (f"AnthropicException - {INSIDE}", "AnthropicException - messages: no text"),
    (f"{INSIDE}. Received Model Group=a", "messages: no text. Received Model Group=a"),
    ("Error code: 400 - {'error': {'message': \"It's long\"}}", "Error code: 400 - It's long"),
    (
        "[{'type': 'extra_forbidden', 'loc': ('body', 'seed'), 'msg': 'Extra inputs'}]",
        "seed: Extra inputs",
    ),
    ('All failed: {"error": {"message": "second: {\\"msg\\": \\"down\\"}"}}', "All failed: second: down"),
    # no report, or none that can be read
    ('Unrecognized schema: {"not": {}}', 'Unrecognized schema: {"not": {}}'),
    ('Bad tool: {"description": "Searches."}', 'Bad tool: {"description": "Searches."}'),
    ("broken {'error': {'message': 'It\\q'}}", "broken {'error': {'message': 'It\\q'}}"),
    ('cut {"error": {"message": "to', 'cut {"error": {"message": "to'),
]


@rows("message, shown", SHOWN)
def test_the_words_of_the_host_are_shown_without_their_document(message: str, shown: str) -> None:
    assert read_report(400, json.dumps({"error": {"message": message}})).message == shown
    if not message.startswith("{"):
        assert read_report(400, message).message == shown


def test_a_status_that_no_standard_has_says_less_than_the_words() -> None:
    words = {"Invalid apiKey": "auth", "You exceeded your current rate limit": "rate_limited", "": "refused"}
    kinds = {message: failure(read_report(449, json.dumps({"msg": message}))).kind for message in words}
    assert kinds == words


def test_the_cause_in_the_details_of_google_is_shown() -> None:
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "INSUFFICIENT_G1_CREDITS_BALANCE"}
    error = {"code": 429, "message": "Resource has been exhausted.", "details": [info]}
    found = failure(read_report(429, json.dumps({"error": error})))
    assert found.kind == "refused"
    assert str(found) == "HTTP 429: Resource has been exhausted. (INSUFFICIENT_G1_CREDITS_BALANCE)"


def test_an_empty_report_is_the_phrase_of_its_status() -> None:
    assert str(failure(read_report(402, "{}"))) == "HTTP 402: Payment Required"


@rows("status", [0, 400, 422, 429, 500])
@rows("prefix", ["", "ThrottlingException: ", "An error occurred (ThrottlingException): "])
def test_a_rate_of_tokens_is_no_long_prompt_without_its_code_either(status: int, prefix: str) -> None:
    words = f"{prefix}Too many tokens, please wait before trying again."
    assert failure(read_report(status, json.dumps({"message": words}))).kind == "rate_limited"
