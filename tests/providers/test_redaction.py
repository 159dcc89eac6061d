"""Secrets in texts, whole or in pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.providers.redaction import Redactor, StreamRedactor

KEY = "planted-key"
LETTERS = st.text("abc", max_size=20)


def shown_after(redact: Redactor, *pieces: str) -> list[str]:
    """The text shown after each piece, with a "|" between pieces."""
    shown: list[str] = []
    arriving = StreamRedactor(redact, shown.append)
    for piece in pieces:
        arriving.add(piece)
        shown.append("|")
    arriving.end()
    arriving.end()
    return shown


@given(st.lists(LETTERS.filter(bool)), st.lists(LETTERS))
def test_text_in_pieces_is_masked_like_the_whole_text(secrets: list[str], pieces: list[str]) -> None:
    redact = Redactor(secrets)
    assert "".join(shown_after(redact, *pieces)).replace("|", "") == redact("".join(pieces))


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
def test_only_the_possible_start_of_a_secret_waits(pieces: list[str], shown: list[str]) -> None:
    assert shown_after(Redactor([KEY]), *pieces) == shown


def test_a_secret_waits_if_it_may_be_the_start_of_another() -> None:
    redact = Redactor([KEY, f"{KEY}-and-longer"])
    assert shown_after(redact, KEY, "-and", "-longer") == ["|", "|", "[redacted]", "|"]
    assert shown_after(redact, KEY, "-and") == ["|", "|", "[redacted]-and"]


def test_nothing_waits_without_a_secret() -> None:
    assert shown_after(Redactor(), "a", "b") == ["a", "|", "b", "|"]


def test_a_json_value_is_masked_at_every_depth() -> None:
    value = {"path": KEY, KEY: [{"n": 1, "found": (f"<{KEY}>", None)}]}
    masked = {"path": "[redacted]", "[redacted]": [{"n": 1, "found": ["<[redacted]>", None]}]}
    assert Redactor([KEY]).redact_json(value) == masked
