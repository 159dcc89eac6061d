"""The checker finds each kind of inconsistency."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from pnyx.core.models import Price
from tests.interfaces.conftest import KEY, lab
from tests.interfaces.shell import pnyx
from tests.support.checker import check
from tests.support.scripted import ScriptedHost
from tests.support.stored import file_as_json

__all__ = ["lab"]


PRICES = {"alpha": Price(1.0, 4.0), "beta": Price(1.0, 2.0), "gamma": Price(0.5, 1.0)}


@pytest.fixture
def done(lab: ScriptedHost, sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A correct run, and a function that corrupts its rows."""
    monkeypatch.setenv("PNYX_DATABASE", sqlite_url)
    assert pnyx("ask", "-q", "Why?").code == 0

    def spoil(statement: str) -> None:
        with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as connection, connection:
            assert connection.execute(statement).rowcount > 0

    return spoil


def test_consistent_books_pass(done: object, lab: ScriptedHost, sqlite_url: str) -> None:
    verdict = check(sqlite_url, lab, PRICES, secrets=[KEY])
    assert verdict.bill_nusd == verdict.ledger_nusd > 0
    assert (verdict.happened, verdict.uncertain) == ("decided; 4 requests", 0)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM events WHERE seq = 3",
        "DELETE FROM events WHERE type = 'run_finished'",
        "DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)",
        "UPDATE ledger SET spent_nusd = spent_nusd + 1 WHERE scope LIKE 'run:%'",
        "UPDATE ledger SET reserved_nusd = 1 WHERE scope LIKE 'run:%'",
        "UPDATE ledger SET spent_nusd = spent_nusd - 1 WHERE scope LIKE 'day:%'",
        "UPDATE ledger SET cap_nusd = 1 WHERE scope LIKE 'day:%'",
        "UPDATE runs SET status = 'paused'",
        "UPDATE runs SET seq = seq + 1",
    ],
)
def test_inconsistent_books_are_found(
    done: Callable[[str], None], lab: ScriptedHost, sqlite_url: str, statement: str
) -> None:
    done(statement)
    with pytest.raises(AssertionError):
        check(sqlite_url, lab, PRICES)


def test_an_unreported_overrun_is_found(
    done: Callable[[str], None], lab: ScriptedHost, sqlite_url: str
) -> None:
    file_as_json(Path(sqlite_url.removeprefix("sqlite:///")))
    done("UPDATE events SET body = json_set(body, '$.reserved_usd', 1e-9) WHERE type = 'call_started'")
    with pytest.raises(AssertionError, match="overrun, 0 reported"):
        check(sqlite_url, lab, PRICES)


def test_a_request_missing_from_the_journal_is_found(
    done: object, lab: ScriptedHost, sqlite_url: str
) -> None:
    lab.log.append(lab.log[0])
    with pytest.raises(AssertionError, match="requests"):
        check(sqlite_url, lab, PRICES)
    lab.log[-1:] = []
    lab.log[0].body = {"messages": [{"content": "something else"}]}
    with pytest.raises(AssertionError):
        check(sqlite_url, lab, PRICES)


def test_a_wrong_bill_is_found(done: object, lab: ScriptedHost, sqlite_url: str) -> None:
    assert lab.log[0].usage is not None
    lab.log[0].usage["output"] += 1
    with pytest.raises(AssertionError, match="billed"):
        check(sqlite_url, lab, PRICES)


def test_a_secret_is_found_in_texts_files_and_rows(
    done: Callable[[str], None], lab: ScriptedHost, sqlite_url: str, tmp_path: Path
) -> None:
    with pytest.raises(AssertionError, match="a secret"):
        check(sqlite_url, lab, PRICES, secrets=[KEY], texts=[f"key {KEY}"])
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "page.md").write_text(KEY)
    with pytest.raises(AssertionError, match=r"page\.md"):
        check(sqlite_url, lab, PRICES, secrets=[KEY], folders=[tmp_path])
    file_as_json(Path(sqlite_url.removeprefix("sqlite:///")))
    done(f"UPDATE events SET body = replace(body, 'Why?', '{KEY}') WHERE type = 'run_started'")
    with pytest.raises(AssertionError, match="a secret"):
        check(sqlite_url, lab, PRICES, secrets=[KEY])
