"""The examples that stand in a page of the documentation, run as a reader would run them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text("utf-8"), re.DOTALL)


def printed(example: str, folder: Path) -> list[str]:
    """The lines that it prints, with a database in `folder`."""
    done = subprocess.run(
        [sys.executable, "-c", example],
        capture_output=True,
        text=True,
        env={**os.environ, "PNYX_DATABASE": str(folder / "a.db")},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def linked(page: Path) -> list[Path]:
    """Where its relative links lead."""
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
    return [page.parent / target for target in targets if "://" not in target]
