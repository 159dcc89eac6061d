"""Enabled tools are available where they can be; each that is off has a reason."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pnyx.config.schema import ToolsSettings
from pnyx.tools import Toolbox
from pnyx.tools.open import enabled_tools, open_search, open_tools


def open_with(tmp_path: Path, **settings: Any) -> tuple[Toolbox, tuple[str, ...]]:
    return open_tools(ToolsSettings.model_validate({"enabled": True, **settings}), {}, cwd=tmp_path)


def test_no_tools_give_an_empty_toolbox_and_no_notes(tmp_path: Path) -> None:
    toolbox, notes = open_tools(ToolsSettings(), {}, (), cwd=tmp_path)
    assert (dict(toolbox.tools), notes) == ({}, ())


def test_tools_are_off_by_default() -> None:
    assert not ToolsSettings().enabled
    assert not ToolsSettings().code_execution.enabled


def test_with_tools_enabled_all_but_run_python_are_on(tmp_path: Path) -> None:
    toolbox, notes = open_with(tmp_path)
    assert list(toolbox.tools) == ["web_search", "read_page", "read_file"]
    assert notes == ("run_python is off: tools.code_execution.enabled is false",)


@pytest.mark.parametrize("backend", ["monty", "bubblewrap"])
def test_run_python_is_on_when_code_execution_is_enabled(tmp_path: Path, backend: str) -> None:
    toolbox, notes = open_with(tmp_path, code_execution={"enabled": True, "backend": backend})
    assert "run_python" in toolbox.tools
    assert not notes


def test_each_tool_that_is_off_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    toolbox, notes = open_with(
        tmp_path,
        web_search={"backend": "tavily"},
        code_execution={"enabled": True, "backend": "bubblewrap"},
        file_read={"roots": ["none"]},
    )
    assert list(toolbox.tools) == ["read_page"]
    assert [note.partition(" is off: ")[0] for note in notes] == ["web_search", "read_file", "run_python"]
    assert "TAVILY_API_KEY" in notes[0]
    assert f"{tmp_path / 'none'}" in notes[1]
    assert "bubblewrap is not installed" in notes[2]


async def test_roots_start_in_the_working_directory(tmp_path: Path, home: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.txt").write_text("here")
    (home / "b.txt").write_text("at home")
    toolbox, _ = open_with(tmp_path, file_read={"roots": ["sub", "~"]})
    assert (await toolbox.run("read_file", {"path": "a.txt"})).text.endswith("1  here")
    assert (await toolbox.run("read_file", {"path": "b.txt"})).text.endswith("1  at home")


async def test_models_receive_a_schema_of_each_tools_arguments(tmp_path: Path) -> None:
    toolbox, _ = open_with(tmp_path, code_execution={"enabled": True})
    for name, spec in zip(toolbox.tools, toolbox.specs(toolbox.tools), strict=True):
        assert spec.name == name
        assert set(spec.parameters["required"]) <= set(spec.parameters["properties"])
        refused = await toolbox.run(name, {})
        assert not refused.ok
        assert "is required" in refused.text


async def test_a_result_is_cut_at_the_limit_and_an_unknown_tool_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "long").write_text("x" * 100_000)
    toolbox, _ = open_with(tmp_path)
    result = await toolbox.run("read_file", {"path": "long"})
    assert result.ok
    assert len(result.text) < toolbox.limit + 100
    assert "more characters]" in result.text
    assert not (await toolbox.run("rm", {})).ok


def test_the_search_for_grounding_opens_alone(tmp_path: Path) -> None:
    engine = open_search(ToolsSettings().web_search, {})
    assert type(engine).__name__ == "DuckDuckGo"


def test_the_provider_back_end_falls_back_to_duckduckgo() -> None:
    tools = ToolsSettings.model_validate({"web_search": {"backend": "provider"}})
    assert enabled_tools(tools)[0] == "web_search"
    assert type(open_search(tools.web_search, {})).__name__ == "DuckDuckGo"


def test_opening_tools_loads_none_of_their_libraries() -> None:
    code = """
import sys
from pnyx.config.schema import ToolsSettings
from pnyx.tools.open import open_tools
open_tools(ToolsSettings.model_validate({"enabled": True, "code_execution": {"enabled": True}}), {})
print(*{"trafilatura", "ddgs", "pydantic_monty", "lxml", "primp"} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
