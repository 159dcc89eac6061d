"""The table of assistants: where their files are, and what belongs in them. It reads no file of theirs."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from ...errors import NotFound, UsageError
from ...similar import nearest

__all__ = ["SERVER", "Assistant", "CommandFile", "Surroundings", "assistant", "assistants", "skill"]

SERVER = "pnyx"
"""The name of the server in every file."""
WAIT = "PNYX_MCP_WAIT_S"


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What a path depends on. platform: as `sys.platform` names it. home, here: absolute paths."""

    env: Mapping[str, str]
    platform: str
    home: Path
    here: Path

    @classmethod
    def of_process(cls) -> Surroundings:
        """Those of this process. Raises `UsageError` if its user has no home folder."""
        try:
            home = Path.home()
        except RuntimeError:
            raise UsageError("this user has no home folder: set HOME") from None
        return cls(env=os.environ, platform=sys.platform, home=home, here=Path.cwd())

    def path(self, written: str, defaults: Mapping[str, str]) -> Path:
        """Return the path that a file of the table writes with `~` or a variable at its start."""
        head, _, rest = written.partition("/")
        if head == "$CONFIG":
            base = self._config()
        elif head.startswith("$"):
            base = Path(self.env.get(head[1:]) or defaults[head[1:]])
        else:
            base = Path(head)
        if base.parts[:1] == ("~",):
            base = self.home.joinpath(*base.parts[1:])
        return self.here / base / rest if rest else self.here / base

    def _config(self) -> Path:
        """The folder in which applications with a window keep their settings."""
        if self.platform == "win32":
            return Path(self.env.get("APPDATA") or self.home / "AppData" / "Roaming")
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        return Path(self.env.get("XDG_CONFIG_HOME") or self.home / ".config")


@dataclass(frozen=True, kw_only=True)
class CommandFile:
    """The file of the command that asks the panel. form: plain, markdown, prompt or skill.

    arguments: what the client replaces with the words behind the command.
    """

    user: str
    project: str
    form: str
    arguments: str

    def text(self) -> str:
        """Return the whole file."""
        body = _text_of("command.md").replace("{arguments}", self.arguments)
        about = "Ask a panel of language models; see its answer, the objections that stand, and the cost."
        match self.form:
            case "plain":
                return body
            case "skill":
                return skill(body)
            case "prompt":
                return f"---\ndescription: {about}\nagent: agent\n---\n{body}"
            case _:
                return f"---\ndescription: {about}\n---\n{body}"


@dataclass(frozen=True, kw_only=True)
class Assistant:
    """An assistant, as assistants.toml describes it."""

    name: str
    title: str
    program: str
    format: str
    place: Sequence[str]
    user: Sequence[str]
    project: Sequence[str]
    reference: str
    server: Mapping[str, Any]
    wait_s: int | str
    keys: str
    call: str
    source: str
    command: CommandFile | None = None

    def file(self, around: Surroundings, project: bool = False) -> Path:
        """Return the settings file: the first that exists, else the last. Raises `UsageError`."""
        written = self.project if project else self.user
        if not written:
            raise UsageError(f"{self.title} has no settings for one project; leave --project out")
        paths = [around.path(one, _table()["defaults"]) for one in written]
        return next((path for path in paths if path.exists()), paths[-1])

    def command_path(self, around: Surroundings, project: bool = False) -> Path | None:
        """Return the file of the command that asks the panel, if the assistant has such files."""
        if self.command is None:
            return None
        written = self.command.project if project else self.command.user
        return around.path(written, _table()["defaults"])

    def entry(self, argv: Sequence[str], variables: Sequence[str], constants: Mapping[str, str]) -> Any:
        """Return the server's entry in the settings.

        argv: the command. variables: names whose values the server needs from the environment, constants:
        variables with their values, such as paths. No key is ever in an entry.
        """
        constants = {**constants, **({WAIT: str(self.wait_s)} if self.wait_s else {})}
        references = {name: self.reference.replace("NAME", name) for name in variables if self.reference}
        filled = {
            "$command": argv[0],
            "$args": list(argv[1:]),
            "$argv": list(argv),
            "$env": {**constants, **references},
            "$names": list(variables),
        }
        entry = {
            key: filled.get(value, value) if isinstance(value, str) else value
            for key, value in self.server.items()
        }
        return {key: value for key, value in entry.items() if value not in ({}, [])}

    def about_keys(self, variables: Sequence[str]) -> str:
        """Return where the client takes these variables from."""
        return self.keys.format(title=self.title, names=", ".join(f"${name}" for name in variables))

    def document(self, entry: Any) -> Any:
        """Return the settings with this entry alone."""
        if self.format == "yaml":
            head = {"name": SERVER, "version": "0.0.1", "schema": "v1"}
            return {**head, self.place[0]: [entry]}
        document: Any = {SERVER: entry}
        for key in reversed(self.place):
            document = {key: document}
        return document

    def removal(self, path: str, command_path: str | None) -> str:
        """Return how a person removes what was written. path, command_path: the files, as they are shown."""
        if self.format == "yaml":
            delete = f"delete {path}"
        else:
            table = ".".join((*self.place, SERVER))
            what = f"the tables [{table}]" if self.format == "toml" else f'"{SERVER}" in "{self.place[-1]}"'
            delete = f"delete {what} from {path}"
        return delete if command_path is None else f"{delete}, and delete {command_path}"


def assistants() -> Mapping[str, Assistant]:
    """Return every assistant by its name."""
    return {name: _assistant(name, fields) for name, fields in _table()["assistants"].items()}


def assistant(name: str) -> Assistant:
    """Return the assistant called `name`. Raises `NotFound`."""
    found = assistants()
    if name not in found:
        hint = nearest(name, found)
        raise NotFound(f"there is no assistant {name[:80]!r}{hint or '; there are: ' + ', '.join(found)}")
    return found[name]


def skill(command: str, name: str = SERVER) -> str:
    """Return an agent skill of this name. command: how the panel is asked."""
    about = (
        "Ask a panel of language models that criticise each other, when one opinion is not enough: "
        "design decisions, reviews of risky changes, competing diagnoses. Use it when the user asks for the "
        "panel, for pnyx, or for a second opinion. It costs money."
    )
    body = _text_of("skill.md").replace("{command}", command)
    return f"---\nname: {name}\ndescription: {json.dumps(about)}\n---\n{body}"


@cache
def _text_of(name: str) -> str:
    """The text of a file beside this module."""
    return files(__package__).joinpath(name).read_text("utf-8")


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(_text_of("assistants.toml"))


def _assistant(name: str, fields: Mapping[str, Any]) -> Assistant:
    command = fields.get("command")
    return Assistant(name=name, **{**fields, "command": CommandFile(**command) if command else None})
