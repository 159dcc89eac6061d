"""Keys with limits: what they see, what they may start, and what the refusal says."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.errors import ConfigError, Forbidden
from pnyx.interfaces.access.permissions import Permissions
from pnyx.interfaces.process.open_settings import open_settings
from pnyx.run.options.key_limits import effective_limits
from pnyx.run.options.request import RunRequest
from pnyx.run.options.resolve import resolve
from tests.interfaces.shell import pnyx, spawn
from tests.support.assistants import over_http, text_of
from tests.support.scripted import ScriptedHost
from tests.support.serving import ServerHandle, open_server

LAB = ("lab:alpha", "lab:beta", "lab:gamma")
MODELS = {
    "title-helper": {"protocol": "single", "panel": ["lab:beta"]},
    "gpt-4o": {"protocol": "council", "panel": list(LAB), "preset": "quick"},
}
PANELS = """
[panels.fast]
seats = ["lab:beta", "lab:gamma"]
protocol = "voting"
judge = "lab:alpha"
[panels.deep]
protocol = "decompose"
options = { inner = "sample" }
"""
LIMITS: dict[str, Any] = {
    "helper": {"aliases": ["title-*"], "protocols": [], "models": []},
    "voter": {"protocols": ["voting", "decompose"]},
    "small": {"models": ["lab:b*", "lab:gamma"]},
    "saved": {"panels": ["fast", "deep"], "protocols": [], "models": []},
    "other": {"panels": ["deep"]},
}


@pytest.fixture
async def server(lab: ScriptedHost, tmp_path: Path) -> AsyncIterator[ServerHandle]:
    with (tmp_path / "lab.toml").open("a") as file:
        file.write(PANELS)
    lab.on("*", text="Final answer: 42")
    async with open_server(models=MODELS, keys=LIMITS) as server:
        yield server


async def listed(server: ServerHandle, key: str) -> set[str]:
    """The names of models that a key sees."""
    async with server.client(key) as client:
        return {model["id"] for model in (await client.get("/v1/models")).json()["data"]}


async def test_a_key_sees_the_names_that_it_may_use(server: ServerHandle) -> None:
    ada, helper, voter, small, saved, other = [await server.key(name) for name in ("ada", *LIMITS)]
    every = await listed(server, ada)
    assert {"title-helper", "gpt-4o", "pnyx/council:deep"} < every
    assert await listed(server, helper) == {"title-helper"}
    assert await listed(server, voter) == {"pnyx/fast"} | {
        name for name in every if name.startswith(("pnyx/voting", "pnyx/decompose"))
    }
    assert await listed(server, saved) == {"pnyx/fast", "pnyx/deep"}
    assert every - await listed(server, other) == {"pnyx/fast"}
    # The configured panel has a model that this key may not use.
    assert await listed(server, small) == {"title-helper"}


@pytest.mark.parametrize(
    ("owner", "body", "refused"),
    [
        ("helper", {"model": "title-helper"}, None),
        ("helper", {"model": "gpt-4o"}, "aliases"),
        ("helper", {"model": "pnyx/voting"}, "protocols"),
        ("helper", {"model": "title-helper", "pnyx": {"protocol": "sample"}}, "protocols"),
        ("helper", {"model": "title-helper", "pnyx": {"models": ["lab:alpha"]}}, "models"),
        ("voter", {"model": "pnyx/voting"}, None),
        ("voter", {"model": "pnyx/council"}, "protocols"),
        ("voter", {"model": "title-helper"}, "protocols"),
        ("voter", {"model": "pnyx/decompose:inner=sample"}, "protocols"),
        ("saved", {"model": "pnyx/fast"}, None),
        ("saved", {"model": "pnyx/fast", "pnyx": {"judge": "lab:gamma"}}, "models"),
        ("saved", {"model": "pnyx/fast", "pnyx": {"models": ["lab:beta*3"]}}, "models"),
        ("saved", {"model": "pnyx/deep", "pnyx": {"options": {"inner": "council"}}}, "protocols"),
        ("saved", {"model": "pnyx/voting"}, "protocols"),
        ("other", {"model": "pnyx/fast"}, "panels"),
        ("other", {"model": "pnyx/voting"}, None),
        (
            "small",
            {"model": "pnyx/voting", "pnyx": {"models": ["lab:beta*2"], "judge": "lab:alpha"}},
            "models",
        ),
        ("small", {"model": "title-helper"}, None),
        ("small", {"model": "pnyx/voting"}, "models"),
        ("small", {"model": "pnyx/voting", "pnyx": {"models": ["lab:beta*3"]}}, None),
    ],
)
async def test_another_model_is_refused_with_the_setting_that_allows_it(
    server: ServerHandle, lab: ScriptedHost, owner: str, body: dict[str, Any], refused: str | None
) -> None:
    key = await server.key(owner)
    async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=0) as client:
        more = {"pnyx": body.get("pnyx", {})}
        asked = client.chat.completions.create(
            model=body["model"], messages=[{"role": "user", "content": "What is 6 * 7?"}], extra_body=more
        )
        if refused is None:
            assert "42" in str((await asked).choices[0].message.content)
            return
        with pytest.raises(openai.PermissionDeniedError) as raised:
            await asked
    assert raised.value.param == "model"
    assert f"[serve.keys.{owner}]" in raised.value.message
    assert f"{refused} = [" in raised.value.message
    assert lab.log == []


async def test_the_refusal_has_the_form_of_each_api(server: ServerHandle, lab: ScriptedHost) -> None:
    key, small = await server.key("voter"), await server.key("small")
    async with anthropic.AsyncAnthropic(base_url=server.url, api_key=key, max_retries=0) as claude:
        with pytest.raises(anthropic.PermissionDeniedError) as raised:
            await claude.messages.create(
                model="pnyx/council", max_tokens=100, messages=[{"role": "user", "content": "Why?"}]
            )
    assert isinstance(raised.value.body, dict)
    assert raised.value.body["error"]["type"] == "permission_error"
    ask = {"question": "Why?", "protocol": "council"}
    async with server.client(key) as client:
        for path, body in (
            ("/v1/runs", ask),
            ("/v1/plan", ask),
            ("/v1/responses", {"model": "gpt-4o", "input": "Why?"}),
            ("/v1/completions", {"model": "gpt-4o", "prompt": "Why?"}),
        ):
            answer = await client.post(path, json=body)
            assert answer.status_code == 403, path
            assert "[serve.keys.voter]" in answer.json()["error"]["message"]
        assert (await client.get("/v1/models/pnyx/council")).status_code == 404
        names = {one["name"] for one in (await client.get("/v1/protocols")).json()}
        assert names == {"voting", "decompose"}
    async with server.client(small) as client:
        models = (await client.get("/v1/settings")).json()["models"]
    assert models == ["lab:beta", "lab:gamma"]
    assert lab.log == []


async def test_the_limits_apply_to_mcp(server: ServerHandle, lab: ScriptedHost) -> None:
    async with over_http(server, await server.key("voter")) as client:
        refused = await client.call_tool("ask", {"question": "Why?", "protocol": "council"})
        assert refused.is_error
        assert "[serve.keys.voter]" in text_of(refused)
        known = (await client.call_tool("protocols", {})).structured_content["protocols"]
        assert {one["name"] for one in known} == {"voting", "decompose"}
    assert lab.log == []


@given(
    models=st.none() | st.lists(st.sampled_from([*LAB, "lab:*", "*", "lab:a*"]), max_size=3),
    panel=st.lists(st.sampled_from(LAB), min_size=1, max_size=3),
)
def test_a_panel_is_allowed_if_each_of_its_models_is(models: list[str] | None, panel: list[str]) -> None:
    limits = {"ada": {} if models is None else {"models": models}}
    lab = {"lab": {"kind": "openai", "base_url": "http://127.0.0.1:9/v1"}}
    settings = open_settings({"providers": lab, "serve": {"keys": limits}})
    spec = resolve(RunRequest(question="Why?", protocol="single", models=panel), settings)
    permissions = Permissions(settings, "ada", effective_limits(settings, "ada"))
    allowed = models is None or all(
        any(
            pattern in (ref, "*", "lab:*") or (pattern == "lab:a*" and ref == "lab:alpha")
            for pattern in models
        )
        for ref in panel
    )
    assert permissions.panel(tuple(panel)) is allowed
    try:
        permissions.check(spec)
    except Forbidden:
        assert not allowed
    else:
        assert allowed
    # Limits of one key say nothing about another.
    Permissions(settings, "bob", effective_limits(settings, "bob")).check(spec)


@pytest.mark.parametrize(
    ("limits", "problem"),
    [
        ({"Ada": {}}, "a key's name must have"),
        ({"local": {}}, "must not be local"),
        ({"ada": {"protocols": ["vote"]}}, "protocols has 'vote', and there is no such name"),
        ({"ada": {"aliases": ["gpt-*"]}}, "aliases has 'gpt-*'"),
        ({"ada": {"panels": ["fast"]}}, "panels has 'fast'"),
        ({"ada": {"models": ["alpha"]}}, "models has 'alpha'; a model is named"),
        ({"ada": {"models": ["labb:alpha"]}}, "models has 'labb:alpha'"),
        ({"ada": {"model": ["lab:alpha"]}}, "unknown key serve.keys.ada.model"),
    ],
)
def test_a_limit_that_limits_nothing_is_an_error(
    lab: ScriptedHost, limits: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ConfigError, match=r"serve\.keys") as raised:
        open_settings({"serve": {"keys": limits}})
    assert problem in str(raised.value)


def test_a_server_says_which_limits_have_no_key(lab: ScriptedHost, tmp_path: Path) -> None:
    with (tmp_path / "lab.toml").open("a") as file:
        file.write('[serve.keys.ada]\nprotocols = ["voting"]\n[serve.keys.adda]\nprotocols = ["voting"]\n')
    assert pnyx("serve", "--new-key", "ada").code == 0
    with spawn("serve", "--port", "0") as process:
        assert process.stderr is not None
        shown = process.stderr.readline().decode()
        process.send_signal(signal.SIGTERM)
    assert "[serve.keys.adda] limits no key yet" in shown
