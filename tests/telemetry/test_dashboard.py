"""The dashboard and the alerts of deploy/ ask for metrics and labels that there are.

`make check-deploy` reads both with promtool, and makes each alert fire.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from pnyx.core.decision import STATUSES
from pnyx.errors import ProviderError
from pnyx.run.journal import CUT_OFF
from pnyx.telemetry.instruments import INSTRUMENTS
from pnyx.telemetry.prometheus import PrometheusMetrics
from tests.support.sources import ROOT

DASHBOARD: dict[str, Any] = json.loads((ROOT / "deploy" / "grafana" / "pnyx.json").read_text())
ALERTS = (ROOT / "deploy" / "prometheus" / "alerts.yaml").read_text()
RULES: list[dict[str, Any]] = yaml.safe_load(ALERTS)["groups"][0]["rules"]
PAGE = (ROOT / "docs" / "operations.md").read_text()
PANELS: list[dict[str, Any]] = DASHBOARD["panels"]
QUERIES = [
    *(target["expr"] for panel in PANELS for target in panel.get("targets", ())),
    *(rule["expr"] for rule in RULES),
    *(one["definition"] for one in DASHBOARD["templating"]["list"] if one["type"] == "query"),
]
FUNCTIONS = [
    "sum",
    "by",
    "max",
    "min",
    "rate",
    "increase",
    "histogram_quantile",
    "label_values",
    "or",
    "unless",
    "offset",
    "without",
    "on",
]
EVERYWHERE = {"job", "instance", "le"}
"""Labels that Prometheus adds."""


def series() -> dict[str, set[str]]:
    """Every series that `/metrics` can have, with its labels."""
    found: dict[str, set[str]] = {"up": set(), "pnyx_info": {"version"}}
    for family in PrometheusMetrics().registry.collect():
        if family.name.startswith("process"):
            found[family.name + ("_total" if family.type == "counter" else "")] = set()
    for one in INSTRUMENTS.values():
        ends = {"counter": ["_total"], "gauge": [""], "histogram": ["_bucket", "_sum", "_count"]}[one.kind]
        for end in ends:
            found[one.prometheus_name + end] = set(one.prometheus_labels)
    return found


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_names_metrics_and_labels_that_there_are(query: str) -> None:
    known = series()
    bare = re.sub(r'"[^"]*"|\[[^\]]*\]|\$\w+', " ", query)
    grouped = [label.strip() for inner in re.findall(r"by \(([^)]*)\)", bare) for label in inner.split(",")]
    chosen = [name for inner in re.findall(r"\{([^}]*)\}", bare) for name in re.findall(r"\w+", inner)]
    rest = re.sub(r"by \([^)]*\)|\{[^}]*\}|label_values\(|\b\d+m?\b", " ", bare)
    names = [
        name
        for name in re.findall(r"[a-z_]\w*", rest)
        if name not in (*FUNCTIONS, *EVERYWHERE)  # `label_values` names a label beside the metric
    ]
    assert names
    for name in names:
        assert name in known, name
        labels = known[name] | EVERYWHERE
        assert set(chosen) | set(grouped) <= labels, (name, set(chosen) | set(grouped) - labels)


def test_values_that_alerts_look_for_can_occur() -> None:
    outcomes = {"ok", CUT_OFF, "unknown", *ProviderError.KINDS}
    for _, wanted in re.findall(r'outcome(=|=~|!~)"([^"]*)"', ALERTS):
        assert set(wanted.split("|")) <= outcomes
    for wanted in re.findall(r'status="([^"]*)"', ALERTS):
        assert wanted in STATUSES
    budgets = {label for labels in INSTRUMENTS["pnyx.budget.events"].known for label in labels}
    assert set(re.findall(r'(?:kind|scope)!?="([^"]*)"', ALERTS)) <= budgets


def test_every_alert_says_what_to_do() -> None:
    assert len(RULES) > 10
    for rule in RULES:
        assert rule["labels"]["severity"] in ("critical", "warning", "info")
        assert re.search(rf"^\| `{rule['alert']}` \| .{{80,}} \|$", PAGE, re.MULTILINE), rule["alert"]
    mentioned = set(re.findall(r"Pnyx\w+", json.dumps(DASHBOARD) + PAGE))
    assert mentioned <= {rule["alert"] for rule in RULES}


def test_the_dashboard_shows_every_metric_of_pnyx() -> None:
    asked = " ".join(QUERIES)
    missing = {one.prometheus_name for one in INSTRUMENTS.values() if one.prometheus_name not in asked}
    assert missing == {"pnyx_tool_calls"}


def test_panels_have_a_place_of_their_own_and_a_data_source_that_can_be_chosen() -> None:
    ids = Counter(panel["id"] for panel in PANELS)
    assert set(ids.values()) == {1}
    places: Counter[tuple[int, int]] = Counter()
    for panel in PANELS:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        places.update((at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"]))
        if panel["type"] != "row":
            assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
            assert all({"refId", "expr", "legendFormat"} <= target.keys() for target in panel["targets"])
    assert set(places.values()) == {1}
    assert {"title", "uid", "schemaVersion", "time", "templating"} <= DASHBOARD.keys()
