"""Who may import whom: DESIGN's "imports run downwards only", read from the sources.

A layer is a folder of the package.
"""

from __future__ import annotations

import ast
import graphlib
import subprocess
import sys
import tomllib
from importlib import metadata
from itertools import chain

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.sources import ROOT, modules

BASE = {
    "errors",
    "_version",
    "plugins",
    "extras",
    "gc_pause",
    "isolation",
    "json_bytes",
    "phrases",
    "similar",
    "times",
}
BELOW: dict[str, set[str]] = {
    "_version": set(),
    "errors": set(),
    "plugins": {"errors", "similar"},
    "extras": {"errors"},
    "gc_pause": set(),
    "json_bytes": set(),
    "isolation": set(),
    "phrases": set(),
    "similar": set(),
    "times": set(),
    "core": BASE,
    "config": BASE | {"core"},
    "prompts": BASE | {"core"},
    "protocols": BASE | {"core", "prompts"},
    "reliability": BASE | {"core"},
    "providers": BASE | {"core", "config"},
    "tools": BASE | {"core", "config"},
    "files": BASE | {"core", "config", "tools"},
    # Outcomes are stored as objects of `reliability`.
    "store": BASE | {"core", "config", "reliability"},
}
BELOW["run"] = set(BELOW)
BELOW["testing"] = BASE | {"core", "config", "prompts", "protocols", "providers", "run"}
BELOW["evaluate"] = set(BELOW)
# Observes runs, and takes no part in them.
BELOW["telemetry"] = BASE | {"core", "config", "providers", "run", "store"}
BELOW["interfaces"] = set(BELOW)
# `pnyx/__init__.py`, which names what is public wherever it lives, and what `python -m pnyx` runs.
BELOW["face"] = set(BELOW)
BELOW["main"] = {"interfaces"}

PURE = {"core", "protocols", "reliability", "errors"}
OUTSIDE = {
    *("asyncio", "concurrent", "multiprocessing", "threading", "subprocess", "signal", "os", "pathlib"),
    *("shutil", "tempfile", "glob", "sqlite3", "socket", "ssl", "http", "urllib", "select", "selectors"),
    *("time", "secrets", "uuid", "logging"),
}
"""The parts of the standard library that touch clock, chance, loop, files or network."""

PURE_LIBRARIES = {"mpmath"}
"""Libraries that touch none of this either: mpmath calculates, see design/answers.md."""

WEB = {"fastapi", "starlette", "sse_starlette", "uvicorn"}
"""Web frameworks and servers: for `interfaces/http` and the command that starts it."""

HEAVY = {
    *("pydantic", "pydantic_ai", "openai", "anthropic", "google.genai", "mistralai", "genai_prices"),
    *("httpx", "aiohttp", "sqlalchemy", "alembic", "asyncpg", "rich", "xllamacpp"),
    *("procrastinate", "psycopg", "mcp", "mcp_types"),
    *WEB,
}


def layer(name: str) -> str:
    """The layer of a module of pnyx."""
    parts = name.split(".")
    if len(parts) == 1:
        return "face"
    return {"__main__": "main"}.get(parts[1], parts[1])


def test_a_module_imports_only_from_its_own_layer_and_those_below() -> None:
    wrong = [
        f"{m.where}:{i.line} {layer(m.name)} imports {layer(i.target)}: {i.target}"
        for m in modules()
        for i in m.imports
        if i.target.split(".")[0] == "pnyx" and layer(i.target) not in {layer(m.name), *BELOW[layer(m.name)]}
    ]
    assert not wrong, "\n".join(wrong)


def test_no_two_modules_need_each_other() -> None:
    names = {m.name for m in modules()}
    needs = {m.name: {i.target for i in m.imports if i.runs and i.target in names} for m in modules()}
    try:
        graphlib.TopologicalSorter(needs).prepare()
    except graphlib.CycleError as exc:
        pytest.fail(" <- ".join(exc.args[1]))


FOLDERS = {
    "pnyx.core.answers.": ("words", "numbers", "maths", "code", "language", "reading", "same", "replies"),
    "pnyx.interfaces.": (
        *("requests", "integrate", "views render", "access records", "service", "process", "library"),
        *("mcp", "http", "cli"),
    ),
}
"""The folders of a part, lowest first. Those of one entry may import each other."""


@pytest.mark.parametrize("start", FOLDERS)
def test_the_folders_of_a_part_import_downwards(start: str) -> None:
    depth = start.count(".")
    height = {name: at for at, names in enumerate(FOLDERS[start]) for name in names.split()}
    wrong = [
        f"{m.where}:{i.line} imports {i.target}"
        for m in modules()
        if m.name.startswith(start)
        for i in m.imports
        if i.target.startswith(start)
        and height[i.target.split(".")[depth]] > height[m.name.split(".")[depth]]
    ]
    assert not wrong, "\n".join(wrong)


def test_the_pure_layers_use_only_the_part_of_the_standard_library_that_touches_nothing() -> None:
    wrong = [
        f"{m.where}:{i.line} imports {i.target}"
        for m in modules()
        if layer(m.name) in PURE
        for i in m.imports
        if (head := i.target.split(".")[0]) != "pnyx"
        and (head in OUTSIDE or head not in {*sys.stdlib_module_names, *PURE_LIBRARIES})
    ]
    assert not wrong, "\n".join(wrong)


def test_an_import_inside_a_function_gives_its_reason() -> None:
    wrong = [
        f"{m.where}:{i.line} imports {i.target} inside a function; the reason belongs beside it"
        for m in modules()
        for i in m.imports
        if i.in_function and not i.reasoned
    ]
    assert not wrong, "\n".join(wrong)


def test_what_is_imported_is_what_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    declared: dict[str, set[str]] = {}
    for requirement in map(Requirement, wanted):
        if requirement.name != "pnyx":
            declared.setdefault(requirement.name, set()).update(_brings(requirement))
    holders = metadata.packages_distributions()
    heads = {i.target.split(".")[0] for m in modules() for i in m.imports} - {"pnyx"}
    imported = {
        head: set(map(canonicalize_name, holders.get(head, [head])))
        # `compression` is part of Python from 3.14 on.
        for head in heads - sys.stdlib_module_names - {"compression"}
    }
    brought = set().union(*declared.values())
    assert not {head for head, names in imported.items() if not names & brought}, "imported, not declared"
    # asyncpg is named to SQLAlchemy in a URL, never imported.
    used = set().union({"asyncpg"}, *imported.values())
    assert not {name for name, names in declared.items() if not names & used}, "declared, not imported"


def _brings(requirement: Requirement) -> set[str]:
    """The distributions that a requirement names: its own, and those of the extras it asks for."""
    extras = [
        canonicalize_name(r.name)
        for r in map(Requirement, metadata.requires(requirement.name) or [])
        # A metapackage pins the distribution that holds its module.
        if (r.marker and any(r.marker.evaluate({"extra": extra}) for extra in requirement.extras))
        or (not r.marker and str(r.specifier).startswith("=="))
    ]
    return {canonicalize_name(requirement.name), *extras}


FACES = ("cli", "http", "library", "mcp")
"""What people and programs meet, in `interfaces/`; `service` and its neighbours stand below."""


def face(name: str) -> str | None:
    """The part of `interfaces/` that a module is in; None for one that all parts share."""
    parts = name.split(".")
    return parts[2] if parts[:2] == ["pnyx", "interfaces"] and parts[2:3] and parts[2] in FACES else None


def test_an_interface_imports_no_other_and_what_they_share_imports_none() -> None:
    # A command starts each server; the server has the tools of MCP as one of its routes.
    allowed = {
        ("pnyx.interfaces.cli.actions.serve", "pnyx.interfaces.http.app"),
        ("pnyx.interfaces.cli.actions.serve", "pnyx.interfaces.http.listening"),
        ("pnyx.interfaces.cli.commands.mcp", "pnyx.interfaces.mcp.stdio"),
        ("pnyx.interfaces.http.mcp", "pnyx.interfaces.mcp.server"),
    }
    wrong = [
        f"{m.where}:{i.line} imports {i.target}"
        for m in modules()
        if m.name.startswith("pnyx.interfaces.")
        for i in m.imports
        if face(i.target) not in (None, face(m.name)) and (m.name, i.target) not in allowed
    ]
    assert not wrong, "\n".join(wrong)


def test_http_takes_from_mcp_only_what_makes_its_server() -> None:
    (module,) = (m for m in modules() if m.name == "pnyx.interfaces.http.mcp")
    taken = {
        alias.name
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom) and node.level and (node.module or "").startswith("mcp.")
        for alias in node.names
    }
    assert taken == {"UnderWay", "create_server"}


def test_only_http_and_the_command_that_starts_it_import_a_web_framework() -> None:
    wrong = [
        f"{m.where}:{i.line} imports {i.target}"
        for m in modules()
        if face(m.name) != "http" and m.name != "pnyx.interfaces.cli.actions.serve"
        for i in m.imports
        if i.target.partition(".")[0] in WEB
    ]
    assert not wrong, "\n".join(wrong)


def test_only_the_service_reaches_a_runner_or_a_database() -> None:
    # The library's callers share a runner between calls, which is theirs to open and name.
    allowed = {"service", "records", "library"}
    wrong = [
        f"{m.where}:{line} {what}"
        for m in modules()
        if m.name.startswith("pnyx.interfaces.") and m.name.split(".")[2] not in allowed
        for line, what in (
            *((i.line, f"imports {i.target}") for i in m.imports if i.target == "pnyx.run.runner"),
            *((i.line, f"imports {i.target}") for i in m.imports if i.target == "pnyx.store.engine"),
            *(
                (node.lineno, f"reads .{node.attr}")
                for node in ast.walk(m.tree)
                if isinstance(node, ast.Attribute) and node.attr in ("database", "runner")
            ),
            *(
                (node.lineno, "names Database")
                for node in ast.walk(m.tree)
                if isinstance(node, ast.Name) and node.id == "Database"
            ),
        )
    ]
    assert not wrong, "\n".join(wrong)


SHARED = (
    *("service.run_service", "service.follow", "records.runs", "requests.schemas", "access.keys", "library"),
    *("mcp.catalogue", "mcp.connection"),
)


def test_what_interfaces_share_starts_without_a_web_framework() -> None:
    # One after another in one interpreter: none loads a web framework if they all load none.
    code = f"""if True:
        import importlib, sys
        for name in sys.argv[1:]:
            importlib.import_module("pnyx.interfaces." + name)
            print(name, sorted({WEB!r} & set(sys.modules)))"""
    done = subprocess.run([sys.executable, "-c", code, *SHARED], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"{name} []" for name in SHARED]


@pytest.mark.parametrize(
    "code",
    [
        "import pnyx",
        "import pnyx.interfaces.cli",
        "import sys\nfrom pnyx.interfaces.cli import main\nsys.argv = ['pnyx', '--help']\nmain()",
    ],
    ids=["import pnyx", "import the command line", "pnyx --help"],
)
def test_start_up_loads_no_provider_database_or_renderer(code: str) -> None:
    tell = "import atexit, sys\natexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
    done = subprocess.run([sys.executable, "-c", tell + code], capture_output=True, text=True, check=False)
    loaded = done.stderr.split()
    assert done.returncode == 0, done.stderr
    assert "pnyx" in loaded
    assert not HEAVY & set(loaded)
