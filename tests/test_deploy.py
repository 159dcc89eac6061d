"""The files of deploy/ are of this version; `make check-deploy` reads them with the tools made for them."""

from __future__ import annotations

import re

import pytest
import yaml  # type: ignore[import-untyped]

import pnyx
from tests.support.sources import ROOT

DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "pnyx"


def test_the_chart_and_the_image_have_the_version_of_the_package() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == pnyx.__version__
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    assert services["server"]["image"] == services["worker"]["image"] == f"pnyx:{pnyx.__version__}"
    page = (ROOT / "docs" / "deploy.md").read_text()
    assert set(re.findall(r"pnyx:(\d[\d.]*)", page)) == {pnyx.__version__}


@pytest.mark.parametrize(
    "text",
    [
        (DEPLOY / "Dockerfile").read_text(),
        (DEPLOY / "systemd" / "pnyx.service").read_text(),
        (CHART / "templates" / "_helpers.tpl").read_text(),
    ],
    ids=["Dockerfile", "unit", "chart"],
)
def test_no_server_runs_as_root(text: str) -> None:
    assert re.search(r"^USER 10001|^User=pnyx$|runAsNonRoot: true", text, re.MULTILINE)


def test_every_way_to_run_a_server_gives_calls_in_flight_the_time_they_have() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    limits = [services[name]["stop_grace_period"] for name in ("server", "worker")]
    units = [path.read_text() for path in (DEPLOY / "systemd").glob("*.service")]
    limits += re.findall(r"^TimeoutStopSec=(\d+)$", "".join(units), re.MULTILINE)
    limits += re.findall(
        r"terminationGracePeriodSeconds: (\d+)", (CHART / "templates/_helpers.tpl").read_text()
    )
    assert len(limits) == 5
    # A process that is asked to stop ends within 10 seconds.
    assert all(int(limit.removesuffix("s")) > 10 for limit in limits)
