"""`tools.web_search.backend = "provider"` in whole runs: which host searches, its cost, its record."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pnyx.config.schema import Settings
from pnyx.core.events import CallFinished, CallStarted, Event
from pnyx.core.models import Price, Usage
from pnyx.core.text import most_tokens
from pnyx.errors import ConfigError
from pnyx.interfaces.views.transcript import Transcript
from pnyx.providers.base import Call, Completion
from pnyx.providers.registry import Providers
from pnyx.run.calls.host_search import SEARCHES
from pnyx.run.handle import RunHandle
from pnyx.run.options.request import RunRequest
from pnyx.run.options.resolve import resolve
from pnyx.run.runner import Runner
from pnyx.run.spending.budget import OVERHEAD_TOKENS, SEARCH_TOKENS
from pnyx.store.money import ledger
from pnyx.store.records import runs as store
from tests.support.scripted import ScriptedHost

KEY = "sk-planted-0123456789"
CLAUDE, GEMINI, LAB = "claude:claude-haiku-4-5", "gem:gemini-3-pro", "lab:alpha"
PRICE = Price(1.0, 4.0)
FOUND = {"pnyx hill": ["https://a.example/pnyx"], "its steps": ["https://b.example/steps"]}
PAGES = ("https://a.example/pnyx", "https://b.example/steps")
SAMPLE: dict[str, Any] = {"protocol": "sample", "options": {"samples": 1}, "models": [CLAUDE]}


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedHost]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAB_KEY", KEY)
    with ScriptedHost() as host:
        yield host


def settings(host: ScriptedHost, **search: Any) -> Settings:
    kinds = {"claude": "anthropic", "gem": "google", "lab": "openai"}
    named = {
        name: {"kind": kind, "base_url": getattr(host, kind), "api_key_env": "LAB_KEY"}
        for name, kind in kinds.items()
    }
    price = {"input_price": PRICE.input, "output_price": PRICE.output}
    return Settings.model_validate(
        {
            "providers": named,
            "models": dict.fromkeys([CLAUDE, GEMINI, LAB, "own:model"], price),
            "storage": {"url": "runs.db"},
            "tools": {"enabled": True, "web_search": {"backend": "provider", "search_price": 0.01, **search}},
        }
    )


class FinishedRun:
    """A finished run: its handle, result and stored events."""

    def __init__(self, handle: RunHandle, log: list[Event], result: Any, spent_nusd: int) -> None:
        self.handle, self.log, self.result, self.spent_nusd = handle, log, result, spent_nusd
        self.started = [event for event in log if isinstance(event, CallStarted)]
        self.finished = [event for event in log if isinstance(event, CallFinished)]


@asynccontextmanager
async def open_runner(config: Settings, providers: Providers | None = None) -> AsyncIterator[Runner]:
    async with Runner.open(config, providers) as runner:
        yield runner


async def finish(runner: Runner, handle: RunHandle) -> FinishedRun:
    result = await handle.result()
    log = await runner.database.read(lambda c: store.log(c, handle.run_id))
    account = await runner.database.read(lambda c: ledger.read_account(c, f"run:{handle.run_id}"))
    assert account.reserved_nusd == 0
    return FinishedRun(handle, log, result, account.spent_nusd)


async def ask(config: Settings, providers: Providers | None = None, **request: Any) -> FinishedRun:
    async with open_runner(config, providers) as runner:
        return await finish(
            runner,
            await runner.start(
                resolve(RunRequest(question="Where did they meet?", seed=1, **request), config)
            ),
        )


def offered(document: Any) -> set[str]:
    """The tools of a request, in any dialect; a search by the host is "*"."""
    names: set[str] = set()
    for tool in document.get("tools") or ():
        by_host = "googleSearch" in tool or tool.get("type", "").startswith("web_search_")
        declared = tool.get("functionDeclarations") or [tool.get("function") or tool]
        names |= {"*"} if by_host else {function["name"] for function in declared}
    return names


async def test_hosts_that_can_search_do_so_and_other_seats_get_the_tool(host: ScriptedHost) -> None:
    host.on("*", text="On the Pnyx.")
    host.on("claude-haiku-4-5", text="On the Pnyx.", searches=FOUND)
    done = await ask(
        settings(host), models=[CLAUDE, GEMINI, LAB], protocol="consensus", options={"rounds": 1}
    )
    tools = {request.model: offered(request.body) for request in reversed(host.log)}
    searching = {"*", "read_page", "read_file"}
    assert tools["claude-haiku-4-5"] == tools["gemini-3-pro"] == searching
    assert tools["alpha"] == {"web_search", "read_page", "read_file"}
    assert [note.partition(": ")[2] for note in done.handle.notes if "hosts" in note] == [
        f"hosts that cannot search themselves search DuckDuckGo instead: "
        f"{next(s.label for s in done.handle.spec.seats if s.model == LAB)} ({LAB})"
    ]
    assert done.result.status != "failed"


async def test_a_phase_without_tools_has_no_search_either(host: ScriptedHost) -> None:
    host.on("*", text="On the Pnyx.")
    done = await ask(settings(host), models=[CLAUDE] * 3, protocol="consensus", options={"rounds": 1})
    allowed = {event.phase: event.searches for event in done.started}
    assert allowed["propose"] == allowed["challenge"] == SEARCHES
    assert allowed["revise"] == 0
    assert ["*" in offered(r.body) for r in host.log] == [bool(e.searches) for e in done.started]


@pytest.mark.parametrize("model", [CLAUDE, GEMINI])
async def test_searches_and_citations_are_recorded_and_shown(host: ScriptedHost, model: str) -> None:
    host.on("*", text="On the Pnyx.", searches=FOUND)
    done = await ask(settings(host), **SAMPLE | {"models": [model]})
    (finished,) = done.finished
    assert (finished.searches, finished.sources) == (2, PAGES)
    transcript = Transcript()
    (entry,) = [reply for reply in map(transcript.add, done.log) if reply and reply.kind == "reply"]
    assert "searched 2 times" in entry.facts
    assert done.result.answer.endswith("On the Pnyx.")


async def test_a_host_that_did_not_search_is_charged_no_search(host: ScriptedHost) -> None:
    done = await ask(settings(host), **SAMPLE)
    (finished,) = done.finished
    assert (finished.searches, finished.usage_flag) == (0, None)
    usage = Usage(finished.input_tokens, 0, finished.output_tokens)
    assert done.spent_nusd == PRICE.cost(usage)


async def test_the_most_searches_are_reserved_and_the_reported_ones_charged(host: ScriptedHost) -> None:
    host.on("*", text="On the Pnyx.", searches=FOUND)
    done = await ask(settings(host), budget_usd=1.0, **SAMPLE)
    (started,), (finished,) = done.started, done.finished
    # Three searches, of which the host reads the first three times, the second twice and the third once.
    tools = [tool for tool in host.log[0].body["tools"] if "input_schema" in tool]
    schemas = [
        json.dumps([t["name"], t["description"], t["input_schema"]], ensure_ascii=False) for t in tools
    ]
    texts = [started.system, started.prompt, *schemas]
    sent = most_tokens("\n".join(texts)) + OVERHEAD_TOKENS + 6 * SEARCH_TOKENS
    # The host may write all of it to its cache.
    price = replace(PRICE, cache_write=1.25 * PRICE.input)
    assert started.reserved_usd == pytest.approx(price.ceiling(sent, started.max_tokens) / 1e9 + 3 * 0.01)
    usage = Usage(finished.input_tokens, 0, finished.output_tokens)
    assert done.spent_nusd == PRICE.cost(usage) + 2 * 10_000_000
    assert finished.cost_usd == pytest.approx(done.spent_nusd / 1e9)


async def test_the_input_tokens_that_a_search_adds_are_accepted(host: ScriptedHost) -> None:
    usage = {"input_tokens": 150_000, "output_tokens": 9, "server_tool_use": {"web_search_requests": 3}}
    host.on("*", text="On the Pnyx.", searches=FOUND, usage=usage)
    done = await ask(settings(host), **SAMPLE)
    (finished,) = done.finished
    assert (finished.usage_flag, finished.input_tokens) == (None, 150_000)


async def test_a_reservation_that_does_not_fit_pauses_before_anything_is_sent(host: ScriptedHost) -> None:
    done = await ask(settings(host), budget_usd=0.05, **SAMPLE)
    assert (done.result.status, done.result.stop_reason) == ("paused", "budget")
    assert host.log == []


class OwnHost:
    """A host of the embedding program that can search and returns a fixed completion."""

    def __init__(self, completion: Completion) -> None:
        self.completion = completion
        self.calls: list[Call] = []

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
        self.calls.append(call)
        return self.completion

    async def searches(self, model: str) -> bool:
        return model == "model"

    async def close(self) -> None:
        """Nothing is open."""


async def ask_own(host: ScriptedHost, completion: Completion, **search: Any) -> tuple[FinishedRun, OwnHost]:
    own = OwnHost(completion)
    config = settings(host, **search).with_provider_objects(["own"])
    done = await ask(config, Providers(config, extra={"own": own}), **SAMPLE | {"models": ["own:model"]})
    return done, own


USED = Usage(100, 0, 20)


@pytest.mark.parametrize(
    ("reported", "charged", "flag"),
    [
        (0, 0, None),
        (3, 3, None),
        (4, 4, None),  # a host that cannot be held to a number, and says so
        (None, SEARCHES, "of searches missing"),
        (-1, SEARCHES, "of searches absurd"),
        (10**9, SEARCHES, "of searches absurd"),
    ],
)
async def test_a_missing_or_absurd_search_count_is_charged_as_reserved(
    host: ScriptedHost, reported: int | None, charged: int, flag: str | None
) -> None:
    done, own = await ask_own(host, Completion("On the Pnyx.", USED, searches=reported))
    (finished,) = done.finished
    assert finished.usage_flag == flag
    assert done.spent_nusd == PRICE.cost(USED) + charged * 10_000_000
    (call,) = own.calls
    assert call.searches == SEARCHES
    assert [tool.name for tool in call.tools] == ["read_page", "read_file"]


async def test_missing_usage_is_charged_at_the_whole_reservation(host: ScriptedHost) -> None:
    done, _ = await ask_own(host, Completion("On the Pnyx.", None, searches=1))
    assert done.spent_nusd == round((done.started[0].reserved_usd or 0) * 1e9) > 3 * 10_000_000


async def test_sources_are_limited_in_length_and_number(host: ScriptedHost) -> None:
    long = "https://a.example/" + "x" * 483
    many = (long, long[:-1], *(f"https://{n}.example/" for n in range(30)))
    done, _ = await ask_own(host, Completion("On the Pnyx.", USED, searches=1, sources=many))
    assert done.finished[0].sources == many[1:21]


async def test_an_unknown_search_price_is_refused_under_a_cap(host: ScriptedHost) -> None:
    config = settings(host, search_price=None)
    with pytest.raises(
        ConfigError, match=r"price of a search by a model's host is unknown; set search_price"
    ):
        await ask(config, budget_usd=1.0, **SAMPLE)
    assert (await ask(config, budget_usd=1.0, tools=False, **SAMPLE)).spent_nusd > 0
    host.on("*", text="On the Pnyx.", searches=FOUND)
    done = await ask(config, budget_usd=1.0, allow_unknown_price=True, **SAMPLE)
    assert (done.started[0].reserved_usd, done.finished[0].cost_usd) == (None, None)
    assert done.result.usage["cost_usd"] is None


async def test_without_a_search_the_cost_is_known_despite_an_unknown_price(host: ScriptedHost) -> None:
    done, _ = await ask_own(host, Completion("On the Pnyx.", USED, searches=0), search_price=None)
    assert done.spent_nusd == PRICE.cost(USED)
    assert done.finished[0].cost_usd == pytest.approx(PRICE.cost(USED) / 1e9)


async def test_without_any_search_the_run_says_so_and_continues(
    host: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ddgs", None)
    done = await ask(settings(host), **SAMPLE)
    assert not [note for note in done.handle.notes if "search" in note]  # nobody needs it
    assert offered(host.log[-1].body) == {"*", "read_page", "read_file"}
    done = await ask(settings(host), **SAMPLE | {"models": [LAB]})
    off, note = (line for line in done.handle.notes if "search" in line)
    assert off.startswith("web_search is off: a search with DuckDuckGo needs the extra 'tools'")
    assert note.endswith(f"have no search: Participant A ({LAB})")
    assert offered(host.log[-1].body) == {"read_page", "read_file"}
    assert done.started[0].searches == 0


async def test_a_resumed_run_keeps_its_search_settings(host: ScriptedHost) -> None:
    host.on("*", text="On the Pnyx.", searches=FOUND)
    request: dict[str, Any] = {"models": [CLAUDE], "protocol": "sample", "options": {"samples": 2}}
    config = settings(host)
    async with open_runner(config) as runner:
        spec = resolve(RunRequest(question="Where?", seed=1, budget_usd=0.11, **request), config)
        paused = await finish(runner, await runner.start(spec))
    assert paused.result.stop_reason == "budget"
    assert len(paused.finished) == len(host.log) == 1
    async with open_runner(settings(host, backend="none", search_price=None)) as runner:
        done = await finish(runner, await runner.resume(paused.handle.run_id, budget_usd=1.0))
    assert [offered(request.body) & {"*"} for request in host.log] == [{"*"}, {"*"}]
    assert sum(finished.searches or 0 for finished in done.finished) == 4
    tokens = sum(PRICE.cost(Usage(e.input_tokens, 0, e.output_tokens)) for e in done.finished)
    assert done.spent_nusd == tokens + 4 * 10_000_000
