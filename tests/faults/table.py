"""`python -m pytest -q -p tests.faults.table tests/faults`: one line per fault instead of dots.

fault | outcome | the host's bill | the ledger, in USD; printed as each test ends.
"""

from __future__ import annotations

import pytest

__all__ = ["pytest_configure"]

WIDTHS = (80, 70, 9, 9)


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # those of pytest-xdist report to the process that prints
        config.pluginmanager.register(_Table(config), "fault table")


class _Table:
    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._tell(("fault", "what happened", "bill", "ledger"))

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str]:
        if report.failed:
            return "failed" if report.when == "call" else "error", "", ""
        return report.outcome if report.when == "call" else "", "", ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        columns = dict(report.user_properties).get("fault")
        if report.when == "teardown" and isinstance(columns, tuple | list):
            self._tell((_name(report.nodeid), *columns))
        elif report.failed:
            self._tell((_name(report.nodeid), "FAILED", "", ""))

    def _tell(self, cells: tuple[str, ...]) -> None:
        terminal = self._config.pluginmanager.getplugin("terminalreporter")
        line = " | ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True))
        if terminal is None:
            print(line.rstrip())
        else:
            terminal.write_line(line.rstrip())


def _name(nodeid: str) -> str:
    test, _, case = nodeid.rpartition("::")[2].partition("[")
    words = test.removeprefix("test_").replace("_", " ")
    name = f"{case.removesuffix(']')}: {words}" if case else words
    return name if len(name) <= WIDTHS[0] else name[: WIDTHS[0] - 2] + " …"
