"""What a host advises does not change what it reports: a limit of a minute passes, whatever raises it."""

from __future__ import annotations

import json
from dataclasses import replace

from tests.hosts.test_errors import Row, errors
from tests.support.properties import THOROUGH
from tests.support.rows import rows

ADVICE = (
    "Add 10 credits to unlock 1000 requests per day.",
    "Please upgrade to a paid plan for higher limits.",
    "Purchase credits to get more requests.",
    "We recommend adding credits, or a larger plan.",
    "Top up your balance to increase your limits.",
    "To raise your limits, buy credits at https://host.example/billing?plan=daily.",
    "You can increase your rate limit by adding a payment method to your account.",
)
NAMED_RATES = ("rate limit", "too many requests", "per minute", "rpm", "slow down", "quickly", "concurrent")


def in_openai_words(table: str) -> list[Row]:
    """The rows of a table that are an error with a message and status 429."""
    return [row for row in errors(table) if row.status == 429 and message_of(row)]


def message_of(row: Row) -> str:
    """The message of an error of OpenAI's form that holds no other document; "" for another one."""
    try:
        document = json.loads(row.body)
    except ValueError:
        return ""
    error = document.get("error") if isinstance(document, dict) else None
    message = error.get("message") if isinstance(error, dict) else ""
    return message if isinstance(message, str) and "{" not in message else ""


def advised(row: Row, advice: str, before: bool) -> Row:
    document, cause = json.loads(row.body), message_of(row).strip()
    cause = cause if cause.endswith((".", "!", "。")) else f"{cause}."
    document["error"]["message"] = f"{advice} {cause}" if before else f"{cause} {advice}"
    return replace(row, body=json.dumps(document))


def names_a_rate(row: Row) -> bool:
    return any(words in message_of(row).lower() for words in NAMED_RATES)


EVERY = 1 if THOROUGH else 3
"""Each piece of advice is beside every row in a thorough run, and else beside one of so many."""
PASSING = list(filter(names_a_rate, in_openai_words("rate_limited")))
SPENT = in_openai_words("refused")


def some(found: list[Row], advice: str, before: bool) -> list[Row]:
    """The rows that this advice is beside; each of them has other advice before and after it."""
    assert len(found) > 60
    return found[(ADVICE.index(advice) + before) % EVERY :: EVERY]


@rows("before", [False, True], ids=["after", "before"])
@rows("advice", ADVICE)
def test_advice_on_how_to_raise_a_rate_is_not_its_cause(advice: str, before: bool) -> None:
    kinds = {str(row): advised(row, advice, before).error.kind for row in some(PASSING, advice, before)}
    assert kinds == dict.fromkeys(kinds, "rate_limited")


@rows("before", [False, True], ids=["after", "before"])
@rows("advice", ADVICE)
def test_advice_does_not_make_spent_money_pass(advice: str, before: bool) -> None:
    kinds = {str(row): advised(row, advice, before).error.kind for row in some(SPENT, advice, before)}
    assert kinds == dict.fromkeys(kinds, "refused")
