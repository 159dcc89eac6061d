"""docs/operations.md lists every metric and every log line as they are."""

from __future__ import annotations

import re

import pytest

from pnyx.telemetry.instruments import INSTRUMENTS, Instrument
from pnyx.telemetry.log_fields import _FIELDS
from tests.support.sources import ROOT

PAGE = (ROOT / "docs" / "operations.md").read_text()


@pytest.mark.parametrize("metric", INSTRUMENTS.values(), ids=INSTRUMENTS)
def test_a_metric_is_documented_as_it_is(metric: Instrument) -> None:
    name = metric.prometheus_name + ("_total" if metric.kind == "counter" else "")
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    cells = [f"`{metric.name}`", f"`{name}`", metric.kind, labels, metric.description]
    assert f"| {' | '.join(cells)} |".replace("|  |", "|  |") in PAGE


def test_every_event_that_is_logged_is_documented() -> None:
    documented = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE))))
    events = {kind.type for kind in _FIELDS} - {"unknown", "token"}
    others = {"run_opened", "run_closed", "http_request", "message", "log_dropped", "stopped"}
    assert events | others <= documented
