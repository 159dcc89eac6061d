"""The start-up time of pnyx, and its time from the last reply to its exit: `python -m benchmarks.startup`.

First, for each of `import pnyx`, `pnyx --help` and `pnyx mcp` (until it has answered `initialize` and
`tools/list`, then closed): the CPU seconds of its process and the seconds until its first output, minimum of
N tries.

Then, for `pnyx ask` with three hosted models and for bare scripts, against a scripted host in another
process: seconds and CPU seconds until the first request arrives at the host, and from the last reply until
the process has ended. Medians of N rounds, each of which runs every program once, and the ratios within the
rounds. `--kind` names the API of the hosts; the bare script uses its library and
SDK. Linux only: the host reads the CPU clock of the process that asks it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.scripted import WatchedHost

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

LATENCY_S = 0.3
BARE = """
import asyncio, sys
from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models.{module} import {model}
from pydantic_ai.providers.{module} import {provider}
async def main():
    model = {model}("{name}", provider={provider}(base_url=sys.argv[1], api_key="none"))
    await model_request(model, [ModelRequest.user_text_prompt("Should we?")])
asyncio.run(main())
"""
OURS = """
import asyncio, sys
from pnyx.providers.hosted.provider import open_hosted
from pnyx.providers.base import Call, Message
async def main():
    host = open_hosted("{kind}", base_url=sys.argv[1], api_key="none")
    await host.complete(Call("{name}", (Message("user", "Should we?"),), 100))
    await host.close()
asyncio.run(main())
"""
KINDS = {
    "openai": (("gpt-5", "gpt-4.1-mini", "alpha"), "openai", "OpenAIChatModel", "OpenAIProvider"),
    "anthropic": (
        ("claude-sonnet-5-5", "claude-haiku-5-5", "claude-opus-5-5"),
        *("anthropic", "AnthropicModel", "AnthropicProvider"),
    ),
    "google": (
        ("gemini-3.8-flash", "gemini-3.1-pro-preview", "gemini-3.5-flash-lite"),
        *("google", "GoogleModel", "GoogleProvider"),
    ),
    "mistral": (
        ("mistral-medium-latest", "mistral-small-latest", "mistral-large-latest"),
        *("mistral", "MistralModel", "MistralProvider"),
    ),
}
"""Kind of provider -> the models of the panel, and pydantic-ai's module, model and provider."""
LIBRARY = """
import pnyx
pnyx.ask_sync("Should we?", protocol="voting")
"""
BARE_NAME = "bare pydantic-ai script"


def environment(folder: Path, **more: str) -> dict[str, str]:
    env = {**os.environ, "PNYX_DATABASE": str(folder / "runs.db"), "XDG_CONFIG_HOME": str(folder), **more}
    # An installed pnyx has bytecode. With this variable, a working copy would be compiled at every start.
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    return env


def measure(command: list[str], text: str, lines: int, folder: Path) -> tuple[float, float]:
    """CPU seconds of the process, and seconds until it has written `lines` lines."""
    start, before = time.perf_counter(), os.times()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(folder)
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


@dataclass(frozen=True, slots=True)
class Taken:
    """Seconds and CPU seconds until the first request, from the last reply until the exit, CPU of all."""

    first: float
    first_cpu: float
    tail: float
    tail_cpu: float
    cpu: float


def ask(host: WatchedHost, command: list[str], env: Mapping[str, str]) -> Taken:
    start = time.perf_counter()
    with subprocess.Popen(
        command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        host.watch(process.pid)
        _, status, used = os.wait4(process.pid, 0)
        end = time.perf_counter()
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"{command} ended with {process.returncode}"
    assert host.served, f"{command} made no request"
    first, last, cpu = host.served[0], host.served[-1], used.ru_utime + used.ru_stime
    tail, tail_cpu = end - last.answered, cpu - last.cpu_answered
    return Taken(first.arrived - start, first.cpu_arrived, tail, tail_cpu, cpu)


def settings(kind: str, url: str) -> str:
    names = KINDS[kind][0]
    prices = "".join(f'[models."lab:{name}"]\ninput_price = 1.0\noutput_price = 4.0\n' for name in names)
    seats = ", ".join(f'"lab:{name}"' for name in names)
    lab = f'kind = "{kind}"\nbase_url = "{url}"\napi_key_env = "LAB_KEY"'
    return f"[providers.lab]\n{lab}\n[panel]\nseats = [{seats}]\n{prices}"


def asked(folder: Path, kind: str, tries: int) -> dict[str, list[Taken]]:
    """Name of a program -> its measurements."""
    with WatchedHost(latency=LATENCY_S) as host:
        (folder / "pnyx.toml").write_text(settings(kind, getattr(host, kind)))
        env = environment(folder, PNYX_CONFIG=str(folder / "pnyx.toml"), LAB_KEY="none")
        new = {**env, "PNYX_DATABASE": str(folder / "new.db")}
        question = [PNYX, "ask", "Should we?"]
        (name, *_), module, model, provider = KINDS[kind]
        bare = BARE.format(module=module, model=model, provider=provider, name=name)
        ours = OURS.format(kind=kind, name=name)
        programs = {
            BARE_NAME: ([sys.executable, "-c", bare, getattr(host, kind)], env),
            "the same over pnyx's provider": ([sys.executable, "-c", ours, getattr(host, kind)], env),
            "pnyx ask -p voting": ([*question, "-p", "voting"], env),
            "pnyx ask -p consensus": ([*question, "-p", "consensus", "--rounds", "1"], env),
            "pnyx.ask_sync, voting": ([sys.executable, "-c", LIBRARY], env),
            "pnyx ask, new database": ([*question, "-p", "voting"], new),
        }
        taken: dict[str, list[Taken]] = {name: [] for name in programs}
        for n in range(tries + 1):
            for name, (command, variables) in programs.items():
                for file in folder.glob("new.db*"):
                    file.unlink()
                one = ask(host, command, variables)
                if n:  # the first round fills caches
                    taken[name].append(one)
    return taken


def print_asked(taken: Mapping[str, list[Taken]]) -> None:
    print(f"\n{'':32} first request: s, CPU s (ratios)       after the last reply: s, CPU s    CPU s of all")
    bare = taken[BARE_NAME]
    for name, rows in taken.items():
        middle = [statistics.median(getattr(row, field) for row in rows) for field in Taken.__slots__]
        ratios = [
            statistics.median(
                getattr(row, f) / getattr(base, f) for row, base in zip(rows, bare, strict=True)
            )
            for f in ("first", "first_cpu")
        ]
        print(
            f"{name:32} {middle[0]:6.3f} {middle[1]:6.3f} ({ratios[0]:.2f}, {ratios[1]:.2f})"
            f"{'':12} {middle[2]:6.3f} {middle[3]:6.3f}{'':16} {middle[4]:6.3f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tries", type=int, default=7)
    parser.add_argument("--kind", choices=tuple(KINDS), default="openai")
    args = parser.parse_args()
    tries = args.tries
    with tempfile.TemporaryDirectory() as folder:
        for name, (command, text, lines) in COMMANDS.items():
            taken = [measure(command, text, lines, Path(folder)) for _ in range(tries + 1)][1:]
            cpu, ready = (min(values) for values in zip(*taken, strict=True))
            print(f"{name:12} {cpu:.2f} s of CPU, first answer after {ready:.2f} s")
        print_asked(asked(Path(folder), args.kind, tries))


if __name__ == "__main__":
    main()
