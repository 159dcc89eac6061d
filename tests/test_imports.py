"""Who may import whom: DESIGN's "imports run downwards only", read from the sources.

A layer is a folder of the package.
"""

from __future__ import annotations

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

BASE = {"errors", "_version"}
BELOW: dict[str, set[str]] = {
    "_version": set(),
    "errors": set(),
    "core": BASE,
    "config": BASE | {"core"},
    "prompts": BASE | {"core"},
    "protocols": BASE | {"core", "prompts"},
    "reliability": BASE | {"core"},
    "providers": BASE | {"core", "config"},
    "tools": BASE | {"core", "config"},
    # What became of decisions is stored as reliability knows it.
    "store": BASE | {"core", "config", "reliability"},
}
BELOW["run"] = set(BELOW)
BELOW["evaluate"] = set(BELOW)
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

HEAVY = {
    *("pydantic", "pydantic_ai", "openai", "anthropic", "google.genai", "mistralai", "genai_prices"),
    *("httpx", "aiohttp", "sqlalchemy", "alembic", "asyncpg", "rich", "xllamacpp"),
    *("procrastinate", "psycopg"),
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


def test_the_pure_layers_use_only_the_part_of_the_standard_library_that_touches_nothing() -> None:
    wrong = [
        f"{m.where}:{i.line} imports {i.target}"
        for m in modules()
        if layer(m.name) in PURE
        for i in m.imports
        if (head := i.target.split(".")[0]) != "pnyx"
        and (head in OUTSIDE or head not in sys.stdlib_module_names)
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
    declared = {r.name: _brings(r) for r in map(Requirement, wanted)}
    holders = metadata.packages_distributions()
    heads = {i.target.split(".")[0] for m in modules() for i in m.imports} - {"pnyx"}
    imported = {
        head: set(map(canonicalize_name, holders.get(head, [head])))
        for head in heads - sys.stdlib_module_names
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
