"""Traces and metrics that arrive at a collector: of a run, its phases, calls and tools."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from pnyx.interfaces.process.open_settings import open_settings
from pnyx.interfaces.service.run_service import RunService
from pnyx.run.observer import ORIGIN, Origin, TraceContext
from pnyx.run.options.request import RunRequest
from pnyx.run.options.resolve import resolve
from pnyx.telemetry import open as opening
from tests.interfaces.conftest import CONFIG, KEY
from tests.interfaces.shell import pnyx, spawn
from tests.support.collector import Collector, collecting
from tests.support.scripted import ScriptedHost
from tests.support.serving import open_server

QUESTION, REPLY = "Does the heron eat the eel?", "It waits for it.\n\nFinal answer: yes"
INTERNAL, CLIENT = 1, 3


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    monkeypatch.setattr(opening, "CLOSE_S", 30.0)  # a busy machine may need longer than a person waits
    with collecting() as collector:
        yield collector


def configure(folder: Path, lab: ScriptedHost, collector: Collector, more: str = "") -> None:
    telemetry = f'[telemetry]\notlp = true\nendpoint = "{collector.url}"\n{more}\n'
    config = CONFIG.format(url=lab.openai).replace("retries = 0", "retries = 2")
    (folder / "lab.toml").write_text(config + telemetry)


async def test_a_run_is_a_trace_below_the_request_that_started_it(
    lab: ScriptedHost, tmp_path: Path, collector: Collector
) -> None:
    configure(tmp_path, lab, collector)
    lab.on("*", text=REPLY)
    lab.on("beta", call=1, status=503)
    parent = TraceContext.new()
    async with open_server() as server, server.client(await server.key("ada")) as client:
        body = {"question": QUESTION, "protocol": "voting", "wait": True}
        response = await client.post("/v1/runs", json=body, headers={"traceparent": str(parent)})
    result = response.json()
    run = collector.one("invoke_workflow")
    assert (run.name, run.trace, run.parent) == ("invoke_workflow voting", parent.trace_id, parent.span_id)
    assert run.attributes | {"pnyx.cost.usd": 0, "pnyx.agreement": 0} == {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": "voting",
        "pnyx.run.id": result["run_id"],
        "pnyx.owner": "ada",
        "pnyx.request.id": response.headers["x-request-id"],
        "pnyx.resumed": False,
        "pnyx.status": result["status"],
        "pnyx.stop_reason": result["stop_reason"],
        "pnyx.rounds": 1,
        "pnyx.degraded": False,
        "pnyx.agreement": 0,
        "pnyx.calls": result["usage"]["calls"],
        "pnyx.cost.usd": 0,
    }
    assert [name for name, _ in run.events] == ["pnyx.vote_tallied"]
    phases = {span.id: span for span in collector.named("phase ")}
    assert {span.parent for span in phases.values()} == {run.id}
    calls = collector.named("chat ")
    assert len(calls) == len({span.id for span in calls}) == result["usage"]["calls"] - 1  # one is a retry
    assert all(span.parent in phases and span.trace == parent.trace_id for span in calls)
    for span in (*phases.values(), *calls):
        assert run.times[0] <= span.times[0] <= span.times[1] <= run.times[1] + 1_000_000
    (beta,) = (span for span in calls if span.events)
    assert beta.name == "chat beta"
    ((retry, facts),) = beta.events
    assert (retry, facts["error.type"], facts["pnyx.attempt"]) == ("pnyx.retry", "overloaded", 1)
    assert not any(span.is_error for span in collector.spans)
    usage = {"gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"}
    assert beta.kind == CLIENT
    assert usage <= beta.attributes.keys()
    assert {name: beta.attributes[name] for name in STATED} == STATED | {
        "server.port": int(lab.openai.split(":")[2].split("/")[0]),
        "gen_ai.response.model": beta.attributes["gen_ai.response.model"],
    }
    raw = b"".join(collector.raw)
    for text in (b"heron", b"waits for it", KEY.encode()):
        assert text not in raw
    assert {r["service.name"] for r in collector.resources} == {"pnyx"}


STATED = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "beta",
    "gen_ai.response.model": "",
    "gen_ai.response.finish_reasons": ["stop"],
    "server.address": "127.0.0.1",
    "server.port": 0,
}


async def test_metrics_arrive_by_the_names_of_the_conventions(
    lab: ScriptedHost, tmp_path: Path, collector: Collector
) -> None:
    configure(tmp_path, lab, collector)
    lab.on("*", text=REPLY)
    lab.on("beta", status=401)
    async with open_server() as server, server.client() as client:
        body = {"question": QUESTION, "protocol": "voting", "wait": True}
        usage = (await client.post("/v1/runs", json=body)).json()["usage"]
    metrics = collector.metrics
    assert collector.units["gen_ai.client.token.usage"] == "{token}"
    assert collector.units["gen_ai.client.operation.duration"] == "s"
    durations = metrics["gen_ai.client.operation.duration"]
    assert sum(count for _, count in durations) == usage["calls"]
    (failed,) = (found for found, _ in durations if "error.type" in found)
    assert (failed["error.type"], failed["gen_ai.request.model"]) == ("auth", "beta")
    kinds = {found["gen_ai.token.type"] for found, _ in metrics["gen_ai.client.token.usage"]}
    assert kinds == {"input", "output"}
    assert [value for _, value in metrics["pnyx.runs"]] == [1]
    assert sum(value for _, value in metrics["pnyx.cost.usd"]) == pytest.approx(usage["cost_usd"])
    assert metrics["pnyx.database.up"] == [({}, 1)]
    statuses = {found["http.response.status_code"] for found, _ in metrics["http.server.request.duration"]}
    assert statuses == {200}
    failed_calls = [span for span in collector.named("chat beta") if span.is_error]
    assert [span.attributes["error.type"] for span in failed_calls] == ["auth"]


@pytest.mark.parametrize("propagate", [False, True])
def test_a_host_gets_the_span_of_its_call_only_if_the_settings_say_so(
    lab: ScriptedHost, tmp_path: Path, collector: Collector, propagate: bool
) -> None:
    configure(tmp_path, lab, collector, f"propagate = {str(propagate).lower()}")
    lab.on("*", text=REPLY)
    assert pnyx("ask", QUESTION, "-p", "single", "-m", "lab:alpha").code == 0
    (request,) = lab.log
    header = {name.lower(): value for name, value in request.headers.items()}.get("traceparent")
    if propagate:
        call, context = collector.one("chat alpha"), TraceContext.parse(header)
        assert context is not None
        assert (context.trace_id, context.span_id) == (call.trace, call.id)
    else:
        assert header is None


def test_a_run_that_is_resumed_after_a_kill_links_to_its_earlier_trace(
    lab: ScriptedHost, tmp_path: Path, collector: Collector
) -> None:
    configure(tmp_path, lab, collector, "propagate = true")
    lab.on("*", text=REPLY, delay=30)
    with spawn("ask", QUESTION, "-p", "single", "-m", "lab:alpha") as process:
        deadline = time.monotonic() + 60
        while not lab.log and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait(120)
    first = TraceContext.parse(lab.log[0].headers["traceparent"])
    assert first is not None
    lab.on("*", text=REPLY)
    run_id = json.loads(pnyx("runs", "--json").out)[0]["run_id"]
    assert pnyx("resume", run_id).code == 0
    run = collector.one("invoke_workflow single")
    assert run.attributes["pnyx.resumed"] is True
    assert [trace for trace, _ in run.links] == [first.trace_id]
    assert run.trace != first.trace_id
    # The call that was in flight is asked again, below the new span.
    assert collector.one("chat alpha").trace == run.trace


def test_a_collector_that_hangs_delays_no_run_and_not_the_end_for_long(
    lab: ScriptedHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "CLOSE_S", 0.2)
    lab.on("*", text=REPLY)
    with collecting(silent=True) as collector:
        configure(tmp_path, lab, collector)
        began = time.monotonic()
        done = pnyx("ask", QUESTION, "-p", "single", "-m", "lab:alpha")
        assert done.code == 0
        assert time.monotonic() - began < 60


def test_a_collector_that_is_away_is_reported_once_and_changes_no_answer(
    lab: ScriptedHost, tmp_path: Path
) -> None:
    lab.on("*", text=REPLY)
    configure(tmp_path, lab, Collector(url="http://127.0.0.1:9"))
    with spawn("ask", QUESTION, "-p", "single", "-m", "lab:alpha", "--plain") as process:
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert b"yes" in out
    (line,) = (line for line in err.decode().splitlines() if "collector" in line)
    assert line == (
        "traces and metrics do not reach the collector at http://127.0.0.1:9: "
        "nothing listens there; see [telemetry] endpoint"
    )


def test_the_environment_turns_a_signal_off(
    lab: ScriptedHost, tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(tmp_path, lab, collector)
    lab.on("*", text=REPLY)
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "panel")
    assert pnyx("ask", QUESTION, "-p", "single", "-m", "lab:alpha").code == 0
    assert not collector.spans
    assert collector.metrics["pnyx.runs"]
    assert collector.metric_resources[-1]["service.name"] == "panel"


async def test_each_call_of_a_session_over_mcp_is_below_its_own_request(
    lab: ScriptedHost, tmp_path: Path, collector: Collector
) -> None:
    configure(tmp_path, lab, collector)
    lab.on("*", text=REPLY)
    parents = [TraceContext.new(), TraceContext.new()]
    headers = {"Accept": "application/json, text/event-stream"}
    call = {"name": "ask", "arguments": {"question": QUESTION, "models": ["lab:alpha"], "protocol": "single"}}
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    async with open_server() as server, server.client() as client:

        async def send(method: str, params: object, number: int | None, **more: str) -> httpx2.Response:
            body = {"jsonrpc": "2.0", "method": method, "params": params}
            body |= {} if number is None else {"id": number}
            response = await client.post("/mcp", json=body, headers={**headers, **more})
            assert response.status_code < 300, response.text
            return response

        first = await send("initialize", hello, 0)
        headers["Mcp-Session-Id"] = first.headers["mcp-session-id"]
        headers["Mcp-Protocol-Version"] = "2025-06-18"
        await send("notifications/initialized", {}, None)
        for number, parent in enumerate(parents, 1):
            response = await send("tools/call", call, number, traceparent=str(parent))
            assert '"isError":false' in response.text.replace(" ", ""), response.text
    runs = collector.named("invoke_workflow")
    assert [(run.trace, run.parent) for run in runs] == [(p.trace_id, p.span_id) for p in parents]


async def test_a_worker_carries_out_a_run_below_the_request_that_a_server_received(
    lab: ScriptedHost, tmp_path: Path, collector: Collector
) -> None:
    configure(tmp_path, lab, collector)
    lab.on("*", text=REPLY)
    parent = TraceContext.new()
    settings = open_settings()
    request = RunRequest(question=QUESTION, protocol="single", models=("lab:alpha",))
    token = ORIGIN.set(Origin("req_1", parent))
    try:
        async with RunService.open(settings) as server:
            run_id = await server.runner.enqueue(resolve(request, settings))
    finally:
        ORIGIN.reset(token)
    assert not collector.spans
    async with RunService.open(settings, worker=True) as worker:
        await (await worker.resume(run_id)).result()
    run = collector.one("invoke_workflow")
    assert (run.trace, run.parent, run.links) == (parent.trace_id, parent.span_id, [])
    assert run.attributes["pnyx.request.id"] == "req_1"
    assert run.attributes["pnyx.resumed"] is False
