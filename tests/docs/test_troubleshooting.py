"""docs/troubleshooting.md has every message of the code, with its cause and its fix."""

from __future__ import annotations

import ast

import pytest

from tests.docs.troubleshooting import PAGE, families, messages, page, place, raised
from tests.support.sources import modules


def test_the_page_is_that_of_the_code() -> None:
    assert PAGE.read_text("utf-8") == page(), "run: python -m tests.docs.troubleshooting"


def test_every_message_has_a_cause_and_a_fix() -> None:
    assert [message for message in messages() if place(message) is None] == []


def test_every_cause_belongs_to_a_message() -> None:
    used = {place(message) for message in messages()}
    assert [family["title"] for family in families() if family["title"] not in used] == []


@pytest.mark.parametrize("text", [text for family in families() for text in family.get("shown", ())])
def test_what_is_shown_beside_errors_stands_in_the_code(text: str) -> None:
    assert any(text in module.text for module in modules())


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
