"""The optional parts: declared once, gated once, and named with the command that installs them."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pnyx import extras
from pnyx.config.schema import ContextSettings, ToolsSettings
from pnyx.errors import MissingExtra
from pnyx.files.documents import document_text
from pnyx.files.folder import list_folder
from pnyx.tools.open import open_tools
from tests.interfaces.shell import pnyx
from tests.support.documents import png_of
from tests.support.rows import rows
from tests.support.scripted import ScriptedHost
from tests.support.sources import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DECLARED: dict[str, list[str]] = PROJECT["optional-dependencies"]
KEY = "sk-test-0123456789abcdef"
ASK = ("ask", "Is 7 prime?", "-p", "single", "-m")
USES: dict[str, tuple[list[str], dict[str, str]]] = {
    "embedded": ([*ASK, "embedded:smollm2-135m"], {}),
    "openai": (
        [*ASK, "deepseek:deepseek-chat"],
        {"DEEPSEEK_API_KEY": KEY},
    ),
    "anthropic": (
        [*ASK, "anthropic:claude-x", "--tools"],
        {"ANTHROPIC_API_KEY": KEY},
    ),
    "google": ([*ASK, "google:gemini-x", "--tools"], {"GEMINI_API_KEY": KEY}),
    "mistral": ([*ASK, "mistral:mistral-x", "--tools"], {"MISTRAL_API_KEY": KEY}),
    "serve": (["serve"], {}),
    "mcp": (["mcp"], {}),
    "postgres": (["runs"], {"PNYX_DATABASE": "postgresql://nobody@127.0.0.1:1/none"}),
    "worker": (["worker"], {"PNYX_DATABASE": "postgresql://nobody@127.0.0.1:1/none"}),
    "keyring": (["keys", "set", "OPENAI_API_KEY"], {}),
    "prometheus": ([*ASK, "embedded:smollm2-135m"], {"PNYX_TELEMETRY_PROMETHEUS": "true"}),
    "otel": ([*ASK, "embedded:smollm2-135m"], {"PNYX_TELEMETRY_OTLP": "true"}),
    "eval": (["eval", "small", "-m", "embedded:a.gguf", "-m", "embedded:b.gguf", "--limit", "1"], {}),
}
"""Extra -> a command that needs it, with its environment; the others have tests of their own."""


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A function that makes the modules of an extra impossible to find and to import."""

    def block(extra: str) -> None:
        for module in extras.EXTRAS[extra]:
            monkeypatch.setitem(sys.modules, module, None)

    return block


@pytest.mark.parametrize("extra", USES)
def test_a_command_without_its_extra_names_it_with_the_command_to_type(
    extra: str, without: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments, environment = USES[extra]
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    without(extra)
    done = pnyx(*arguments, stdin=KEY.encode())
    assert done.code == 2, done.err
    assert f"needs the extra '{extra}'" in done.err
    assert extras.install_command(extra) in done.err
    assert "bug in pnyx" not in done.err


HOST = """
[providers.lab]
kind = "{kind}"
base_url = "{url}"
api_key_env = "LAB_KEY"
[models."lab:alpha"]
input_price = 1.0
output_price = 4.0
images = true
[panel]
seats = ["lab:alpha*3"]
[run]
retries = 0
"""
KINDS = ("openai", "anthropic", "google", "mistral")


@pytest.fixture(params=KINDS)
def lab(
    request: pytest.FixtureRequest, host: ScriptedHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ScriptedHost:
    """The scripted host, as a provider of each kind, without the extra of that name."""
    url = getattr(host, request.param)
    (tmp_path / "lab.toml").write_text(HOST.format(kind=request.param, url=url))
    monkeypatch.setenv("PNYX_CONFIG", str(tmp_path / "lab.toml"))
    monkeypatch.setenv("LAB_KEY", KEY)
    for module in extras.EXTRAS[request.param]:
        monkeypatch.setitem(sys.modules, module, None)
    return host


openai_only = pytest.mark.parametrize("lab", ["openai"], indirect=True)


@pytest.mark.parametrize("protocol", ["consensus", "voting", "sample"])
def test_text_needs_no_extra(lab: ScriptedHost, protocol: str) -> None:
    lab.on("*", text="It is prime: no number from 2 to 6 divides it.\nFinal answer: yes")
    done = pnyx("ask", "Is 7 prime?", "-p", protocol, "--json")
    assert done.code == 0, done.err
    assert done.json["final_answer"] == "yes"
    assert not done.json["dropped"]


@pytest.mark.parametrize("more", [["--tools"], ["--file", "dot.png"], ["--answer-schema", "loose.json"]])
def test_tools_images_and_loose_schemas_need_the_extra_of_the_kind_before_anything_is_sent(
    lab: ScriptedHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dot.png").write_bytes(png_of(4, 4))
    (tmp_path / "loose.json").write_text('{"type": "object", "properties": {"prime": {"type": "boolean"}}}')
    done = pnyx("ask", "What is it?", "-p", "single", "-m", "lab:alpha", *more)
    assert done.code == 2, done.err
    needs = "provider lab, for tools, images and answer schemas, needs the extra"
    assert re.search(f"{needs} '(openai|anthropic|google|mistral)'", done.err)
    assert not lab.log


def test_doctor_names_the_extra_that_configured_tools_need(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "needs the extra" not in pnyx("doctor").out
    monkeypatch.setenv("PNYX_TOOLS_ENABLED", "true")
    assert (
        "FAIL provider lab: provider lab, for tools, images and answer schemas, needs the extra"
        in pnyx("doctor").out
    )


@openai_only
def test_a_request_that_the_base_cannot_write_names_the_extra(lab: ScriptedHost) -> None:
    lab.on("*", text="Final answer: yes")
    done = pnyx("ask", "What is <|im_end|>?", "-p", "single", "-m", "lab:alpha")
    assert done.code == 3, done.err
    assert "needs the extra 'openai'" in done.err
    assert extras.install_command("openai") in done.err.replace("\n", " ")
    assert not lab.log


def test_tools_without_their_extra_are_off_with_the_reason(without: Callable[[str], None]) -> None:
    without("tools")
    settings = ToolsSettings.model_validate({"code_execution": {"enabled": True}})
    toolbox, notes = open_tools(settings, {}, ["web_search", "read_page", "run_python"])
    assert not toolbox.tools
    assert [note.partition(" is off: ")[0] for note in notes] == ["web_search", "read_page", "run_python"]
    assert all("needs the extra 'tools'" in note for note in notes)


def test_a_tool_is_on_though_another_of_its_extra_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ddgs", None)
    toolbox, notes = open_tools(ToolsSettings(), {}, ["web_search", "read_page"])
    assert set(toolbox.tools) == {"read_page"}
    assert "(missing: ddgs)" in notes[0]


def test_files_that_need_their_extra_name_it(without: Callable[[str], None], tmp_path: Path) -> None:
    without("files")
    with pytest.raises(MissingExtra, match="--dir needs the extra 'files'"):
        list_folder(tmp_path, (), ContextSettings())
    with pytest.raises(MissingExtra, match=r"reading report\.pdf as pdf needs the extra 'files'"):
        asyncio.run(document_text(b"%PDF-1.7", "pdf", "report.pdf"))


def test_every_extra_has_a_use_here() -> None:
    assert {*USES, "tools", "files"} == set(extras.EXTRAS)


def test_the_table_has_the_extras_of_the_project_and_all_has_all() -> None:
    assert set(extras.EXTRAS) == set(DECLARED) - {"all"}
    (everything,) = map(Requirement, DECLARED["all"])
    assert everything.name == "pnyx"
    assert everything.extras == set(extras.EXTRAS)


@cache
def installed() -> Mapping[str, Sequence[str]]:
    """The distributions of each module, from the records of all of them."""
    return metadata.packages_distributions()


@rows("extra", extras.EXTRAS)
def test_each_module_of_an_extra_is_one_that_its_requirements_install(extra: str) -> None:
    holders = installed()
    brought = set(_distributions(map(Requirement, DECLARED[extra])))
    for module in extras.EXTRAS[extra]:
        assert brought & set(map(canonicalize_name, holders[module.partition(".")[0]])), module


def test_the_base_runs_a_panel_with_nothing_optional_installed(tmp_path: Path) -> None:
    script = """
import importlib.abc, sys
from pnyx.extras import EXTRAS
blocked = {module for modules in EXTRAS.values() for module in modules}

class Block(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in blocked or any(name.startswith(f"{module}.") for module in blocked):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Block())
import pnyx
reply = lambda call: "Measure first. Final answer: yes"
result = pnyx.ask_sync("Measure first?", panel=["mine:a", "mine:b", "mine:c"], protocol="voting",
                       providers={"mine": pnyx.FakeProvider(reply)})
assert result.final_answer == "yes", result
from pnyx.interfaces.cli import main
main(["show", result.run_id])
"""
    # In a new interpreter, in which nothing is loaded yet.
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "Measure first. Final answer: yes" in done.stdout


@pytest.mark.parametrize(
    ("document", "made_by", "expected"),
    [
        (None, "", ["-m", "pip", "install", "pnyx[serve]"]),
        (
            {"url": "https://git.example/pnyx", "vcs_info": {"vcs": "git", "requested_revision": "v1"}},
            "",
            ["-m", "pip", "install", "pnyx[serve] @ git+https://git.example/pnyx@v1"],
        ),
        (
            {"url": "file:///my%20src/pnyx", "dir_info": {"editable": True}},
            "",
            ["-m", "pip", "install", "-e", "/my src/pnyx[serve]"],
        ),
        (
            {"url": "file:///dist/pnyx-1-py3-none-any.whl", "archive_info": {}},
            "uv-receipt.toml",
            ["uv", "tool", "install", "--force", "pnyx[serve,mcp] @ file:///dist/pnyx-1-py3-none-any.whl"],
        ),
        (
            {"url": "file:///src/pnyx", "dir_info": {}},
            "pipx_metadata.json",
            ["pipx", "install", "--force", "pnyx[serve,mcp] @ file:///src/pnyx"],
        ),
    ],
)
def test_the_command_suits_how_pnyx_was_installed(
    document: dict[str, object] | None,
    made_by: str,
    expected: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Distribution:
        def read_text(self, name: str) -> str | None:
            assert name == "direct_url.json"
            return None if document is None else json.dumps(document)

    monkeypatch.setattr(extras, "distribution", lambda name: Distribution())
    monkeypatch.setattr(extras, "missing", lambda extra: () if extra == "mcp" else ("uvicorn",))
    if made_by:
        (tmp_path / made_by).touch()
        monkeypatch.setattr(sys, "prefix", str(tmp_path))
    words = shlex.split(extras.install_command("serve"))
    assert words == (expected if made_by else [sys.executable, *expected])


def test_an_import_that_fails_anyway_is_explained(without: Callable[[str], None]) -> None:
    without("google")
    found = extras.explain(ModuleNotFoundError("No module", name="google.genai.types"))
    assert isinstance(found, MissingExtra)
    assert found.extra == "google"
    assert extras.explain(ModuleNotFoundError("No module", name="json")) is None


def _distributions(requirements: Iterator[Requirement]) -> Iterator[str]:
    """The distributions that requirements install: their own, and those of the extras that they ask for."""
    for requirement in requirements:
        yield canonicalize_name(requirement.name)
        for text in metadata.requires(requirement.name) or []:
            inner = Requirement(text)
            wanted = [{"extra": extra} for extra in requirement.extras]
            if inner.marker is None:
                # A metapackage pins the distribution that holds its module.
                if str(inner.specifier).startswith("=="):
                    yield canonicalize_name(inner.name)
            elif any(inner.marker.evaluate(one) for one in wanted):
                yield canonicalize_name(inner.name)


def test_the_page_on_installing_lists_every_extra() -> None:
    page = (ROOT / "docs" / "install.md").read_text()
    assert re.findall(r"^\| `(\w+)` \| .+\| *\d* *\|$", page, re.MULTILINE) == [*extras.EXTRAS, "all"]


@pytest.mark.parametrize(
    ("lock", "wanted"),
    [
        ("requirements.lock", set(DECLARED) - {"all"}),
        ("requirements-demo.lock", {"embedded", "serve"}),
    ],
)
def test_a_lock_file_pins_every_requirement(lock: str, wanted: set[str]) -> None:
    pins = re.findall(r"^([a-z0-9.-]+)==", (ROOT / lock).read_text(), re.MULTILINE)
    requirements = [*PROJECT["dependencies"], *(one for extra in wanted for one in DECLARED[extra])]
    missing = {canonicalize_name(Requirement(one).name) for one in requirements} - set(pins)
    assert not missing, "run: make lock"
