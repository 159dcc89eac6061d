"""`python -m pytest -p tests.clients.record tests/clients`: writes what each client did into docs/clients.md.

`results.json` beside this module holds the last result of every client; the page's table is made from it. A
run of some clients replaces their rows alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from typing import Any

import pytest

from tests.clients.catalogue import CLIENTS, clients
from tests.support.sources import ROOT

__all__ = ["PAGE", "Row", "pytest_configure", "read", "with_table"]

RESULTS = CLIENTS / "results.json"
PAGE = ROOT / "docs" / "clients.md"
START, END = "<!-- results -->\n", "<!-- end of results -->\n"
HEAD = "| client | version | date | tried | result | what does not work |\n|---|---|---|---|---|---|\n"


@dataclass
class Row:
    """The last result of a client. date: in ISO form. failed: the number of its tests that failed."""

    version: str
    date: str
    tried: list[str] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)
    failed: int = 0

    def add(self, check: Mapping[str, Any], failed: bool) -> None:
        """Add what one test reported."""
        self.tried += [one for one in check["tried"] if one not in self.tried]
        self.limits += [one for one in check["limits"] if one not in self.limits]
        self.failed += failed

    def cells(self, name: str, ci: bool) -> str:
        result = "passes" if not self.failed else "fails"
        shown = (
            *(name, self.version, self.date, ", ".join(self.tried)),
            *(f"{result}, in CI too" if ci else result, "; ".join(self.limits)),
        )
        return f"| {' | '.join(cell.replace('|', '/') for cell in shown)} |\n"


def read() -> dict[str, Row]:
    """The stored results by client."""
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    return {name: Row(**row) for name, row in stored.items()}


def with_table(page: str, rows: Mapping[str, Row]) -> str:
    """The page with the table of these results."""
    before, rest = page.split(START)
    after = rest.split(END)[1]
    in_ci = {client.name for client in clients() if client.ci}
    lines = [row.cells(name, name in in_ci) for name, row in sorted(rows.items())]
    return before + START + HEAD + "".join(lines) + END + after


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # those of pytest-xdist report to the process that writes
        config.pluginmanager.register(_Recorder(), "clients")


class _Recorder:
    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.add(report.nodeid)
        if report.when != "teardown":
            return
        for name, check in report.user_properties:
            if name == "client":
                assert isinstance(check, dict)
                row = self._rows.setdefault(check["name"], Row(check["version"], date.today().isoformat()))
                row.add(check, report.nodeid in self._failed)

    def pytest_sessionfinish(self) -> None:
        rows = {**read(), **self._rows}
        stored = {name: asdict(row) for name, row in sorted(rows.items())}
        RESULTS.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n")
        PAGE.write_text(with_table(PAGE.read_text(), rows))
