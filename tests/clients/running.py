"""Run the script of a client in a process, which prints one line of JSON for each check."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.clients.conftest import Served

__all__ = ["LIMIT_S", "run_script"]

LIMIT_S = 900
SLOW = {"PNYX_SLOW": "1"} if "PNYX_SLOW" in os.environ else {}
"""Whether checks that take minutes run too. Read now: a test's environment has no settings of ours."""


def run_script(
    interpreter: str | Path, script: str | Path, folder: Path, served: Served, environment: Mapping[str, str]
) -> list[dict[str, str]]:
    """Run a script in `folder` against a server; return its lines, see `tests/clients/scripts`.

    environment: more variables. The test fails if the script does, or prints nothing.
    """
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "HOME") if name in os.environ}
    quiet = {"NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [interpreter, script],
        cwd=folder,
        env={**kept, **SLOW, **served.environment, **quiet, **environment},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines or done.returncode:
        pytest.fail(done.stderr[-3000:], pytrace=False)
    return lines
