"""docs/troubleshooting.md has every message of the code, with its cause and its fix."""

from __future__ import annotations

import ast

import pytest

from tests.docs.troubleshooting import PAGE, families, messages, page, place, raised
from tests.support.sources import modules


def test_the_page_has_every_message_of_the_code_with_its_cause() -> None:
    # One test, because reading all modules takes two seconds of each process.
    places = {message: place(message) for message in messages()}
    assert [message for message, title in places.items() if title is None] == []
    unused = [family["title"] for family in families() if family["title"] not in places.values()]
    assert unused == [], "these causes belong to no message"
    shown = [text for family in families() for text in family.get("shown", ())]
    assert [text for text in shown if not any(text in module.text for module in modules())] == []
    assert PAGE.read_text("utf-8") == page(), "run: python -m tests.docs.troubleshooting"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ('raise UsageError("no such thing")', "no such thing"),
        ('raise UsageError(f"no {kind} {name!r} here")', "no … … here"),
        ('raise UsageError(f"no {kind}" + "; try again")', "no …; try again"),
        ('raise errors.NotFound("one thing" if one else "two things")', "one thing"),
        ('raise ProviderError("timeout", f"no answer within {s} s", billed=True)', "no answer within … s"),
    ],
)
def test_a_message_is_read_from_the_code(code: str, text: str) -> None:
    assert [found for _, found in raised(ast.parse(code))] == [text]


def test_what_is_no_message_is_not_read() -> None:
    codes = ("UsageError(str(problem))", "KeyError('no key')", "ProviderError('timeout', words)")
    assert [list(raised(ast.parse(code))) for code in codes] == [[], [], []]
