"""The start-up time of pnyx: `python -m benchmarks.startup [--tries N]`.

For each command: the CPU seconds of its process and the seconds until its first output, minimum of N tries:
`pnyx --help`; `pnyx mcp` until it has answered `initialize` and `tools/list`, then closed; `import pnyx`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

PNYX = str(Path(sys.executable).with_name("pnyx"))
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}
MESSAGES: tuple[dict[str, Any], ...] = (
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
)
LINES = "".join(json.dumps(message) + "\n" for message in MESSAGES)
COMMANDS = {
    "import pnyx": ([sys.executable, "-c", "import pnyx"], "", 0),
    "pnyx --help": ([PNYX, "--help"], "", 1),
    "pnyx mcp": ([PNYX, "mcp"], LINES, 2),
}
"""Name -> command, its input, and the number of output lines to wait for."""


def measure(command: list[str], text: str, lines: int, folder: Path) -> tuple[float, float]:
    """CPU seconds of the process, and seconds until it has written `lines` lines."""
    env = {**os.environ, "PNYX_DATABASE": str(folder / "runs.db"), "XDG_CONFIG_HOME": str(folder)}
    start, before = time.perf_counter(), os.times()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(text)
        process.stdin.flush()
        for _ in range(lines):
            assert process.stdout.readline()
        ready = time.perf_counter() - start
        process.communicate()
    assert process.returncode == 0, f"{command} ended with {process.returncode}"
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return cpu, ready if lines else time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=7)
    tries = parser.parse_args().tries
    with tempfile.TemporaryDirectory() as folder:
        for name, (command, text, lines) in COMMANDS.items():
            taken = [measure(command, text, lines, Path(folder)) for _ in range(tries + 1)][1:]
            cpu, ready = (min(values) for values in zip(*taken, strict=True))
            print(f"{name:12} {cpu:.2f} s of CPU, first answer after {ready:.2f} s")


if __name__ == "__main__":
    main()
