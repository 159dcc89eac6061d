"""What STYLE promises of every page, as far as it can be counted."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.support.sources import PACKAGE, ROOT, modules, tracked

# Each is written so that it does not match itself.
FOREIGN = re.compile(
    r"pythonhoste[d]|pypi[.]or[g]/|npmj[s][.]org|deb[.]debia[n]"
    r"|(?<![\w.])/(wor[k]|far[m]|opt/wheel[s]|opt/pyp[i]|tmp/[w]|tmp/bas[h][^/]*)/"
)
"""Registry hosts, and folders of the machine that somebody happened to work on."""


def test_a_page_has_under_400_lines() -> None:
    pages = [path for path in tracked() if path.suffix in (".py", ".ts", ".svelte", ".css", ".html")]
    assert not [_where(path) for path in pages if len(_lines(path)) >= 400]


def test_a_protocol_has_under_150_lines() -> None:
    assert not [_where(path) for path in (PACKAGE / "protocols").glob("*.py") if len(_lines(path)) >= 150]


def test_a_function_has_under_60_lines() -> None:
    long = [
        f"{m.where}:{f.lineno} {f.name}"
        for m in modules()
        for f in m.functions
        if (f.end_lineno or f.lineno) - f.lineno + 1 >= 60
    ]
    assert not long


def test_no_file_names_a_registry_host_or_a_folder_of_one_machine() -> None:
    found = [
        f"{_where(path)}:{n} {match[0]}"
        for path in tracked()
        for n, line in enumerate(_lines(path), 1)
        if (match := FOREIGN.search(line))
    ]
    assert not found


def test_every_prompt_is_used() -> None:
    ids = {
        p.relative_to(PACKAGE / "prompts").with_suffix("").as_posix()
        for p in PACKAGE.rglob("prompts/**/*.md")
    }
    # A short variant is loaded with the prompt it belongs to.
    texts = [
        {n.value for n in ast.walk(module.tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
        for module in modules()
    ]
    unused = {id for id in ids if not any(_names(one, id.removesuffix(".short")) for one in texts)}
    assert ids
    assert not unused


def _names(texts: set[str], id: str) -> bool:
    """Whether a module with these strings names the prompt: whole, or as a folder and a name beside it."""
    folder, _, name = id.rpartition("/")
    return id in texts or {f"{folder}/", name} <= texts


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").splitlines()


def _where(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
