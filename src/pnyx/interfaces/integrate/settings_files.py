"""Settings files of other programs: the text of one with an entry more, and how it is written."""

from __future__ import annotations

import json
import stat
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AbstractTable

from ...config.replace_file import replace_file
from ...errors import UsageError
from . import jsonc
from .assistants import SERVER, Assistant

__all__ = ["has_entry", "merged", "read", "shown", "write"]

REMOTE = ("url", "httpUrl", "serverUrl")
"""Keys of an entry for a server that is reached over HTTP."""
MOST_BYTES = 64 << 20


def shown(assistant: Assistant, entry: Any) -> str:
    """Return the settings with this entry alone, in the format of the assistant."""
    document = assistant.document(entry)
    match assistant.format:
        case "toml":
            return tomlkit.dumps(document)
        case "yaml":
            return "".join(_yaml(document))
        case _:
            return f"{json.dumps(document, indent=2, ensure_ascii=False)}\n"


def merged(assistant: Assistant, text: str, entry: Any) -> str:
    """Return the text of a settings file with the entry in it; everything else stays, comments too.

    Fields of an existing entry that `entry` does not have stay as well. Raises `UsageError` if the text is
    broken, or has such an entry for a server elsewhere.
    """
    if assistant.format == "yaml":
        return shown(assistant, entry)  # the whole file is ours
    old = _entry(assistant, text)
    if isinstance(old, Mapping) and (key := next((key for key in REMOTE if key in old), None)):
        raise UsageError(
            f"it has a server {SERVER!r} with {key}; remove that entry or rename it, and try again"
        )
    path = (*assistant.place, SERVER)
    wanted = _with(_value(assistant, text), path, entry)
    for put in (_append_toml, _put_toml) if assistant.format == "toml" else (jsonc.put,):
        try:
            after = put(text, path, entry)
            if _value(assistant, after) == wanted:
                return after
        except (jsonc.JsoncError, TOMLKitError, tomllib.TOMLDecodeError):
            continue
    raise UsageError("the entry cannot be added without a change of something else; add it by hand")


def has_entry(assistant: Assistant, text: str) -> bool:
    """Whether a settings file has an entry of ours. Raises `UsageError` if it is broken."""
    return bool(text.strip()) if assistant.format == "yaml" else _entry(assistant, text) is not None


def read(path: Path) -> str | None:
    """Return the text of a file, or None if there is none. Raises `UsageError`."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
            # A pipe or a device may never end.
            raise UsageError(f"{path} is no regular file; nothing was changed")
        if status.st_size > MOST_BYTES:
            raise UsageError(f"{path} is longer than {MOST_BYTES >> 20} MiB; nothing was changed")
        return path.read_bytes().decode("utf-8-sig" if path.suffix == ".toml" else "utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8; nothing was changed") from None
    except OSError as exc:
        raise UsageError(f"{path} cannot be read: {exc.strerror or exc}") from None


def write(path: Path, text: str) -> Path | None:
    """Write a file at once, and return the copy of the earlier one, if there was one. Raises `UsageError`."""
    try:
        # A link to a file in a repository of settings stays one.
        path = path.resolve()
        path.parent.mkdir(parents=True, exist_ok=True)
        backup = _back_up(path)
        replace_file(path, text, 0o600 if backup is None else path.stat().st_mode & 0o777)
    except OSError as exc:
        raise UsageError(f"{path} cannot be written: {exc.strerror or exc}") from None
    return backup


def _back_up(path: Path) -> Path | None:
    """Copy a file beside itself, under a name that is free."""
    try:
        old = path.read_bytes()
    except FileNotFoundError:
        return None
    number = 1
    while (copy := path.with_name(f"{path.name}.bak{'' if number == 1 else number}")).exists():
        if copy.read_bytes() == old:
            return copy
        number += 1
    copy.touch(mode=path.stat().st_mode & 0o777, exist_ok=False)
    try:
        copy.write_bytes(old)
    except OSError:
        copy.unlink()  # half a copy would be taken for a whole one
        raise
    return copy


def _value(assistant: Assistant, text: str) -> Any:
    return tomllib.loads(text) if assistant.format == "toml" else jsonc.parse(text)


def _entry(assistant: Assistant, text: str) -> Any:
    try:
        value = _value(assistant, text)
    except (jsonc.JsoncError, tomllib.TOMLDecodeError) as exc:
        raise UsageError(f"it cannot be read: {exc}") from None
    for key in (*assistant.place, SERVER):
        if not isinstance(value, Mapping):
            raise UsageError(f"it has something else where a table with {key!r} belongs")
        if key not in value:
            return None
        value = value[key]
    return value


def _with(old: Any, path: Sequence[str], value: Any) -> Any:
    """Return a document with `value` at `path`; tables on both sides are merged."""
    if path:
        return {**old, path[0]: _with(old.get(path[0], {}), path[1:], value)}
    if not (isinstance(old, Mapping) and isinstance(value, Mapping)):
        return value
    return {**old, **{key: _with(old.get(key), (), part) for key, part in value.items()}}


def _append_toml(text: str, path: Sequence[str], value: Any) -> str:
    """Add a table at the end, which changes nothing before it."""
    document = value
    for key in reversed(path):
        document = {key: document}
    newline = "\r\n" if "\r\n" in text else "\n"
    head = f"{text.rstrip()}{newline * 2}" if text.strip() else ""
    return head + tomlkit.dumps(document).replace("\n", newline)


def _put_toml(text: str, path: Sequence[str], value: Any) -> str:
    document = tomlkit.parse(text)
    table: Any = document
    for depth, key in enumerate(path[:-1]):
        if key not in table:
            # A table above others has no heading of its own.
            table[key] = tomlkit.table(is_super_table=depth < len(path) - 1)
        table = table[key]
    _merge(table, path[-1], value)
    return tomlkit.dumps(document)


def _merge(table: Any, key: str, value: Any) -> None:
    old = table.get(key)
    if isinstance(value, Mapping) and isinstance(old, Mapping | AbstractTable):
        for name, part in value.items():
            _merge(old, name, part)
    elif old != value:
        table[key] = value


def _yaml(document: Mapping[str, Any]) -> list[str]:
    """Return the lines of the file of Continue. Texts are quoted as in JSON, which YAML reads too."""
    lines: list[str] = []
    for key, value in document.items():
        if not isinstance(value, list):
            lines.append(f"{key}: {json.dumps(value, ensure_ascii=False)}\n")
            continue
        lines.append(f"{key}:\n")
        for entry in value:
            for number, (name, part) in enumerate(entry.items()):
                lines.append(
                    f"{'    ' if number else '  - '}{name}: {json.dumps(part, ensure_ascii=False)}\n"
                )
    return lines
