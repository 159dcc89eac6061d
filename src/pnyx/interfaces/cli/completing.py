"""What a shell completes: runs, models, panels. Reads files with the standard library, for speed.

A file that cannot be read completes nothing: the command itself says what is wrong with it.
"""

from __future__ import annotations

import os
import sqlite3
import tomllib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from ...config.paths import config_dir, data_dir
from ...errors import PnyxError
from ..render.terminal import clip

__all__ = ["complete_models", "complete_panels", "complete_runs", "complete_weights"]

PACKED = "\x01"
"""The first character of a question that is stored packed, as `store.documents.packing` has it."""
RECENT = 50
"""The newest runs, which are completed."""


def complete_runs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The ids of the newest runs, with their questions."""
    file = _database()
    if file is None or not file.is_file():
        return []
    query = "SELECT id, status, question FROM runs WHERE id LIKE ? ORDER BY created_at DESC LIMIT ?"
    try:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=0.2)) as database:
            rows = database.execute(query, (incomplete.replace("%", "") + "%", RECENT)).fetchall()
    except sqlite3.Error:
        return []
    return [CompletionItem(run, help=f"{status}: {_start(question)}") for run, status, question in rows]


def _start(question: str) -> str:
    # The library that unpacks a long one takes longer to load than a completion may.
    return "a long question" if question.startswith(PACKED) else clip(question, 60)


def complete_panels(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The names of the saved panels."""
    names = {name: ", ".join(saved.get("seats", ())) for name, saved in _tables("panels")}
    return [CompletionItem(name, help=names[name]) for name in sorted(names) if name.startswith(incomplete)]


def complete_weights(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The embedded models that can be downloaded."""
    # As light as this module.
    from ...providers.embedded.weights_table import KNOWN

    return [CompletionItem(name) for name in KNOWN if name.startswith(incomplete)]


def complete_models(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The models of the settings, and the usual ones of every vendor."""
    # As light as this module.
    from ...providers.usual_models import FAST, STRONG

    refs = [name for name, _ in _tables("models")]
    for settings in _settings():
        panels = [settings.get("panel"), *dict(settings.get("panels") or {}).values()]
        refs += [str(seat).partition("*")[0] for panel in panels if panel for seat in panel.get("seats", ())]
    refs += [f"{kind}:{model}" for table in (STRONG, FAST) for kind in table for model in table[kind]]
    return [CompletionItem(ref) for ref in dict.fromkeys(refs) if ref.startswith(incomplete)]


def _settings() -> Iterator[dict[str, Any]]:
    """The settings files that exist, as they are."""
    named = os.environ.get("PNYX_CONFIG")
    try:
        files = [config_dir() / "config.toml", Path(named).expanduser() if named else Path("pnyx.toml")]
    except (PnyxError, RuntimeError):
        return
    for file in files:
        try:
            yield tomllib.loads(file.read_text("utf-8"))
        except (OSError, ValueError):
            continue


def _tables(section: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for settings in _settings():
        tables = settings.get(section)
        if isinstance(tables, dict):
            yield from ((name, table) for name, table in tables.items() if isinstance(table, dict))


def _database() -> Path | None:
    """The file of the database, if it is one."""
    urls = [settings.get("storage", {}).get("url") for settings in _settings()]
    url = os.environ.get("PNYX_DATABASE") or next(
        (one for one in reversed(urls) if isinstance(one, str)), None
    )
    try:
        if url is None:
            return data_dir() / "pnyx.db"
    except PnyxError:
        return None
    scheme, colon, path = url.partition("://")
    if not colon:
        return Path(url).expanduser()
    return Path(path[1:]) if scheme == "sqlite" else None
