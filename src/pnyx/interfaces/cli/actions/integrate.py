"""The action of `pnyx integrate`."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ....config.schema import Settings
from ....config.stored_keys import stored
from ....errors import MissingExtra, UsageError
from ....extras import need
from ....providers.catalogue import STRONG
from ....providers.installed import key_variables
from ...integrate.assistants import Assistant, Surroundings, assistant, assistants
from ...integrate.settings_files import has_entry, merged, read, shown, write
from ...process.open_settings import open_settings
from ...render.terminal import columns
from ..terminal.output import Output
from ..terminal.plain import paragraph

__all__ = ["integrate_assistant", "list_assistants"]

FOLDERS = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")
"""Variables with folders of pnyx, which clients do not pass on."""
BUS = "DBUS_SESSION_BUS_ADDRESS"
NARROWEST = 24
"""Least characters for the path of a file in the list; below, the list goes without."""
WIDE = 200
"""The width of the list if it is not on a terminal."""


@dataclass(frozen=True)
class _File:
    """A file to write. old: its text, if it is there."""

    path: Path
    old: str | None
    new: str


def list_assistants(output: Output, write: bool, project: bool, as_json: bool) -> int:
    if write or project:
        raise UsageError("name the assistant: pnyx integrate NAME --write; pnyx integrate lists them")
    around = Surroundings.of_process()
    rows = [(one, one.file(around), _state(one, around)) for one in assistants().values()]
    if as_json:
        output.json(
            [
                {"name": one.name, "title": one.title, "state": state, "file": str(path)}
                for one, path, state in rows
            ]
        )
        return 0
    width = output.out.width or WIDE
    table = [["name", "assistant", "state", "file"]]
    table += [[one.name, one.title, state, _short(path, around)] for one, path, state in rows]
    taken = sum(max(len(row[column]) for row in table) + 2 for column in range(3))
    for number, row in enumerate(table):
        row[3] = row[3] if len(row[3]) <= width - taken else f"…{row[3][taken + 1 - width :]}"
        table[number] = row if width - taken >= NARROWEST else row[:3]
    for number, line in enumerate(columns(table, width=output.out.width, least=(1,))):
        output.out.line(line, *(() if number else ("bold",)))
    hint = "set one up with: pnyx integrate NAME --write; other programs: docs/integrations.md"
    output.out.lines(paragraph(output.out, hint, "dim"))
    return 0


def integrate_assistant(output: Output, name: str, write: bool, project: bool, as_json: bool) -> int:
    one, around = assistant(name), Surroundings.of_process()
    variables, constants = ([], {}) if project else _needed(open_settings(), around)
    entry = one.entry(_argv(project), variables, constants)
    path = one.file(around, project)
    if not write:
        if as_json:
            output.json({"name": one.name, "file": str(path), "settings": one.document(entry)})
        else:
            output.out.write(shown(one, entry))
            output.note(f"this belongs in {_short(path, around)}; to write it: {_command(one, project)}")
            _explain(output, one, variables)
        return 0
    done = [_written(file) for file in _files(one, around, project, entry)]
    if as_json:
        output.json({"name": one.name, "file": str(path), "settings": one.document(entry), "files": done})
        return 0
    for file in done:
        where = _short(Path(file["file"]), around)
        kept = f"; the file as it was: {_short(Path(file['backup']), around)}" if file["backup"] else ""
        output.out.line(f"{'wrote' if file['changed'] else 'unchanged:'} {where}{kept}")
    output.note(f"restart {one.title}, then: {one.call}")
    _explain(output, one, variables)
    command = one.command_path(around, project)
    removal = one.removal(_short(path, around), None if command is None else _short(command, around))
    output.note(f"to remove it: {removal}")
    return 0


def _files(one: Assistant, around: Surroundings, project: bool, entry: Any) -> list[_File]:
    """Return the files to write. All are read before one is written. Raises `UsageError`."""
    path = one.file(around, project)
    old = read(path)
    try:
        files = [_File(path, old, merged(one, old or "", entry))]
    except UsageError as exc:
        raise UsageError(f"{path} was not changed: {exc}") from None
    if one.command is not None and (place := one.command_path(around, project)) is not None:
        files.append(_File(place, read(place), one.command.text()))
    return files


def _written(file: _File) -> dict[str, Any]:
    changed = file.old != file.new
    backup = write(file.path, file.new) if changed else None
    return {"file": str(file.path), "changed": changed, "backup": None if backup is None else str(backup)}


def _state(one: Assistant, around: Surroundings) -> str:
    """Return whether an assistant has an entry of ours, and else whether it seems to be on this machine."""
    path = one.file(around)
    try:
        text = read(path)
        if text is not None and has_entry(one, text):
            return "set up"
    except UsageError:
        return "broken file"
    found = (one.program and shutil.which(one.program)) or path.exists() or _folder(one, path).exists()
    return "found" if found else "not found"


def _folder(one: Assistant, path: Path) -> Path:
    # Continue's file stands in a folder of such files.
    return path.parent.parent if one.format == "yaml" else path.parent


def _argv(project: bool) -> list[str]:
    """Return the command that starts the server. Programs with a window do not have the shell's $PATH."""
    if project:
        return ["pnyx", "mcp"]  # the file is for other machines too
    found, own = shutil.which("pnyx"), shutil.which("pnyx", path=os.path.dirname(sys.executable))
    if found and own and not os.path.samefile(found, own):
        found = own  # the first on $PATH is of another installation
    return [os.path.abspath(found), "mcp"] if found else [sys.executable, "-P", "-m", "pnyx", "mcp"]


def _needed(settings: Settings, around: Surroundings) -> tuple[list[str], dict[str, str]]:
    """Return the variables with keys that are set, and the folders and files that are not the usual ones."""
    env = around.env
    constants = {name: env[name] for name in FOLDERS if os.path.isabs(env.get(name, ""))}
    if named := env.get("PNYX_CONFIG"):
        constants["PNYX_CONFIG"] = str(around.here / Path(named).expanduser())
    # The keyring of a desktop is reached over its bus, whose address clients do not pass on either.
    bus = (BUS,) if stored() else ()
    secret = dict.fromkeys((*_key_variables(settings), "PNYX_DATABASE", *bus))
    return [name for name in secret if env.get(name)], constants


def _key_variables(settings: Settings) -> Iterator[str]:
    for provider in settings.providers.values():
        yield from key_variables(provider)
    yield from settings.tools.web_search.key_variables
    for kind in STRONG:
        yield from key_variables(settings.provider(kind))


def _explain(output: Output, one: Assistant, variables: list[str]) -> None:
    """Say where the server gets its keys from, and what it needs that is not installed."""
    try:
        need("mcp", f"{one.title} cannot start `pnyx mcp` yet: it")
    except MissingExtra as exc:
        output.error(str(exc))
    if keys := [name for name in variables if name != BUS]:
        output.note(one.about_keys(keys))


def _command(one: Assistant, project: bool) -> str:
    return f"pnyx integrate {one.name} --write{' --project' if project else ''}"


def _short(path: Path, around: Surroundings) -> str:
    try:
        return str(Path("~") / path.relative_to(around.home))
    except ValueError:
        return str(path)
