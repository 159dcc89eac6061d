"""Run the examples of a documentation page, as a reader would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.support.sources import ROOT


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text("utf-8"), re.DOTALL)


def run_example(example: str, folder: Path) -> list[str]:
    """Run an example with a database in `folder`, and return the lines it prints."""
    done = subprocess.run(
        [sys.executable, "-c", example],
        capture_output=True,
        text=True,
        env={**os.environ, "PNYX_DATABASE": str(folder / "a.db")},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def type_errors(examples: Sequence[str], folder: Path) -> str:
    """Return what mypy reports for examples, with the settings of this project."""
    for n, example in enumerate(examples):
        (folder / f"example_{n}.py").write_text(example, "utf-8")
    return _mypy(*map(str, folder.glob("example_*.py")))


def type_errors_of_packages(folder: Path) -> str:
    """Return what mypy reports for the packages in a folder, with the settings of this project."""
    packages = [path.parent.name for path in folder.glob("*/__init__.py")]
    assert packages
    return _mypy(*(f"--package={name}" for name in packages), MYPYPATH=str(folder))


def _mypy(*args: str, **environment: str) -> str:
    """Run mypy where `make types` does, so that it has the types of `pnyx` in its cache."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", *args],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environment},
        check=False,
    )
    return done.stdout + done.stderr


def links(page: Path) -> list[Path]:
    """Return the targets of a page's relative links."""
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
    return [page.parent / target for target in targets if "://" not in target]
