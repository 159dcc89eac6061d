"""Opens the tools that the settings enable; one that is not available is off, with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import MissingExtra
from ..extras import need
from . import Tool, Toolbox, ToolError

if TYPE_CHECKING:
    from ..config.schema import SearchSettings, ToolsSettings
    from .engines import Engine

__all__ = ["enabled_tools", "open_search", "open_tools"]

SEATS = ("web_search", "read_page", "read_file", "run_python")
"""The tools that seats may call."""


def open_tools(
    settings: ToolsSettings,
    env: Mapping[str, str],
    names: Iterable[str] = SEATS,
    *,
    cwd: Path | None = None,
) -> tuple[Toolbox, tuple[str, ...]]:
    """Open the tools called `names`. Return them, and one line with the reason for each that is off.

    env: where keys are read from. cwd: the folder that relative roots start in. The code sandbox is tried
    once, which takes some tenths of a second: call this in a thread if the event loop serves others.
    """
    here = cwd or Path.cwd()
    openers: Mapping[str, Callable[[], Tool]] = {
        "find_sources": lambda: _find_sources(settings, env),
        "web_search": lambda: _web_search(settings, env),
        "read_page": _read_page,
        "read_file": lambda: _read_file(settings, here),
        "run_python": lambda: _run_python(settings),
    }
    tools: dict[str, Tool] = {}
    notes = []
    for name in names:
        try:
            tools[name] = openers[name]()
        except (ToolError, MissingExtra) as exc:
            notes.append(f"{name} is off: {exc}")
    return Toolbox(tools), tuple(notes)


def enabled_tools(settings: ToolsSettings) -> tuple[str, ...]:
    """Return the names of the tools that the settings enable, available here or not."""
    search = () if settings.web_search.backend == "none" else ("web_search",)
    code = ("run_python",) if settings.code_execution.enabled else ()
    return (*search, "read_page", "read_file", *code)


def open_search(settings: SearchSettings, env: Mapping[str, str]) -> Engine:
    """Return the configured search service, for `--ground`. Raises `ToolError` with what to configure."""
    # aiohttp is loaded only by runs that use the web.
    from .engines import open_engine

    return open_engine(settings, env)


def _web_search(settings: ToolsSettings, env: Mapping[str, str]) -> Tool:
    # As above.
    from .web_search import WebSearch

    return WebSearch(open_search(settings.web_search, env), settings.web_search.max_results)


def _find_sources(settings: ToolsSettings, env: Mapping[str, str]) -> Tool:
    # As above.
    from .web_search import FindSources

    return FindSources(open_search(settings.web_search, env), settings.web_search.max_results)


def _read_page() -> Tool:
    # As above.
    from .read_page import ReadPage

    need("tools", "the main text of a page", "trafilatura")
    return ReadPage()


def _read_file(settings: ToolsSettings, here: Path) -> Tool:
    # As above: a run loads only what it uses.
    from .read_file import ReadFile

    return ReadFile([here / Path(root).expanduser() for root in settings.file_read.roots])


def _run_python(settings: ToolsSettings) -> Tool:
    # Only runs that execute code need it.
    from .run_python import RunPython, open_sandbox

    if not settings.code_execution.enabled:
        raise ToolError("tools.code_execution.enabled is false")
    return RunPython(open_sandbox(settings.code_execution), settings.code_execution.timeout_s)
