"""What each host with OpenAI's API is sent so that its models think, or do not."""

from __future__ import annotations

from typing import Any

import pytest

from pnyx.core.thinking import Effort
from pnyx.providers.base import Call, Message
from pnyx.providers.hosted.provider import open_hosted
from pnyx.providers.hosted.thinking_switches import set_thinking
from tests.support.rows import rows
from tests.support.scripted import ScriptedHost

THOUGHTFUL = b'{"choices": [{"message": {"reasoning_content": "No divisor.", "content": "Yes."}}]}'
OFF = {"enable_thinking": False, "thinking": False}
ON = {"thinking": {"type": "enabled"}}


def sent(host: str, model: str = "alpha", reasons: bool = True, **settings: Any) -> dict[str, Any]:
    """The parameters of a request that its writer has made for OpenAI's API."""
    call = Call(model, (Message("user", "Is 7 prime?"),), max_tokens=8000, **settings)
    body: dict[str, Any] = {"model": model}
    if call.effort != "none" or reasons:
        body["reasoning_effort"] = call.effort or "medium"
    set_thinking(body, host, call, reasons)
    del body["model"]
    return body


@rows(
    "host, none, low",
    [
        (
            "dashscope-intl.aliyuncs.com",
            {"enable_thinking": False},
            {"enable_thinking": True, "thinking_budget": 2000},
        ),
        (
            "api.siliconflow.cn",
            {"enable_thinking": False},
            {"enable_thinking": True, "thinking_budget": 2000},
        ),
        (
            "open.bigmodel.cn",
            {"thinking": {"type": "disabled"}},
            {"thinking": {"type": "enabled"}, "reasoning_effort": "low"},
        ),
        (
            "ark.cn-beijing.volces.com",
            {"thinking": {"type": "disabled"}},
            {"thinking": {"type": "enabled"}, "reasoning_effort": "low"},
        ),
        (
            "api.deepseek.com",
            {"thinking": {"type": "disabled"}},
            {"thinking": {"type": "enabled"}, "reasoning_effort": "low"},
        ),
        (
            "api.minimax.io",
            {"thinking": {"type": "disabled"}},
            {"thinking": {"type": "adaptive"}, "reasoning_effort": "low"},
        ),
        (
            "integrate.api.nvidia.com",
            {"chat_template_kwargs": OFF},
            {"chat_template_kwargs": {"enable_thinking": True, "thinking": True}},
        ),
        (
            "api.together.xyz",
            {"reasoning": {"enabled": False}},
            {"reasoning": {"enabled": True}, "reasoning_effort": "low"},
        ),
        ("api.longcat.chat", {"thinking": {"type": "disabled"}}, {**ON, "reasoning_effort": "low"}),
        ("spark-api-open.xf-yun.com", {"thinking": {"type": "disabled"}}, {**ON, "reasoning_effort": "low"}),
        ("api.x.ai", {"reasoning_effort": "none"}, {"reasoning_effort": "low"}),
        ("api.stepfun.ai", {"reasoning_effort": "none"}, {"reasoning_effort": "low"}),
        ("api.mistral.ai", {"reasoning_effort": "none"}, {"reasoning_effort": "high"}),
        ("api.cohere.ai", {"reasoning_effort": "none"}, {"reasoning_effort": "high"}),
        ("127.0.0.1", {"reasoning_effort": "none", "chat_template_kwargs": OFF}, {"reasoning_effort": "low"}),
    ],
)
def test_a_host_is_sent_its_own_parameter(host: str, none: dict[str, Any], low: dict[str, Any]) -> None:
    assert sent(host, effort="none") == none
    assert sent(host, effort="low") == low


def test_a_limit_of_thinking_is_sent_as_it_is_where_a_host_has_one() -> None:
    assert sent("api.siliconflow.com", thinking_tokens=3000) == {
        "enable_thinking": True,
        "thinking_budget": 3000,
    }


@rows("host", ["integrate.api.nvidia.com", "api.sambanova.ai", "api.siliconflow.com", "127.0.0.1"])
def test_an_open_model_of_openai_reads_its_parameter_at_every_host(host: str) -> None:
    assert sent(host, "openai/gpt-oss-120b", effort="high") == {"reasoning_effort": "high"}
    # It always thinks, at least so much.
    assert sent(host, "openai/gpt-oss-120b", effort="none") == {"reasoning_effort": "low"}


def test_qwen_at_groq_thinks_or_not() -> None:
    assert sent("api.groq.com", "qwen/qwen3-32b", effort="high") == {"reasoning_effort": "default"}
    assert sent("api.groq.com", "openai/gpt-oss-120b", effort="high") == {"reasoning_effort": "high"}


def test_a_model_that_has_never_thought_is_not_asked_to_stop() -> None:
    assert sent("dashscope.aliyuncs.com", reasons=False, effort="none") == {}
    assert sent("notaliyuncs.com", effort="low") == {"reasoning_effort": "low"}


@pytest.mark.parametrize("kind", ["openai", "openrouter"])
async def test_the_first_call_to_a_model_that_may_not_think_turns_it_off(kind: str) -> None:
    async with ScriptedHost() as host:
        provider = open_hosted(kind, base_url=host.openai, api_key="k")
        asked = (Message("user", "Is 7 prime?"),)
        await provider.complete(Call("alpha", asked, max_tokens=100, effort="none", thinking_tokens=0))
        await provider.close()
        body = host.log[0].body
    if kind == "openrouter":
        assert body["reasoning"] == {"effort": "none"}
    else:
        assert (body["reasoning_effort"], body["chat_template_kwargs"]) == ("none", OFF)


async def test_a_server_is_asked_to_stop_once_its_model_has_thought() -> None:
    async with ScriptedHost() as host:
        provider = open_hosted("openai", base_url=host.openai, api_key=None)
        host.on("alpha", call=1, body=THOUGHTFUL)
        call = Call("alpha", (Message("user", "Is 7 prime?"),), max_tokens=100, effort="none")
        await provider.complete(call)
        await provider.complete(call)
        await provider.close()
        first, second = (request.body for request in host.log)
    assert "chat_template_kwargs" not in first
    assert second["chat_template_kwargs"] == OFF


@rows("model", ["alpha", "qwen/qwen3", "deepseek/deepseek-r1", "openai/gpt-5.5"])
@rows(
    "effort, tokens, expected",
    [
        ("high", 900, {"max_tokens": 900}),
        (None, 900, {"max_tokens": 900}),
        ("low", None, {"effort": "low"}),
        ("none", 900, {"effort": "none"}),
        ("none", None, {"effort": "none"}),
        (None, 0, {"effort": "none"}),
        (None, None, None),
    ],
)
async def test_a_router_at_any_address_is_sent_its_own_form_once_its_model_has_thought(
    model: str, effort: Effort | None, tokens: int | None, expected: dict[str, Any] | None
) -> None:
    async with ScriptedHost() as host:
        host.on(model, call=1, body=THOUGHTFUL)
        provider = open_hosted("openrouter", base_url=host.openai, api_key="k")
        asked = (Message("user", "Is 7 prime?"),)
        for settings in ({}, {"effort": effort, "thinking_tokens": tokens}):
            await provider.complete(Call(model, asked, max_tokens=4000, **settings))  # type: ignore[arg-type]
        await provider.close()
        bodies = [request.body for request in host.log]
    assert [body.get("reasoning") for body in bodies] == [None, expected]
    assert all("reasoning_effort" not in body for body in bodies)


async def test_a_model_of_a_router_that_has_never_thought_is_not_asked_to_stop() -> None:
    async with ScriptedHost() as host:
        provider = open_hosted("openrouter", base_url=host.openai, api_key="k")
        await provider.complete(
            Call("alpha", (Message("user", "Is 7 prime?"),), max_tokens=400, effort="none")
        )
        await provider.close()
    assert not host.log[0].body.keys() & {"reasoning", "reasoning_effort"}


@rows(
    "model, effort, tokens, limit, budget",
    [
        ("gemini-2.5-flash", None, 500, 4596, 500),
        ("gemini-2.5-flash", "low", None, 1024, 256),
        ("gemini-2.5-flash", "high", None, 4096, 3072),
        ("gemini-2.5-flash", None, 9000, 4000, 3000),
        ("gemini-2.5-flash", "none", 500, 4096, 0),
        ("gemini-2.5-pro", None, 100, 4196, 128),
        ("gemini-2.5-flash-lite", None, 100, 4196, 512),
    ],
)
async def test_gemini_is_sent_the_limit_of_thinking_as_it_is_as_far_as_it_leaves_room_for_an_answer(
    model: str, effort: Effort | None, tokens: int | None, limit: int, budget: int
) -> None:
    async with ScriptedHost() as host:
        provider = open_hosted("google", base_url=host.google, api_key="k")
        asked = (Message("user", "Is 7 prime?"),)
        await provider.complete(Call(model, asked, max_tokens=limit, effort=effort, thinking_tokens=tokens))
        await provider.close()
    assert host.log[0].body["generationConfig"]["thinkingConfig"]["thinking_budget"] == budget


async def test_mistral_is_sent_one_of_its_two_levels_at_any_address() -> None:
    async with ScriptedHost() as host:
        host.on("mistral-large-2411", call=1, body=THOUGHTFUL)
        provider = open_hosted("mistral", base_url=host.mistral, api_key="k")
        for model in ("magistral-medium-latest", "mistral-large-2411", "mistral-large-2411"):
            for effort in ("none", "low"):
                asked = (Message("user", "Is 7 prime?"),)
                await provider.complete(Call(model, asked, max_tokens=4000, effort=effort))
        await provider.close()
        bodies = [request.body for request in host.log]
    assert [body.get("reasoning_effort") for body in bodies] == ["none", "high", None, None, None, None]
    assert all("chat_template_kwargs" not in body for body in bodies)


MANDATORY = [
    ("openrouter", "openai", "reasoning", "Reasoning is mandatory for this endpoint and cannot be disabled."),
    ("openai", "openai", "reasoning_effort", "'reasoning_effort' does not support 'none' with this model."),
    ("openai", "openai", "reasoning_effort", "reasoning_effort: this model always thinks"),
    ("google", "google", "thinkingConfig", "Budget 0 is invalid. This model only works in thinking mode."),
]


@pytest.mark.parametrize(("kind", "dialect", "name", "words"), MANDATORY)
async def test_a_model_that_cannot_stop_thinking_keeps_its_effort_where_it_thinks(
    kind: str, dialect: str, name: str, words: str
) -> None:
    async with ScriptedHost() as host:
        model = "gemini-2.5-flash" if kind == "google" else "openai/gpt-5.5"
        host.on(model, call=2, status=400, message=words)
        provider = open_hosted(kind, base_url=getattr(host, dialect), api_key="k")
        asked = (Message("user", "Is 7 prime?"),)
        efforts: tuple[Effort, ...] = ("high", "none", "none", "high")
        notes = [
            (await provider.complete(Call(model, asked, max_tokens=8000, effort=effort))).notes
            for effort in efforts
        ]
        await provider.close()
        sent = [({**one.body, **one.body.get("generationConfig", {})}).get(name) for one in host.log]
    high, none, again, later, last = sent
    assert high == last != none
    assert None not in (high, none)
    assert (again, later) == (None, None)
    assert notes == [(), (f"{model} accepts no {name} that turns thinking off",), (), ()]


async def test_a_host_that_does_not_know_the_parameter_at_all_is_not_sent_it_again() -> None:
    async with ScriptedHost() as host:
        host.on("openai/gpt-5.5", call=1, status=400, message="Unrecognized argument: 'reasoning_effort'")
        host.on("openai/gpt-5.5", call=3, status=400, message="Unrecognized argument: 'reasoning_effort'")
        provider = open_hosted("openai", base_url=host.openai, api_key="k")
        asked = (Message("user", "Is 7 prime?"),)
        efforts: tuple[Effort, ...] = ("none", "high", "high", "none")
        for effort in efforts:
            await provider.complete(Call("openai/gpt-5.5", asked, max_tokens=8000, effort=effort))
        await provider.close()
    assert [one.body.get("reasoning_effort") for one in host.log] == ["none", None, "high", None, None, None]
