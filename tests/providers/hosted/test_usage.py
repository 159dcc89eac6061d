"""Token counts that hosts report, in their dialects."""

from __future__ import annotations

from typing import Any

import pytest

from pnyx.core.models import Usage
from pnyx.providers.hosted.usage import OPENAI
from pnyx.run.spending.budget import audit
from tests.support.hosting import ask, kinds, open_provider, ways
from tests.support.rows import rows
from tests.support.scripted import ScriptedHost

DETAILED: dict[str, dict[str, Any]] = {
    "openai": {
        "prompt_tokens": 1000,
        "completion_tokens": 50,
        "total_tokens": 1050,
        "prompt_tokens_details": {"cached_tokens": 400},
        "completion_tokens_details": {"reasoning_tokens": 20},
    },
    "anthropic": {
        "input_tokens": 500,
        "cache_read_input_tokens": 400,
        "cache_creation_input_tokens": 100,
        "output_tokens": 50,
        "output_tokens_details": {"thinking_tokens": 20},
    },
    "google": {
        "promptTokenCount": 1000,
        "cachedContentTokenCount": 400,
        "candidatesTokenCount": 30,
        "thoughtsTokenCount": 20,
        "totalTokenCount": 1050,
    },
}
DETAILED["mistral"] = DETAILED["openai"]
NAMES = {
    "openai": ("prompt_tokens", "completion_tokens"),
    "mistral": ("prompt_tokens", "completion_tokens"),
    "anthropic": ("input_tokens", "output_tokens"),
    "google": ("promptTokenCount", "candidatesTokenCount"),
}


@kinds
@ways
async def test_input_includes_cached_and_output_includes_reasoning_tokens(
    host: ScriptedHost, kind: str, stream: bool
) -> None:
    host.on("alpha", usage=DETAILED[kind])
    async with open_provider(kind, host) as provider:
        usage = (await ask(provider, stream=stream)).completion.usage
    written = 100 if kind == "anthropic" else 0
    assert usage == Usage(1000, 400, 50, 20, cache_write_tokens=written)


GATEWAYS: list[tuple[str, dict[str, Any], Usage]] = [
    # whose report, the report beside 110 and 5 tokens, what it means
    ("LiteLLM", {"cache_read_input_tokens": 80, "cache_creation_input_tokens": 20}, Usage(110, 80, 5, 0, 20)),
    ("LiteLLM", {"prompt_tokens_details": None, "cache_read_input_tokens": 80}, Usage(110, 80, 5)),
    (
        "OpenRouter",
        {"prompt_tokens_details": {"cached_tokens": 80, "cache_write_tokens": 20}},
        Usage(110, 80, 5, 0, 20),
    ),
    (
        "DashScope",
        {"prompt_tokens_details": {"cached_tokens": 80, "cache_creation_input_tokens": 20}},
        Usage(110, 80, 5, 0, 20),
    ),
    (
        "for an hour",
        {
            "prompt_tokens_details": {"cache_creation": {"ephemeral_1h_input_tokens": 15}},
            "cache_creation_input_tokens": 20,
        },
        Usage(110, 0, 5, 0, 5, 15),
    ),
    ("Moonshot", {"cached_tokens": 80}, Usage(110, 80, 5)),
    ("Mistral", {"num_cached_tokens": 80}, Usage(110, 80, 5)),
    ("DeepSeek", {"prompt_cache_hit_tokens": 80, "prompt_cache_miss_tokens": 30}, Usage(110, 80, 5)),
]


@rows("host, report, usage", GATEWAYS)
def test_gateways_count_cached_and_written_tokens_under_names_of_their_own(
    host: str, report: dict[str, Any], usage: Usage
) -> None:
    assert OPENAI.usage({"prompt_tokens": 110, "completion_tokens": 5, **report}) == usage


@rows("details, written", [([{"ttl": "1h", "inputTokens": 15}], (5, 15)), (["1h"], (20, 0)), ("1h", (20, 0))])
def test_bedrock_counts_what_is_kept_for_an_hour(details: Any, written: tuple[int, int]) -> None:
    report = {"inputTokens": 10, "outputTokens": 5, "cacheReadInputTokens": 80, "cacheWriteInputTokens": 20}
    assert OPENAI.usage({**report, "cacheDetails": details}) == Usage(110, 80, 5, 0, *written)


async def test_deepseek_has_another_name_for_cached_tokens(host: ScriptedHost) -> None:
    report = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12, "prompt_cache_hit_tokens": 8}
    host.on("alpha", usage=report)
    async with open_provider("openai", host) as provider:
        assert (await ask(provider)).completion.usage == Usage(10, 8, 2)


@ways
@pytest.mark.parametrize(
    ("total", "output"),
    [
        (532, 500),
        (832, 800),
        (332, 300),
        (300, 300),
        ("532", 500),
        (0, 300),
        (None, 300),
        (-7, 300),
        (10**18, 300),
    ]
    + [(odd, 300) for odd in ("532 tokens", True, 532.5, float("nan"), [532], {"n": 532})],
)
async def test_tokens_that_only_the_total_counts_are_output_too(
    host: ScriptedHost, stream: bool, total: Any, output: int
) -> None:
    thinking = {"reasoning_tokens": 200}
    report = {"prompt_tokens": 32, "completion_tokens": 300, "completion_tokens_details": thinking}
    host.on("alpha", text="fine", usage={**report, "total_tokens": total})
    async with open_provider("openai", host) as provider:
        completion = (await ask(provider, stream=stream)).completion
    assert (completion.text, completion.usage) == ("fine", Usage(32, 0, output, 200))


def test_thoughts_longer_than_the_answer_are_counted_beside_it_unless_the_total_has_none_beside_it() -> None:
    thinking = {"reasoning_tokens": 200}
    report = {"prompt_tokens": 32, "completion_tokens": 20, "completion_tokens_details": thinking}
    assert OPENAI.usage({**report, "total_tokens": 52}) == Usage(32, 0, 20, 20)
    for total in (252, 0, None):
        usage = OPENAI.usage({**report, "total_tokens": total})
        assert usage == Usage(32, 0, 220, 200)
        assert audit(usage, 50, 2000, True) is None


ODD: tuple[tuple[tuple[Any, ...], Usage | None], ...] = (
    ((-5, -7), Usage(-5, 0, -7)),
    ((10**18, 10**40), Usage(10**18, 0, 10**40)),
    ((1e18, 2.0), Usage(10**18, 0, 2)),
    ((float("nan"), 3), None),
    ((float("inf"), 3), None),
    ((12.5, 3), None),
    (("12", "x"), None),
    ((None, None), None),
    (([1], {}), None),
    ((True, 3), None),
    ((0, 0), None),
    ((), None),
)


@kinds
@ways
async def test_odd_usage_is_passed_on_where_it_is_whole_and_never_costs_the_answer(
    host: ScriptedHost, kind: str, stream: bool
) -> None:
    async with open_provider(kind, host) as provider:
        for reported, expected in ODD:
            host.on("alpha", text="fine", usage=dict(zip(NAMES[kind], reported, strict=False)))
            completion = (await ask(provider, stream=stream)).completion
            if (kind, stream, reported) == ("anthropic", True, (0, 0)):
                expected = Usage(0, 0, 1)  # which the stream starts with, and zeros at its end do not replace
            assert (reported, completion.text, completion.usage) == (reported, "fine", expected)


@kinds
@ways
async def test_usage_that_is_not_reported_is_none(host: ScriptedHost, kind: str, stream: bool) -> None:
    host.on("alpha", text="fine", usage=None)
    async with open_provider(kind, host) as provider:
        completion = (await ask(provider, stream=stream)).completion
    assert (completion.text, completion.usage) == ("fine", None)
