"""A wrong request is explained with the names of the interface that made it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pnyx
from pnyx.errors import UsageError
from pnyx.interfaces.requests.option_names import with_flags, with_keywords, with_requests, with_tools
from pnyx.run.options.request import OPTIONS
from tests.interfaces.shell import pnyx as run
from tests.support.assistants import over_stdio, text_of
from tests.support.scripted import ScriptedHost
from tests.support.serving import open_server
from tests.support.sources import PACKAGE

WRONG = [
    (
        {"protocol": "fast"},
        'fast is a saved panel: use "panel": "fast"',
        "use -P fast",
        'use saved_panel="fast"',
    ),
    ({"panel": "voting"}, 'use "protocol": "voting"', "use -p voting", 'use protocol="voting"'),
    (
        {"panel": "lab:beta"},
        'to name a model, use "models": ["lab:beta"]',
        "to name a model, use -m lab:beta",
        'to name a model, use panel=["lab:beta"]',
    ),
    (
        {"models": ["lab:alpha"], "protocol": "consensus"},
        'seats of one model: "models": ["lab:alpha*3"], or another protocol with "protocol": ',
        "add models with -m, or seats of one model: -m 'lab:alpha*3', or another protocol with -p: ",
        'add models with panel, or seats of one model: panel=["lab:alpha*3"], or another protocol with prot',
    ),
    (
        {"models": ["lab:alpha,lab:beta"]},
        'name each by itself: "models": ["lab:alpha", "lab:beta"]',
        "name each by itself: -m lab:alpha -m lab:beta",
        'name each by itself: panel=["lab:alpha", "lab:beta"]',
    ),
]


@pytest.mark.parametrize(("request_", "by_http", "by_flags", "by_keywords"), WRONG)
async def test_each_interface_names_its_own_options(
    lab: ScriptedHost, tmp_path: Path, request_: dict[str, Any], by_http: str, by_flags: str, by_keywords: str
) -> None:
    with (tmp_path / "lab.toml").open("a") as settings:
        settings.write('[panels.fast]\nseats = ["lab:beta*3"]\n')
    async with open_server() as server, server.client() as client:
        answer = await client.post("/v1/runs", json={"question": "Why?", **request_})
    assert answer.status_code in (400, 404)
    assert by_http in answer.json()["error"]["message"]
    async with over_stdio() as client:
        failed = await client.call_tool("ask", {"question": "Why?", **request_})
    assert failed.is_error
    assert by_http in text_of(failed)
    keywords = {str(OPTIONS[name].keyword): value for name, value in request_.items()}
    with pytest.raises(UsageError) as caught:
        await pnyx.ask("Why?", **keywords)
    assert by_keywords in str(caught.value)
    assert not lab.log


@pytest.mark.parametrize(("request_", "by_http", "by_flags", "by_keywords"), WRONG)
def test_the_command_line_names_flags(
    lab: ScriptedHost, tmp_path: Path, request_: dict[str, Any], by_http: str, by_flags: str, by_keywords: str
) -> None:
    with (tmp_path / "lab.toml").open("a") as settings:
        settings.write('[panels.fast]\nseats = ["lab:beta*3"]\n')
    words: list[str] = []
    for name, value in request_.items():
        for one in value if isinstance(value, list) else [value]:
            words += [OPTIONS[name].flags[0], *([] if one is True else [one])]
    done = run("ask", "Why?", *words)
    assert done.code == 2
    assert by_flags in done.err


@pytest.mark.parametrize(
    ("message", "by_flags", "by_keywords"),
    [
        ('use "panel": "it\'s"', """use -P 'it'"'"'s'""", 'use saved_panel="it\'s"'),
        ('"ground" needs a search', "--ground needs a search", "ground needs a search"),
        ('no "mode": "x"', 'no "mode": "x"', 'no "mode": "x"'),
        ('"models": [a]', '"models": [a]', "panel=[a]"),
        ('"models": []', '"models": []', "panel=[]"),
    ],
)
def test_only_options_are_renamed(message: str, by_flags: str, by_keywords: str) -> None:
    assert (with_flags(message), with_keywords(message)) == (by_flags, by_keywords)


@pytest.mark.parametrize(
    ("command", "by_http", "by_tool"),
    [
        ("Resume with: pnyx resume r1.", "POST /v1/runs/r1/resume.", "`resume`, run_id r1."),
        (
            "$0.0010 is left. Resume with: pnyx resume 71q7f --budget 0.10",
            'POST /v1/runs/71q7f/resume with {"budget_usd": 0.10}',
            "`resume`, run_id 71q7f and budget_usd 0.10",
        ),
        (
            "pnyx resume r1 --deadline SECONDS.",
            'POST /v1/runs/r1/resume with {"deadline_s": SECONDS}.',
            "`resume`, run_id r1 and deadline_s SECONDS.",
        ),
        (
            "pnyx resume r1 --fork",
            'POST /v1/runs/r1/resume with {"fork": true}',
            "`resume`, run_id r1 and fork true",
        ),
        (
            "continue it with `pnyx resume r1`",
            "continue it with POST /v1/runs/r1/resume",
            "continue it with `resume`, run_id r1",
        ),
        ("`pnyx runs` lists them", "GET /v1/runs lists them", "`runs` lists them"),
        ("Stop it with: pnyx cancel r1", "POST /v1/runs/r1/cancel", "`cancel`, run_id r1"),
        (
            "pnyx share r1 --list lists them",
            "GET /v1/runs/r1/shares lists them",
            "share r1 --list lists them",
        ),
        ("`pnyx models` lists them", "GET /v1/settings lists them", "`pnyx models` lists them"),
        ("see `pnyx protocols`", "see GET /v1/protocols", "see `protocols`"),
        ("`pnyx doctor` says", "`pnyx doctor` says", "`pnyx doctor` says"),
    ],
)
def test_the_next_step_is_one_that_the_interface_has(command: str, by_http: str, by_tool: str) -> None:
    assert with_requests(command).endswith(by_http)
    assert with_tools(command).endswith(by_tool)


async def test_a_client_that_has_no_command_line_is_sent_to_none(lab: ScriptedHost) -> None:
    body = {"question": "Why?", "budget_usd": 1e-6}
    chat = {
        "model": "pnyx/voting",
        "messages": [{"role": "user", "content": "Why?"}],
        "pnyx": {"budget_usd": 1e-6},
    }
    async with open_server() as server, server.client() as client:
        unknown = (await client.get("/v1/runs/abc")).json()["error"]["message"]
        paused = (await client.post("/v1/chat/completions", json=chat)).json()["error"]["message"]
    assert unknown == "no run 'abc'; GET /v1/runs lists them"
    assert re.search(r'POST /v1/runs/\w+/resume with \{"budget_usd": 0\.\d+\}$', paused)
    async with over_stdio() as tools:
        assert text_of(await tools.call_tool("show", {"run_id": "abc"})) == "no run 'abc'; `runs` lists them"
        said = text_of(await tools.call_tool("ask", body))
    assert re.search(r"Resume with: `resume`, run_id \w+ and budget_usd 0\.\d+\n", said)
    assert "pnyx resume" not in said
    assert not lab.log


def _texts(path: Path) -> Iterator[str]:
    """The texts of a module, without its docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            yield node.value


def test_no_message_below_the_interfaces_names_a_flag() -> None:
    flags = "|".join(re.escape(flag) for option in OPTIONS.values() for flag in option.flags)
    named = re.compile(rf"(?:^|\s)(?:{flags})(?![\w-])")
    command = re.compile(r"`[^`-][^`]*`")
    # A command to type has flags, and so has the table of them; a run that pauses has a command.
    own = {"run/options/request.py", "run/context.py", "run/spending/exhaustion.py"}
    found = {
        f"{where}: {text}"
        for folder in ("config", "providers", "protocols", "run", "core", "tools", "store", "reliability")
        for path in sorted((PACKAGE / folder).rglob("*.py"))
        if (where := path.relative_to(PACKAGE).as_posix()) not in own
        for text in _texts(path)
        if named.search(command.sub("", text)) and " " in text.strip() and "pnyx " not in text
    }
    assert found == set()
