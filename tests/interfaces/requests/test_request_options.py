"""Every interface has exactly the options of `RunRequest`, under the names defined there."""

from __future__ import annotations

import inspect
import io
import json
import re
from dataclasses import MISSING, fields
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import pnyx
from pnyx.errors import UsageError
from pnyx.interfaces.cli.actions.batch_lines import read_lines
from pnyx.interfaces.cli.options import RUN_OPTIONS, request_options, to_request
from pnyx.interfaces.mcp.catalogue import list_tools
from pnyx.interfaces.requests.json_body import Body
from pnyx.interfaces.requests.schemas import RunBody
from pnyx.run.options.request import OPTIONS, Kind, RunRequest
from tests.support.serving import open_server
from tests.support.sources import ROOT

PAGE = ROOT / "docs" / "requests.md"
DEFAULTS = {f.name: f.default for f in fields(RunRequest)}
HTTP = {name for name, option in OPTIONS.items() if option.http}
MCP = {name for name, option in OPTIONS.items() if option.mcp}
WAYS = {
    "batch": {"file", "out", "concurrency", "budget", "require_consensus", "dry_run", "quiet"},
    "ask": {"words", "decompose", "artifacts", "require_consensus", "dry_run"}
    | {"folders", "globs", "diff", "urls"}
    | {"as_json", "as_jsonl", "plain", "quiet", "verbose", "no_input"},
    "chat": {"resume", "plain", "quiet", "verbose"},
}
"""Parameters of commands that are not options of a request."""
EXAMPLES: dict[Kind, tuple[list[str], Any]] = {
    Kind.TEXT: (["voting"], "voting"),
    Kind.TEXTS: (["a:b"], ("a:b",)),
    Kind.WHOLE: (["7"], 7),
    Kind.AMOUNT: (["0.5"], 0.5),
    Kind.FLAG: ([], True),
    Kind.SWITCH: ([], True),
    Kind.TEXT_BY_NAME: (["1=critic"], {"1": "critic"}),
    Kind.VALUE_BY_NAME: (["rounds=2"], {"rounds": "2"}),
    Kind.SCHEMA: ([str(Path(__file__).with_name("answer.schema.json"))], {"type": "object"}),
    Kind.TOOLS: ([str(Path(__file__).with_name("client.tools.json"))], ({"name": "look"},)),
}
"""The arguments of a flag, and the resulting value."""


def command(name: str) -> click.Command:
    found = getattr(import_module(f"pnyx.interfaces.cli.commands.{name}"), name)
    assert isinstance(found, click.Command)
    return found


def flags(option: click.Parameter) -> tuple[str, ...]:
    """Return the flags as `RequestOption.flags` does."""
    assert isinstance(option, click.Option)
    off = option.secondary_opts
    return tuple("/".join((flag, *off)) if flag.startswith("--") and off else flag for flag in option.opts)


@pytest.mark.parametrize("name", WAYS)
def test_a_command_has_the_flags_and_their_help(name: str) -> None:
    shown: dict[str, tuple[str, ...]] = {}
    for parameter in command(name).params:
        if isinstance(parameter, click.Option) and parameter.name in OPTIONS:
            option = OPTIONS[parameter.name]
            shown[parameter.name] = flags(parameter)
            assert (parameter.help or "").startswith(option.flag_help or option.help)
        elif not parameter.expose_value:
            shown["preset"] = shown.get("preset", ()) + flags(parameter)
        else:
            assert parameter.name in WAYS[name], parameter.name
    assert shown == {one: OPTIONS[one].flags for one in shown}
    if name == "ask":
        assert shown.keys() == {one for one, option in OPTIONS.items() if option.flags}
    if name == "batch":
        assert shown.keys() == set(RUN_OPTIONS)


# The command itself reads these files: test_responses.py and test_files.py beside this one.
@pytest.mark.parametrize(
    "name",
    [
        name
        for name, option in OPTIONS.items()
        if option.flags and option.kind not in (Kind.RESPONSES, Kind.FILES)
    ],
)
def test_a_flag_sets_its_option(name: str) -> None:
    option = OPTIONS[name]
    found: list[RunRequest] = []

    @click.command()
    @request_options(name)
    def run(**options: Any) -> None:
        found.append(to_request("Why?", **options))

    for number, flag in enumerate(option.flags):
        words, value = EXAMPLES[option.kind]
        if option.choices:
            words = [] if len(option.flags) > 1 else [list(option.choices)[number]]
            value = list(option.choices)[number]
        done = CliRunner().invoke(run, [flag.partition("/")[0], *words], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        assert getattr(found[-1], name) == value
    assert CliRunner().invoke(run, []).exit_code == 0
    assert found[-1] == RunRequest(question="Why?")


@pytest.mark.usefixtures("lab")
async def test_the_http_body_has_the_options() -> None:
    async with open_server() as server, server.client() as client:
        schema = (await client.get("/openapi.json")).json()["components"]["schemas"]
    added = {"stream", "wait", "tokens", "on_disconnect", "follows"}
    assert schema["StartRun"]["properties"].keys() - added == HTTP
    assert schema["StartRun"]["required"] == ["question"]
    for name in HTTP:
        assert schema["StartRun"]["properties"][name]["description"] == OPTIONS[name].help


def test_the_mcp_tool_has_the_options() -> None:
    (ask,) = (tool for tool in list_tools() if tool.name == "ask")
    properties = ask.input_schema["properties"]
    assert properties.keys() - {"wait"} == MCP
    for name in MCP:
        assert properties[name]["description"] == OPTIONS[name].help


def test_a_batch_line_has_the_options_of_the_http_body() -> None:
    for name in OPTIONS:
        line = json.dumps({"question": "Why?", name: None if name != "question" else "Why?"}).encode()
        (read,) = read_lines(io.BytesIO(line + b"\n"))
        assert (f"unknown key '{name}'" in (read.problem or "")) == (name not in HTTP), name


def test_every_function_of_the_library_takes_the_keywords_with_their_defaults() -> None:
    signature = inspect.signature(pnyx.ask)
    shared = {"providers", "settings", "runner", "more"}
    keywords = {option.keyword: name for name, option in OPTIONS.items() if option.keyword}
    assert signature.parameters.keys() - shared == keywords.keys()
    for keyword, name in keywords.items():
        default = signature.parameters[keyword].default
        if DEFAULTS[name] is not MISSING:
            assert default == DEFAULTS[name], keyword
        else:
            assert default in (None, inspect.Parameter.empty), keyword


def test_the_page_lists_every_option_once() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|\n").split("|")]
        for line in PAGE.read_text("utf-8").splitlines()
        if re.match(r"\| `\w+` ", line)
    ]
    assert [row[0].strip("`") for row in rows] == list(OPTIONS)
    for (_, cli, where, keyword, help), option in zip(rows, OPTIONS.values(), strict=True):
        assert re.findall(r"`([^`]+)`", cli) == list(option.flags)
        assert where == ", ".join(n for n, has in (("HTTP", option.http), ("MCP", option.mcp)) if has)
        assert keyword.strip("`") == (option.keyword or "")
        assert help == option.help


def test_a_batch_line_takes_precedence_over_flags_and_protocol_options_are_merged() -> None:
    base = RunRequest(question="", rounds=3, options={"a": 1, "b": 1}, seed=4, ground=True, models=("x:y",))
    body = RunBody.parse(
        {"question": "Why?", "options": {"b": 2}, "ground": False, "models": [], "seed": None}
    )
    request = body.to_request(base)
    assert request.protocol_options == {"a": 1, "b": 2, "rounds": 3}
    assert (request.question, request.seed, request.ground, request.models) == ("Why?", 4, False, ("x:y",))
    fewer = RunBody.parse({"question": "Why?", "options": {"rounds": 1}}).to_request(base)
    assert fewer.protocol_options["rounds"] == 1


def test_a_body_is_strict() -> None:
    assert issubclass(RunBody, Body)
    for document in ({}, {"question": ""}, {"question": "Why?", "rounds": "2"}, {"question": "Why?", "x": 1}):
        with pytest.raises(UsageError):
            RunBody.parse(document)
