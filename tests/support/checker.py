"""The check after every fault: the books must agree with the host's bill.

    verdict = check(url, host, PRICES, secrets=[KEY], texts=[out, err], folders=[home])
    print(verdict.happened, verdict.bill_nusd, verdict.ledger_nusd)

Events have no gap and one end. The ledger is the sum of the journal. Every request at the host is an attempt
in the journal. A reply's cost was charged; if they differ, the attempt records that its cost is uncertain,
and its charge is at least as high. No secret appears anywhere.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from pnyx.core.models import Price, Usage
from tests.support.books import Attempt, Books, Run, nusd
from tests.support.script import Request
from tests.support.scripted import ScriptedHost

__all__ = ["Verdict", "check", "exports"]

UNSENT = frozenset(("open", "unknown", "unreachable", "timeout", "overtaken"))
"""Outcomes of attempts that may not have reached the host."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The state after a fault. bill_nusd: what the host would bill; ledger_nusd: what was charged.

    uncertain: the number of attempts charged at their reservation because their cost is unknown.
    """

    books: Books
    bill_nusd: int
    ledger_nusd: int
    uncertain: int

    @property
    def run(self) -> Run:
        """The only run."""
        (run,) = self.books.runs.values()
        return run

    @property
    def happened(self) -> str:
        statuses = Counter(_status(run) for run in self.books.runs.values())
        if not statuses:
            return "no run"
        ends = " + ".join(
            name if len(self.books.runs) == 1 else f"{n} {name}" for name, n in statuses.items()
        )
        failed = Counter(
            a.kind for run in self.books.runs.values() for a in run.attempts if a.kind not in ("", "open")
        )
        calls = sum(len(run.attempts) for run in self.books.runs.values())
        dropped = sum(e["type"] == "seat_dropped" for run in self.books.runs.values() for e in run.events)
        parts = [ends, f"{calls} requests", *(f"{n} {kind}" for kind, n in failed.items())]
        return "; ".join([*parts, *([f"{dropped} dropped"] if dropped else [])])


def check(
    url: str,
    host: ScriptedHost,
    prices: Mapping[str, Price],
    *,
    run_id: str | None = None,
    secrets: Iterable[str] = (),
    texts: Iterable[str] = (),
    folders: Iterable[Path] = (),
) -> Verdict:
    """Return the state after a fault. Raises `AssertionError` if a rule is broken.

    prices: by model, as the host names it. run_id: check only the events of this run; the books are checked
    for all. texts: everything printed. folders: every file in them is searched for secrets.
    """
    books = Books.read(url)
    for run in books.runs.values() if run_id is None else [books.runs[run_id]]:
        _events(run)
    _ledger(books)
    attempts = [attempt for run in books.runs.values() for attempt in run.attempts]
    bill = _bill(attempts, host.log, prices)
    assert bill == host.bill(prices)
    _secrets(list(secrets), [*texts, *_rows(books)], folders)
    ledger = sum(spent for scope, (_, spent, _) in books.accounts.items() if scope.startswith("run:"))
    uncertain = [a for a in attempts if not a.certain and a.charged]
    return Verdict(books, bill, ledger, len(uncertain))


def exports(run: str, url: str, folder: Path) -> list[str]:
    """Return the output of `pnyx export` in every format."""
    from tests.interfaces.shell import pnyx

    with mock.patch.dict(os.environ, {"PNYX_DATABASE": url}):
        made = [pnyx("export", run, "--format", form) for form in ("json", "md")]
        made.append(pnyx("export", run, "--format", "folder", "--out", str(folder)))
    assert [done.code for done in made] == [0, 0, 0], [done.err for done in made]
    pages = [path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()]
    return [*(done.out + done.err for done in made), *pages]


def _status(run: Run) -> str:
    result: Mapping[str, Any] = run.events[-1].get("result", {}) if run.events else {}
    return f"{run.status}, degraded" if result.get("degraded") else run.status


def _events(run: Run) -> None:
    """Check that events have no gap and no duplicate, and that a finished run has one end."""
    assert [e["seq"] for e in run.events] == list(range(1, run.seq + 1)), run.id
    ends = [e for e in run.events if e["type"] == "run_finished"]
    assert len(ends) == (1 if run.over else 0), f"run {run.id}, {run.status}: {len(ends)} terminal events"
    assert not ends or run.events[-1] == ends[0]
    outcomes = Counter(e["key"] for e in run.events if e["type"] == "call_finished")
    assert all(n == 1 for n in outcomes.values()), f"run {run.id}: one call was answered twice: {outcomes}"
    assert not (run.over and any(a.outcome is None for a in run.attempts)), f"run {run.id}: calls left open"


def _ledger(books: Books) -> None:
    """Check spent and reserved amounts against the journal, for every run and day.

    Their sum is within the cap, except for overruns, which have an event.
    """
    days: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    overrun: Counter[str] = Counter()
    for run in books.runs.values():
        held = 0
        for attempt in run.attempts:
            amount = round((attempt.started["reserved_usd"] or 0.0) * 1e9)
            scope = f"day:{attempt.started['time'][:10]}"
            day = days[scope]
            day[0] += attempt.charged
            overrun[scope] += attempt.overrun
            overrun[f"run:{run.id}"] += attempt.overrun
            if attempt.outcome is None:
                held += amount
                day[1] += amount
        cap, spent, reserved = books.accounts.get(f"run:{run.id}", (None, 0, 0))
        assert (spent, reserved) == (run.charged, held), f"run {run.id}: ledger {spent}, {reserved}"
        over = overrun[f"run:{run.id}"]
        assert cap is None or spent + reserved <= cap + over, f"run {run.id} is over its cap"
        reported = sum(nusd(e["overrun_usd"]) for e in run.events if e["type"] == "budget")
        assert reported == over, f"run {run.id}: {over} overrun, {reported} reported"
    for scope, (cap, spent, reserved) in books.accounts.items():
        if scope.startswith("day:"):
            assert [spent, reserved] == days[scope], f"{scope}: ledger {spent}, {reserved}"
            assert cap is None or spent + reserved <= cap + overrun[scope], f"{scope} is over its cap"


def _bill(attempts: Iterable[Attempt], log: Iterable[Request], prices: Mapping[str, Price]) -> int:
    """Match requests with attempts by prompt, and return the host's bill in nUSD."""
    intents: defaultdict[tuple[str, str], list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        started = attempt.started
        intents[started["model"].partition(":")[2], _plain(started["prompt"])].append(attempt)
    received: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for request in log:
        asked = next(
            turn["content"] for turn in request.body["messages"] if turn.get("role", "user") == "user"
        )
        about = (request.model, _plain(str(asked)))
        received[about].append(_cost(request, prices[request.model]))
    assert not received.keys() - intents.keys(), "a request without an intent in the journal"
    for about, group in intents.items():
        _match(about, group, received[about])
    return sum(map(sum, received.values()))


def _cost(request: Request, price: Price) -> int:
    used = request.usage
    if used is None:
        return 0
    return price.cost(Usage(*(used[name] for name in ("input", "cached", "output", "reasoning"))))


def _match(about: tuple[str, str], group: list[Attempt], costs: list[int]) -> None:
    model, prompt = about[0], about[1][:60]
    unmatched = Counter(costs)
    for attempt in group:
        if attempt.certain:
            assert unmatched[attempt.charged], (
                f"{model}, {prompt!r}: charged {attempt.charged}, billed {costs}"
            )
            unmatched[attempt.charged] -= 1
    rest = list(unmatched.elements())
    doubtful = [a for a in group if not a.certain]
    unsent = sum(a.kind in UNSENT for a in doubtful)
    assert 0 <= len(doubtful) - len(rest) <= unsent, f"{model}, {prompt!r}: {len(costs)} requests, {group}"
    held = sum(a.charged or round((a.started["reserved_usd"] or 0) * 1e9) for a in doubtful)
    assert sum(rest) <= held, f"{model}, {prompt!r}: billed {rest}, held {held}"


def _plain(text: str) -> str:
    """Replace lone surrogates, as a request does."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def _rows(books: Books) -> list[str]:
    return [str(event) for run in books.runs.values() for event in run.events]


def _secrets(secrets: list[str], texts: Iterable[str], folders: Iterable[Path]) -> None:
    for text in texts:
        assert not any(secret in text for secret in secrets), f"a secret in {text[:200]!r}"
    for path in (path for folder in folders for path in folder.rglob("*")):
        with suppress(FileNotFoundError):
            if path.is_file() and not path.is_symlink():
                data = path.read_bytes()
                assert not any(secret.encode() in data for secret in secrets), f"a secret in {path}"
