"""The examples and packages in integrations/ against a real server, where their clients are installed."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import json
import tomllib
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import pnyx
from tests.interfaces.integrations import PLACE
from tests.support.scripted import ScriptedHost
from tests.support.serving import SERVER_KEY, ServerHandle, open_server

ANSWER = "It is six times seven.\nFinal answer: 42"
ALIASES = {"title-helper": {"protocol": "single", "panel": ["lab:beta"]}}


@pytest.fixture
async def server(lab: ScriptedHost) -> AsyncIterator[ServerHandle]:
    lab.on("*", text=ANSWER)
    async with open_server(models=ALIASES) as server:
        yield server


def loaded(path: str) -> ModuleType:
    """A file of integrations/ as a module."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, PLACE / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def pipe(server: ServerHandle) -> Any:
    """The pipe of Open WebUI, set up as a person does."""
    pipe = loaded("open-webui/pnyx_pipe.py").Pipe()
    pipe.valves.base_url = f"{server.url}/v1"
    pipe.valves.api_key = SERVER_KEY
    return pipe


CHAT = {"model": "pnyx_pipe.pnyx/voting", "messages": [{"role": "user", "content": "What is 6 * 7?"}]}


async def test_the_pipe_lists_the_models_of_the_server(pipe: Any) -> None:
    names = {model["id"] for model in await pipe.pipes()}
    assert {"pnyx/voting", "pnyx/consensus:quick", "title-helper"} <= names


async def test_the_pipe_shows_the_steps_and_streams_the_answer_with_its_cost(pipe: Any) -> None:
    shown: list[dict[str, Any]] = []

    async def emit(event: dict[str, Any]) -> None:
        shown.append(event)

    pieces = [piece async for piece in await pipe.pipe({**CHAT, "stream": True}, None, emit)]
    assert "".join(pieces).startswith(ANSWER)
    assert "$" in "".join(pieces)  # the footer
    assert all(event["type"] == "status" for event in shown)
    assert any("Participant" in event["data"]["description"] for event in shown)
    assert shown[-1]["data"]["done"]


async def test_the_pipe_answers_without_a_stream_and_asks_a_cheap_model_for_titles(
    pipe: Any, lab: ScriptedHost
) -> None:
    assert (await pipe.pipe(CHAT)).startswith(ANSWER)
    before = len(lab.log)
    pipe.valves.task_model = "title-helper"
    title = await pipe.pipe({**CHAT, "stream": True}, "title_generation")
    assert title == ANSWER
    assert [request.model for request in lab.log[before:]] == ["beta"]


async def test_the_pipe_says_what_is_wrong(pipe: Any) -> None:
    pipe.valves.api_key = "wrong"
    assert "this key is not valid" in (await pipe.pipes())[0]["name"]
    assert "this key is not valid" in await pipe.pipe(CHAT)
    pieces = [piece async for piece in await pipe.pipe({**CHAT, "stream": True})]
    assert "this key is not valid" in "".join(pieces)
    pipe.valves.base_url = "http://127.0.0.1:1/v1"
    assert "does not answer" in (await pipe.pipes())[0]["name"]


async def test_the_pipe_passes_its_budget_on(pipe: Any, server: ServerHandle) -> None:
    pipe.valves.budget_usd = 0.25
    await pipe.pipe(CHAT)
    (run,) = await server.service.list_runs(None, 10)
    assert (await server.service.find(run.row.id)).spec["budget_usd"] == 0.25


async def test_the_panel_is_a_model_of_pydantic_ai(server: ServerHandle) -> None:
    agent = loaded("pydantic-ai/panel_agent.py").panel_as_model(server.url, SERVER_KEY, "pnyx/voting")
    assert (await agent.run("What is 6 * 7?")).output.startswith(ANSWER)
    await agent.model.client.close()


async def test_the_panel_is_a_tool_of_pydantic_ai(lab: ScriptedHost) -> None:
    lab.on("*", text=ANSWER)
    example = loaded("pydantic-ai/panel_agent.py")
    text = await example.ask_panel("What is 6 * 7?", budget_usd=0.5)
    assert text.startswith(ANSWER)
    assert "Objections that stand:" in text
    assert "Cost: $0.0" in text
    agent = example.agent_with_panel("test")
    assert "ask_panel" in (await agent.run("What is 6 * 7?")).output


def test_the_plugin_of_llm_passes_only_options_that_the_library_has() -> None:
    """llm is not installed here; `make clients` runs the plug-in."""
    tree = ast.parse((PLACE / "llm" / "llm_pnyx.py").read_text())
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "pnyx"
    }
    assert used <= set(pnyx.__all__)
    (options,) = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Options"]
    names = {
        node.target.id
        for node in options.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    assert len(names) > 8
    assert names <= set(inspect.signature(pnyx.ask).parameters)


def test_the_packages_have_the_version_of_pnyx() -> None:
    for path in ("llm/pyproject.toml", "claude-desktop/pyproject.toml"):
        project = tomllib.loads((PLACE / path).read_text())["project"]
        assert project["version"] == pnyx.__version__
        assert any(
            one.startswith("pnyx") and one.endswith(pnyx.__version__) for one in project["dependencies"]
        )
    head = (PLACE / "open-webui" / "pnyx_pipe.py").read_text()
    assert f"\nversion: {pnyx.__version__}\n" in head


def test_the_bundle_has_its_files_and_is_the_same_each_time(tmp_path: Path) -> None:
    build = loaded("claude-desktop/build.py")
    first, second = tmp_path / "first.mcpb", tmp_path / "second.mcpb"
    build.build(first)
    build.build(second)
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as bundle:
        assert sorted(bundle.namelist()) == ["manifest.json", "pyproject.toml", "server.py"]
        manifest = json.loads(bundle.read("manifest.json"))
        assert manifest["server"]["entry_point"] in bundle.namelist()
    asked = set(manifest["user_config"])
    assert set(manifest["server"]["mcp_config"]["env"]) == {name.upper() for name in asked}
