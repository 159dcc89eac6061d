"""Secrets in texts, whole or still arriving."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.providers.redaction import Arriving, Redactor

KEY = "planted-key"
LETTERS = st.text("abc", max_size=20)


def arrived(redact: Redactor, *pieces: str) -> list[str]:
    """What is shown as the pieces come, and then that nothing more does."""
    shown: list[str] = []
    arriving = Arriving(redact, shown.append)
    for piece in pieces:
        arriving.add(piece)
        shown.append("|")
    arriving.end()
    arriving.end()
    return shown


@given(st.lists(LETTERS.filter(bool)), st.lists(LETTERS))
def test_text_in_pieces_is_masked_as_it_is_whole(secrets: list[str], pieces: list[str]) -> None:
    redact = Redactor(secrets)
    assert "".join(arrived(redact, *pieces)).replace("|", "") == redact("".join(pieces))


@given(st.lists(LETTERS.filter(bool), min_size=1), LETTERS)
def test_no_secret_is_left(secrets: list[str], text: str) -> None:
    assert not any(
        secret in part for part in Redactor(secrets)(text).split("[redacted]") for secret in secrets
    )


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (["My ", "key ", "is p"], ["My ", "|", "key ", "|", "is ", "|", "p"]),
        (["pl", "ain"], ["|", "plain", "|"]),
        (["plan", "ted-", "key."], ["|", "|", "[redacted].", "|"]),
        (["planted", "planted-key"], ["|", "planted[redacted]", "|"]),
        ([KEY], ["[redacted]", "|"]),
    ],
)
def test_only_what_may_be_the_beginning_of_a_secret_waits(pieces: list[str], shown: list[str]) -> None:
    assert arrived(Redactor([KEY]), *pieces) == shown


def test_a_secret_waits_where_it_may_be_the_beginning_of_another() -> None:
    redact = Redactor([KEY, f"{KEY}-and-longer"])
    assert arrived(redact, KEY, "-and", "-longer") == ["|", "|", "[redacted]", "|"]
    assert arrived(redact, KEY, "-and") == ["|", "|", "[redacted]-and"]


def test_nothing_waits_where_there_is_nothing_to_hide() -> None:
    assert arrived(Redactor(), "a", "b") == ["a", "|", "b", "|"]


def test_a_json_value_is_masked_however_deep() -> None:
    value = {"path": KEY, KEY: [{"n": 1, "found": (f"<{KEY}>", None)}]}
    told = {"path": "[redacted]", "[redacted]": [{"n": 1, "found": ["<[redacted]>", None]}]}
    assert Redactor([KEY]).within(value) == told
