"""What a gateway does to a host's words changes nothing: signs, blanks, escapes, and what it puts around."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tests.hosts.test_errors import KINDS, Row, errors
from tests.support.rows import rows

WORDS = ("message", "msg", "detail", "error_msg")
CHANGES: dict[str, Callable[[str], str]] = {
    "typographic quotation marks": lambda words: words.replace("'", "\u2019").replace('"', "\u201d"),
    "two blanks": lambda words: words.replace(" ", "  "),
    "blanks that keep words together": lambda words: words.replace(" ", "\u00a0"),
    "signs of no width": lambda words: words.replace(" ", "\u200b ", 2),
    "HTML": html.escape,
    "a request's id behind it": lambda words: f"{words.rstrip('.')} (request id: 20260101-8f2a1c99d)",
    "a request's id after it": lambda words: f"{words} Request ID: req_011CQ8f2",
    "its status before it": lambda words: f"[400] {words}",
    "words before it": lambda words: f"The provider returned an error: {words}",
    "quotation marks around it": lambda words: f'"{words}"',
}
EVERY = 8


def changed(document: Any, change: Callable[[str], str]) -> Any:
    """`document` with each message changed that is words, and no document itself."""
    if isinstance(document, list):
        return [changed(one, change) for one in document]
    if not isinstance(document, Mapping):
        return document
    return {
        name: change(value)
        if name in WORDS and isinstance(value, str) and "{" not in value and "rpc error" not in value
        else changed(value, change)
        for name, value in document.items()
    }


def test_a_failure_has_its_kind_whatever_a_gateway_does_to_its_words() -> None:
    rows = errors(*KINDS)
    wrong = []
    for number, (name, change) in enumerate(CHANGES.items()):
        for row in rows[number % EVERY :: EVERY]:
            try:
                document = json.loads(row.body)
            except ValueError:
                continue  # words alone, or a page
            body = json.dumps(changed(document, change), ensure_ascii=False)
            kind = replace(row, body=body).error.kind
            wrong += [(name, row.table, kind, body)] * (kind != row.table)
    assert wrong == []


@rows("name", CHANGES)
def test_the_words_of_the_host_are_shown_as_they_came(name: str) -> None:
    words = CHANGES[name]("The model 'alpha' isn't supported")
    body = json.dumps({"error": {"message": words}})
    assert words in str(Row("variant", "alpha", 400, body).error)
