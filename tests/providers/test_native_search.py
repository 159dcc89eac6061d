"""Searches that hosts make by themselves, over real sockets: what is sent, reported and cited."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pnyx.config.schema import Settings
from pnyx.core.models import Usage
from pnyx.providers.base import ToolSpec, can_search
from pnyx.providers.fake import FakeProvider
from pnyx.providers.registry import Providers
from tests.support.hosting import KEY, ask, open_provider, openrouter, ways
from tests.support.scripted import ScriptedHost
from tests.support.web_search_replies import LEAD

READ = ToolSpec("read_page", "Reads a page.", {"type": "object", "properties": {}})
FOUND = {
    "pnyx hill": ("https://a.example/pnyx", "https://b.example/hill"),
    "its steps": ("https://c.example/",),
}
PAGES = tuple(page for pages in FOUND.values() for page in pages)
MODELS = [
    ("anthropic", "claude-haiku-4-5"),
    ("anthropic", "claude-sonnet-4-6"),
    ("google", "gemini-2.5-flash"),
    ("google", "gemini-3-pro"),
]

models = pytest.mark.parametrize(("kind", "model"), MODELS)


def native(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The tools of the host in a request."""
    return [tool for tool in body.get("tools", ()) if "googleSearch" in tool or "type" in tool]


@models
@ways
async def test_searches_and_cited_addresses_are_reported_with_the_text(
    host: ScriptedHost, kind: str, model: str, stream: bool
) -> None:
    host.on(model, text="The assembly met on the Pnyx. It has steps.", searches=FOUND)
    async with open_provider(kind, host) as provider:
        outcome = await ask(provider, model, stream=stream, searches=3)
    completion = outcome.completion
    text = "The assembly met on the Pnyx. It has steps."
    assert completion.text == (f"{LEAD}\n\n{text}" if kind == "anthropic" else text)
    assert "".join(outcome.pieces) == (completion.text if stream else "")
    assert completion.sources == PAGES
    # Google bills older models for each reply, whatever the number of their searches.
    assert completion.searches == (1 if model == "gemini-2.5-flash" else 2)
    assert completion.finish_reason == "stop"
    assert completion.tool_calls == ()
    assert completion.usage == Usage(input_tokens=3, output_tokens=len(text) // 4 + 1)
    assert len(host.log) == 1


@models
@ways
async def test_a_host_that_did_not_search_reports_none(
    host: ScriptedHost, kind: str, model: str, stream: bool
) -> None:
    async with open_provider(kind, host) as provider:
        completion = (await ask(provider, model, stream=stream, searches=3)).completion
    assert (completion.searches, completion.sources) == (0, ())


@ways
async def test_a_count_that_the_host_leaves_out_is_read_from_its_reply(
    host: ScriptedHost, stream: bool
) -> None:
    host.on("claude-haiku-4-5", text="Yes.", searches=FOUND, usage={"input_tokens": 9, "output_tokens": 2})
    async with open_provider("anthropic", host) as provider:
        assert (await ask(provider, "claude-haiku-4-5", stream=stream, searches=3)).completion.searches == 2


@ways
async def test_an_odd_count_is_passed_on_or_read_from_the_reply(host: ScriptedHost, stream: bool) -> None:
    usage: dict[str, Any] = {"input_tokens": 9, "output_tokens": 2}
    async with open_provider("anthropic", host) as provider:
        for reported, expected in ((-1, -1), (10**9, 10**9), ("two", 2), (None, 2), (1.5, 2)):
            server = {"server_tool_use": {"web_search_requests": reported}}
            host.on("claude-haiku-4-5", text="Yes.", searches=FOUND, usage=usage | server)
            completion = (await ask(provider, "claude-haiku-4-5", stream=stream, searches=3)).completion
            assert (completion.searches, completion.usage) == (expected, Usage(9, 0, 2))


@models
async def test_a_search_is_requested_only_if_the_call_allows_it(
    host: ScriptedHost, kind: str, model: str
) -> None:
    async with open_provider(kind, host) as provider:
        await ask(provider, model)
        completion = (await ask(provider, model, searches=3)).completion
    assert completion.text
    without, searching = (native(request.body) for request in host.log)
    assert without == []
    (tool,) = searching
    if kind == "google":
        assert tool == {"googleSearch": {}}
        return
    assert (tool["name"], tool["max_uses"]) == ("web_search", 3)
    # Newer models would read the results with programs, and then cite nothing.
    assert tool.get("allowed_callers") == (["direct"] if model == "claude-sonnet-4-6" else None)


async def test_a_call_without_searches_reports_none(host: ScriptedHost) -> None:
    async with open_provider("anthropic", host) as provider:
        completion = (await ask(provider, "claude-haiku-4-5")).completion
    assert (completion.searches, completion.sources) == (None, ())


@models
async def test_other_tools_are_sent_too_if_the_host_accepts_both(
    host: ScriptedHost, kind: str, model: str
) -> None:
    async with open_provider(kind, host) as provider:
        assert (await ask(provider, model, searches=3, tools=(READ,))).completion.text
    (request,) = host.log
    assert ("read_page" in str(request.body["tools"])) == (model != "gemini-2.5-flash")
    assert len(native(request.body)) == 1


@ways
async def test_a_search_and_a_tool_call_are_distinguished(host: ScriptedHost, stream: bool) -> None:
    host.on(
        "claude-haiku-4-5", text="", searches=FOUND, tool_calls=(("read_page", {"url": "https://a.example"}),)
    )
    async with open_provider("anthropic", host) as provider:
        outcome = await ask(provider, "claude-haiku-4-5", stream=stream, searches=3, tools=(READ,))
    completion = outcome.completion
    assert (completion.text, completion.finish_reason, completion.searches) == (LEAD, "tool", 2)
    assert [call.name for call in completion.tool_calls] == ["read_page"]


@ways
async def test_a_turn_that_the_host_interrupts_counts_as_cut(host: ScriptedHost, stream: bool) -> None:
    host.on("claude-haiku-4-5", text="So far:", searches=FOUND, finish="pause_turn")
    async with open_provider("anthropic", host) as provider:
        completion = (await ask(provider, "claude-haiku-4-5", stream=stream, searches=3)).completion
    assert completion.finish_reason == "length"


@models
@ways
async def test_a_reply_that_is_long_because_of_search_results_is_read(
    host: ScriptedHost, kind: str, model: str, stream: bool
) -> None:
    many = {f"query {n}": [f"https://{n}.example/{i}" for i in range(20)] for n in range(3)}
    host.on(model, text="Found.", searches=many)
    async with open_provider(kind, host) as provider:
        completion = (await ask(provider, model, stream=stream, searches=3)).completion
    assert len(completion.sources) == 60


async def test_which_hosts_can_search_by_themselves(host: ScriptedHost) -> None:
    for kind, able in {"anthropic": True, "google": True, "openai": False, "mistral": False}.items():
        async with open_provider(kind, host) as provider:
            assert await can_search(provider, "alpha") is able
    assert not await can_search(FakeProvider([]), "alpha")


async def test_a_provider_opens_itself_to_say_whether_it_can_search(host: ScriptedHost) -> None:
    lab = {"kind": "anthropic", "base_url": host.anthropic, "api_key_env": "LAB_KEY"}
    providers = Providers(Settings.model_validate({"providers": {"lab": lab}}), {"LAB_KEY": KEY})
    assert await can_search(providers.get("lab"), "claude-haiku-4-5")
    await providers.close()
    assert host.log == []


@ways
async def test_openrouter_counts_its_searches_or_reports_none(host: ScriptedHost, stream: bool) -> None:
    async with openrouter(host) as provider:
        assert await can_search(provider, "openai/gpt-5")
        assert not await can_search(provider, "gpt-5")  # no name of a model there
        host.on("openai/gpt-5", text="On the Pnyx.", searches=FOUND)
        outcome = await ask(provider, "openai/gpt-5", stream=stream, searches=3, tools=(READ,))
        assert (outcome.completion.text, outcome.completion.searches) == ("On the Pnyx.", 2)
        assert outcome.completion.sources == PAGES
        host.on("openai/gpt-5", text="On the Pnyx.")
        assert (await ask(provider, "openai/gpt-5", stream=stream, searches=3)).completion.searches is None
    (function, search) = host.log[0].body["tools"]
    assert function["function"]["name"] == "read_page"
    assert (search["type"], search["parameters"]["max_uses"]) == ("openrouter:web_search", 3)


@ways
async def test_openrouter_answers_as_other_hosts_do(host: ScriptedHost, stream: bool) -> None:
    async with openrouter(host) as provider:
        host.on("openai/gpt-5", text="Yes: 7 is prime.")
        outcome = await ask(provider, "openai/gpt-5", stream=stream)
        completion = outcome.completion
        assert (completion.text, completion.usage) == ("Yes: 7 is prime.", Usage(3, 0, 5))
        assert (completion.searches, completion.sources) == (None, ())
        assert outcome.pieces == (["Yes: ", "7 ", "is ", "prime."] if stream else [])
        host.on("openai/gpt-5", tool_calls=(("read_page", {"url": "x"}),))
        (call,) = (await ask(provider, "openai/gpt-5", stream=stream, tools=(READ,))).completion.tool_calls
        assert (call.name, call.arguments) == ("read_page", {"url": "x"})
        host.on("openai/gpt-5", text="Yes.", usage=None)
        assert (await ask(provider, "openai/gpt-5", stream=stream)).completion.usage is None
        for status, kind in {429: "rate_limited", 401: "auth", 503: "overloaded"}.items():
            host.on("openai/gpt-5", status=status)
            assert (await ask(provider, "openai/gpt-5", stream=stream)).error.kind == kind
        host.on("openai/gpt-5", text="a b c d e", cut_at=200)
        assert (await ask(provider, "openai/gpt-5", stream=stream)).error.kind == "truncated"
    assert all("tools" not in request.body for request in host.log if request.call != 2)
