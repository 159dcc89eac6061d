"""Packages that register protocols or providers: installed into a folder that is on the import path."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

from pnyx import plugins

__all__ = ["Install", "installing"]

Install: TypeAlias = Callable[[str, str, str, str], None]
"""Installs a package with one module and one entry point: (package, group, entry point, module's text)."""


@contextmanager
def installing(site: Path) -> Iterator[Install]:
    """Return a function that installs packages into `site`, which is on the import path until exit."""
    modules: set[str] = set()

    def install(package: str, group: str, point: str, text: str) -> None:
        info = site / f"{package.replace('-', '_')}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[{group}]\n{point}\n")
        module = point.partition("= ")[2].partition(":")[0]
        (site / f"{module}.py").write_text(text)
        modules.add(module)
        plugins.forget()

    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(site)
        yield install
    for module in modules:
        sys.modules.pop(module, None)
    plugins.forget()
