"""What runs measure: calls with their retries, cost, ends of runs; and that names cannot multiply series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from pnyx.config.schema import ProviderSettings, Settings
from pnyx.core.events import CallFailed, CallFinished, CallStarted, Event, RunFinished
from pnyx.run.observer import RunClosed, RunEvent, RunOpened
from pnyx.telemetry.hosts import Host, Hosts
from pnyx.telemetry.instruments import INSTRUMENTS
from pnyx.telemetry.measure import MOST_MODELS, MOST_NAMES, OTHER, Capped, Gauges, Meter, RequestServed
from pnyx.telemetry.prometheus import PrometheusMetrics
from tests.interfaces.events import consensus_run
from tests.telemetry.announcements import RUN, events

SETTINGS = Settings(providers={"lab": ProviderSettings(kind="openai", base_url="http://10.0.0.1:9000/v1")})


class Recorded:
    """Metrics that keep their rows."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, float, tuple[str, ...]]] = []

    def record(self, name: str, value: float, labels: Sequence[str]) -> None:
        assert len(labels) == len(INSTRUMENTS[name].labels)
        if value:
            self.rows.append((name, value, tuple(labels)))

    def replace(self, gauges: Gauges) -> None:
        assert all(INSTRUMENTS[name].kind == "gauge" for name in gauges)

    def of(self, name: str) -> list[tuple[float, tuple[str, ...]]]:
        return [(value, labels) for found, value, labels in self.rows if found == name]


def measured(*announced: Event) -> Recorded:
    recorded = Recorded()
    meter = Meter(Hosts(SETTINGS), recorded)
    meter.consume(RunOpened(RUN))
    for event in announced:
        meter.consume(RunEvent(RUN, event))
    return recorded


def started(attempt: int, second: int, model: str = "lab:alpha", key: str = "/0") -> CallStarted:
    return CallStarted(
        time=f"2026-11-26T00:00:{second:02d}.000Z",
        key=key,
        attempt=attempt,
        fingerprint="f",
        model=model,
        prompt_id="voting/propose",
        prompt_sha256="",
        prompt="Why?",
    )


def failed(attempt: int, second: int, final: bool, kind: str = "overloaded") -> CallFailed:
    return CallFailed(
        time=f"2026-11-26T00:00:{second:02d}.000Z",
        key="/0",
        attempt=attempt,
        fingerprint="f",
        model="lab:alpha",
        kind=kind,
        message="busy",
        final=final,
        charged_usd=0.0,
        retry_in_s=None if final else 1.0,
    )


def finished(attempt: int, second: int, copied: bool = False) -> CallFinished:
    return CallFinished(
        time=f"2026-11-26T00:00:{second:02d}.000Z",
        key="/0",
        attempt=attempt,
        fingerprint="f",
        model="alpha-2026",
        text="So.",
        input_tokens=100,
        output_tokens=7,
        cost_usd=0.25,
        copied=copied,
    )


OF_ALPHA = ("openai", "alpha", "10.0.0.1")


def test_a_call_with_a_retry_is_one_operation_and_two_requests() -> None:
    seen = measured(started(1, 0), failed(1, 2, final=False), started(2, 3), finished(2, 9))
    assert seen.of("gen_ai.client.operation.duration") == [(9.0, ("chat", "", *OF_ALPHA))]
    assert seen.of("gen_ai.client.token.usage") == [
        (100, ("chat", "input", *OF_ALPHA)),
        (7, ("chat", "output", *OF_ALPHA)),
    ]
    assert seen.of("pnyx.requests") == [
        (1, ("lab", "alpha", "overloaded")),
        (1, ("lab", "alpha", "ok")),
    ]
    assert seen.of("pnyx.retries") == [(1, ("lab", "overloaded"))]
    assert seen.of("pnyx.cost.usd") == [(0.25, ("lab", "alpha"))]


def test_a_call_that_fails_for_good_has_the_kind_of_its_last_failure() -> None:
    seen = measured(started(1, 0), failed(1, 4, final=True, kind="timeout"))
    assert seen.of("gen_ai.client.operation.duration") == [(4.0, ("chat", "timeout", *OF_ALPHA))]
    assert not seen.of("pnyx.retries")


def test_a_copied_reply_was_neither_sent_nor_paid() -> None:
    assert measured(finished(1, 5, copied=True)).rows == []


def test_calls_in_flight_are_counted_by_provider_and_end_with_their_run() -> None:
    meter = Meter(Hosts(SETTINGS), Recorded())
    for event in (started(1, 0, key="/0"), started(1, 0, key="/1"), started(1, 0, "m:b", key="/2")):
        meter.consume(RunEvent(RUN, event))
    assert meter.calls_active() == {("lab",): 2, ("m",): 1}
    meter.consume(RunEvent(RUN, finished(1, 1)))
    assert meter.calls_active() == {("lab",): 1, ("m",): 1}
    meter.consume(RunClosed(RUN))
    assert meter.calls_active() == {}


def test_a_run_counts_by_protocol_and_end_and_a_paused_one_has_no_duration_yet() -> None:
    def end(status: str) -> RunFinished:
        result = {"protocol": "voting", "stop_reason": "budget", "elapsed_s": 3.0}
        return RunFinished(status=status, result=result)

    seen = measured(end("paused"), end("decided"))
    assert [labels for _, labels in seen.of("pnyx.runs")] == [
        ("voting", "paused", "budget"),
        ("voting", "decided", "budget"),
    ]
    assert seen.of("pnyx.run.duration") == [(3.0, ("voting", "decided"))]


@given(names=st.lists(st.text(max_size=5), max_size=300))
def test_names_have_a_bounded_number_of_series(names: list[str]) -> None:
    capped = Capped(MOST_NAMES)
    assert len({capped(name) for name in names} - {OTHER}) <= MOST_NAMES
    assert [capped(name) for name in names[:MOST_NAMES]] == names[:MOST_NAMES]


def test_models_that_clients_name_share_one_series_when_there_are_too_many() -> None:
    prometheus = PrometheusMetrics()
    meter = Meter(Hosts(SETTINGS), prometheus)
    for number in range(10 * MOST_MODELS):
        key = f"/{number}"
        meter.consume(RunEvent(RUN, started(1, 0, f"lab:model-{number}", key)))
        meter.consume(RunEvent(RUN, replace(finished(1, 1), key=key)))
    (family,) = (f for f in families(prometheus) if f.name == "pnyx_requests")
    samples = [one for one in family.samples if one.name.endswith("_total")]
    assert len(samples) == MOST_MODELS + 1
    assert sum(one.value for one in samples) == 10 * MOST_MODELS


@given(event=events)
def test_every_event_can_be_measured_and_rendered(event: Event) -> None:
    prometheus = PrometheusMetrics()
    Meter(Hosts(SETTINGS), prometheus).consume(RunEvent(RUN, event))
    assert families(prometheus)


def test_a_run_gives_metrics_that_a_standard_parser_reads() -> None:
    prometheus = PrometheusMetrics()
    meter = Meter(Hosts(SETTINGS), prometheus)
    for event in consensus_run():
        meter.consume(RunEvent(RUN, event))
    meter.consume(RequestServed("GET", "/v1/runs/{run_id}", 200, 0.02))
    meter.consume({"pnyx.queue.length": {(): 3.0}})
    found = {family.name: family for family in families(prometheus)}
    expected = {one.prometheus_name for one in INSTRUMENTS.values()}
    assert expected <= found.keys()
    assert found["pnyx_queue_length"].samples[0].value == 3
    types = {"counter": "counter", "gauge": "gauge", "histogram": "histogram"}
    assert all(found[one.prometheus_name].type == types[one.kind] for one in INSTRUMENTS.values())
    assert {"process_resident_memory_bytes", "pnyx_info"} <= found.keys()


def test_a_provider_has_the_name_of_the_api_that_it_speaks() -> None:
    hosts = Hosts(SETTINGS)
    assert hosts.of("lab:alpha") == ("lab", "alpha", Host("openai", "10.0.0.1", 9000))
    assert hosts.find("google") == Host("gcp.gemini", "generativelanguage.googleapis.com", 443)
    assert hosts.find("mistral").provider == "mistral_ai"
    assert hosts.find("embedded") == Host("embedded")
    assert hosts.find("gone") == Host("gone")


def families(prometheus: PrometheusMetrics) -> list[Metric]:
    page, _ = prometheus.page()
    return list(text_string_to_metric_families(page.decode()))
