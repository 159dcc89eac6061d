"""Write the files of integrations/ from the table of assistants: `python -m tests.interfaces.integrations`.

A test compares them. What is written by hand there: the packages and examples in Python, and the bundle's
server.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pnyx import __version__
from pnyx.interfaces.integrate.assistants import Assistant, CommandFile, assistants, skill
from pnyx.interfaces.integrate.settings_files import shown
from pnyx.providers.catalogue import STRONG
from pnyx.providers.installed import KINDS

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "integrations"
ABOUT = "Ask a panel of language models; get one answer, the objections that stand, and the cost."
DETAIL = (
    "pnyx puts one question to several language models, lets them criticise each other, and returns one "
    "answer with the remaining objections, the cost and a record of the whole debate."
)
AUTHOR = "The pnyx developers"
ARGV = ["pnyx", "mcp"]
REGISTRY = "https://static.modelcontextprotocol.io/schemas/2025-09-29/server.schema.json"
WHOLE = ("claude-code", "gemini", "claude-desktop")
"""Assistants with a package of their own instead of a settings file."""


def written() -> dict[Path, str]:
    """Every generated file -> its text."""
    known = assistants()
    files = dict(_plugin(known["claude-code"]))
    files |= dict(_extension(known["gemini"]))
    files |= dict(_bundle())
    files[PLACE / "mcp-registry" / "server.json"] = _json(_registry())
    for one in known.values():
        if one.name not in WHOLE:
            files |= dict(_settings(one))
    return files


def _settings(one: Assistant) -> Iterator[tuple[Path, str]]:
    folder = PLACE / one.name
    suffix = {"json": "json", "toml": "toml", "yaml": "yaml"}[one.format]
    name = Path((one.project or one.user)[-1]).name
    yield folder / Path(name).with_suffix(f".{suffix}"), shown(one, one.entry(ARGV, [], {}))
    if one.command is not None:
        path = Path(one.command.project)
        yield folder / path.relative_to(path.parts[0]), one.command.text()


def _plugin(one: Assistant) -> Iterator[tuple[Path, str]]:
    folder = PLACE / one.name
    command = one.command
    assert command is not None
    author = {"name": AUTHOR}
    plugin = {
        "name": "pnyx",
        "version": __version__,
        "description": ABOUT,
        "author": author,
        "license": "MIT",
        "keywords": ["llm", "panel", "debate", "review"],
    }
    yield folder / ".claude-plugin" / "plugin.json", _json(plugin)
    entry = {
        "name": "pnyx",
        "source": f"./integrations/{one.name}",
        "description": ABOUT,
        "category": "productivity",
    }
    market = {"name": "pnyx", "owner": author, "metadata": {"description": ABOUT}, "plugins": [entry]}
    yield ROOT / ".claude-plugin" / "marketplace.json", _json(market)
    yield folder / ".mcp.json", shown(one, one.entry(ARGV, [], {}))
    yield folder / "commands" / "pnyx.md", command.text()
    yield folder / "skills" / "ask-the-panel" / "SKILL.md", skill(_plain(), "ask-the-panel")


def _extension(one: Assistant) -> Iterator[tuple[Path, str]]:
    folder = PLACE / one.name
    settings = [
        {"name": variable, "description": f"The key of {title}; leave it empty if you have none.",
         "envVar": variable, "sensitive": True}
        for title, variable in _keys()
    ]  # fmt: skip
    extension = {
        "name": "pnyx",
        "version": __version__,
        "description": ABOUT,
        "mcpServers": {"pnyx": one.entry(ARGV, [], {})},
        "settings": settings,
    }
    yield folder / "gemini-extension.json", _json(extension)
    yield folder / "skills" / "ask-the-panel" / "SKILL.md", skill(_plain(), "ask-the-panel")


def _bundle() -> Iterator[tuple[Path, str]]:
    folder = PLACE / "claude-desktop"
    asked = {
        variable.lower(): {
            "type": "string",
            "title": variable,
            "description": f"The key of {title}; leave it empty if you have none.",
            "sensitive": True,
            "required": False,
            "default": "",
        }
        for title, variable in _keys()
    }
    manifest = {
        "manifest_version": "0.4",
        "name": "pnyx",
        "display_name": "pnyx",
        "version": __version__,
        "description": ABOUT,
        "long_description": DETAIL,
        "author": {"name": AUTHOR},
        "license": "MIT",
        "keywords": ["llm", "panel", "debate", "review"],
        "server": {
            "type": "uv",
            "entry_point": "server.py",
            "mcp_config": {
                "command": "uv",
                "args": ["run", "--directory", "${__dirname}", "server.py"],
                "env": {name.upper(): f"${{user_config.{name}}}" for name in asked},
            },
        },
        "tools_generated": True,
        "compatibility": {"platforms": ["darwin", "linux", "win32"], "runtimes": {"python": ">=3.11"}},
        "user_config": asked,
    }
    yield folder / "manifest.json", _json(manifest)
    yield (
        folder / "pyproject.toml",
        (
            '[project]\nname = "pnyx-bundle"\n'
            f'version = "{__version__}"\nrequires-python = ">=3.11"\ndependencies = ["pnyx=={__version__}"]\n'
        ),
    )


def _registry() -> dict[str, Any]:
    variables = [
        {"name": variable, "description": f"The key of {title}.", "isSecret": True, "isRequired": False}
        for title, variable in _keys()
    ]
    return {
        "$schema": REGISTRY,
        "name": "io.github.pnyx/pnyx",
        "description": ABOUT,
        "version": __version__,
        "packages": [
            {
                "registryType": "pypi",
                "identifier": "pnyx",
                "version": __version__,
                "runtimeHint": "uvx",
                "transport": {"type": "stdio"},
                "packageArguments": [{"type": "positional", "value": "mcp"}],
                "environmentVariables": variables,
            }
        ],
    }


def _keys() -> Iterator[tuple[str, str]]:
    """The makers of the default panel, with the first variable of each one's key."""
    for kind in STRONG:
        yield KINDS.get(kind).name, KINDS.get(kind).key_variables[0]


def _plain() -> str:
    return CommandFile(user="", project="", form="plain", arguments="what the user wants to know").text()


def _json(document: Any) -> str:
    return f"{json.dumps(document, indent=2, ensure_ascii=False)}\n"


if __name__ == "__main__":
    for path, text in written().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        print(path.relative_to(ROOT))
