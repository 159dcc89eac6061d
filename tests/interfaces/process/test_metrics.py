"""`GET /metrics` of servers and workers: off, open, or for who has a key or is on this machine."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from pnyx.config.schema import Settings
from pnyx.config.tables.telemetry import TelemetrySettings
from pnyx.interfaces.access.keys import hash_key
from pnyx.interfaces.process.open_settings import open_settings
from pnyx.interfaces.process.worker_metrics import open_worker_metrics
from pnyx.interfaces.service.run_service import RunService
from tests.interfaces.conftest import CONFIG
from tests.support.scripted import ScriptedHost
from tests.support.serving import SERVER_KEY, open_server
from tests.support.sources import ROOT

DASHBOARD = json.loads((ROOT / "deploy" / "grafana" / "pnyx.json").read_text())
FORWARDED = {"X-Forwarded-For": "203.0.113.7"}


def values(page: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    }


def total(page: str, name: str, **labels: str) -> float:
    return sum(
        value for (found, its), value in values(page).items() if found == name and its >= labels.items()
    )


def configure(folder: Path, lab: ScriptedHost, telemetry: str) -> None:
    (folder / "lab.toml").write_text(CONFIG.format(url=lab.openai) + f"[telemetry]\n{telemetry}\n")


async def test_a_run_is_in_the_metrics(lab: ScriptedHost, tmp_path: Path) -> None:
    configure(tmp_path, lab, "prometheus = true")
    lab.on("*", text="It is.\n\nFinal answer: 42")
    lab.on("beta", status=503)
    async with open_server() as server, server.client() as client:
        body = {"question": "Six times seven?", "protocol": "voting", "wait": True}
        run = (await client.post("/v1/runs", json=body)).json()
        response = await client.get("/metrics")
    page = response.text
    assert response.headers["content-type"].startswith("text/plain")
    assert total(page, "pnyx_runs_total", protocol="voting", status=run["status"]) == 1
    assert total(page, "pnyx_requests_total", outcome="overloaded") == 1
    assert total(page, "pnyx_requests_total", outcome="ok") == run["usage"]["calls"] - 1
    assert total(page, "pnyx_cost_usd_total") == pytest.approx(run["usage"]["cost_usd"])
    tokens = total(page, "gen_ai_client_token_usage_sum", gen_ai_token_type="input")
    assert tokens == run["usage"]["input_tokens"]
    calls = total(page, "gen_ai_client_operation_duration_seconds_count", gen_ai_provider_name="openai")
    assert calls == run["usage"]["calls"]
    assert total(page, "pnyx_seats_dropped_total", provider="lab") == 1
    assert total(page, "http_server_request_duration_seconds_count", http_route="/v1/runs") == 1
    gauges = {name: value for (name, its), value in values(page).items() if not its}
    assert gauges["pnyx_database_up"] == 1
    assert gauges["pnyx_runs_active"] == gauges["pnyx_queue_length"] == 0
    assert "Six times seven" not in page
    asked = set(re.findall(r"\b(?:pnyx|gen_ai|http|process)_[a-z_]+(?=\{)", json.dumps(DASHBOARD)))
    assert len(asked) > 15
    families = set(re.findall(r"^# TYPE (\w+)", page, re.MULTILINE))
    assert asked <= {name for name, _ in values(page)} | families


ACCESS = [
    ("", {}, 404, 401),
    ("prometheus = true", {}, 200, 200),
    ("prometheus = true", FORWARDED, 200, 401),
    ("prometheus = true\nopen_metrics = true", FORWARDED, 200, 200),
]


@pytest.mark.parametrize(("telemetry", "headers", "with_key", "without"), ACCESS)
async def test_metrics_need_a_key_or_this_machine_unless_they_are_open(
    lab: ScriptedHost,
    tmp_path: Path,
    telemetry: str,
    headers: Mapping[str, str],
    with_key: int,
    without: int,
) -> None:
    configure(tmp_path, lab, telemetry)
    async with open_server() as server, server.client(None) as client:
        keyed = {**headers, "Authorization": f"Bearer {SERVER_KEY}"}
        assert (await client.get("/metrics", headers=keyed)).status_code == with_key
        assert (await client.get("/metrics", headers=headers)).status_code == without
        # The rule is for this one path.
        assert (await client.get("/v1/runs", headers=headers)).status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        (FORWARDED, 401),
        ({"Host": "rebound.example"}, 401),
        ({"Origin": "http://127.0.0.1"}, 401),
        ({"Authorization": "Bearer wrong", **FORWARDED}, 401),
        ({"Authorization": "Bearer pnyx_ada-key", **FORWARDED}, 200),
    ],
)
async def test_a_worker_shows_its_metrics_by_the_same_rule(
    lab: ScriptedHost, tmp_path: Path, headers: Mapping[str, str], status: int
) -> None:
    configure(tmp_path, lab, "prometheus = true\nworker_port = 0")
    async with (
        RunService.open(open_settings()) as service,
        open_worker_metrics(service) as address,
        httpx2.AsyncClient(trust_env=False, verify=False) as client,
    ):
        await service.keys.add("ada", hash_key("pnyx_ada-key"))
        assert address is not None
        response = await client.get(address, headers=dict(headers))
    assert response.status_code == status
    assert ("pnyx_runs_active" in response.text) == (status == 200)


async def test_a_worker_without_a_port_listens_on_none(lab: ScriptedHost, tmp_path: Path) -> None:
    configure(tmp_path, lab, "prometheus = true")
    async with RunService.open(open_settings()) as service, open_worker_metrics(service) as address:
        assert address is None


async def test_without_a_setting_nothing_observes(lab: ScriptedHost) -> None:
    settings: Settings = open_settings()
    assert settings.telemetry == TelemetrySettings()
    async with RunService.open(settings) as service:
        observer: Any = service.runner.resources.observer
        assert service.telemetry is observer is None
