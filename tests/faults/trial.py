"""One real fault: a scripted host, a database, the command on them, and the checker afterwards."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pnyx.core.models import Price
from tests.interfaces.shell import Done, pnyx, spawn
from tests.support.checker import Verdict, check, exports
from tests.support.forked import Process
from tests.support.scripted import ScriptedHost

__all__ = ["KEY", "PRICES", "Trial", "handled", "interrupt", "most_memory", "soon"]

KEY = "sk-planted-0123456789"
PRICES = {"alpha": Price(1.0, 4.0), "beta": Price(1.0, 2.0), "gamma": Price(0.5, 1.0)}
PANEL = tuple(f"lab:{name}" for name in PRICES)
RETRIES = 2
LOOKS = 5
"""At a process, before it counts as waiting."""


class Trial:
    """The trial of a test. The proposer is alpha; beta and gamma challenge, in one round by default.

    output: everything printed until now. line: the checker's result, for the table. tables: further tables of
    the settings.
    """

    def __init__(self, host: ScriptedHost, folder: Path, home: Path, url: str) -> None:
        self.host, self.folder, self.home, self.url = host, folder, home, url
        self.prices, self.tables = PRICES, ""
        self.output: list[str] = []
        self.line: tuple[str, str, str] | None = None
        self.settle()

    def settle(self, **changes: Any) -> None:
        """Rewrite the settings: `retries=0` for [run], `models={"lab:alpha": {"context": 1024}}`."""
        models = changes.pop("models", {})
        seats = changes.pop("seats", PANEL)
        day = changes.pop("day_usd", None)
        run = {"retries": RETRIES, "call_deadline_s": 10.0} | changes
        lines = ["[providers.lab]", 'kind = "openai"', f'base_url = "{self.host.openai}"']
        lines += ['api_key_env = "LAB_KEY"', "concurrency = 64", "[providers.nowhere]", 'kind = "openai"']
        lines += ['base_url = "http://127.0.0.1:9/v1"', 'api_key_env = "LAB_KEY"']
        for model in sorted({*PANEL, *seats, *models}):
            price = self.prices[model.partition(":")[2]]
            lines += [f'[models."{model}"]', f"input_price = {price.input}", f"output_price = {price.output}"]
            lines += [f"{name} = {value}" for name, value in models.get(model, {}).items()]
        lines += ["[panel]", f"seats = {list(seats)}", "[consensus]", "rounds = 1", "[run]"]
        lines += [f"{name} = {str(value).lower()}" for name, value in run.items()]
        lines += [] if day is None else ["[budget]", f"day_usd = {day}"]
        (self.folder / "lab.toml").write_text("\n".join([*lines, self.tables]) + "\n")

    def pnyx(self, *args: str) -> Done:
        """Run the command in this process."""
        return self.note(pnyx(*args))

    def ask(self, *args: str) -> Done:
        return self.pnyx("ask", "Why?", "--json", *args)

    @contextmanager
    def spawned(self, *args: str, **options: Any) -> Iterator[Process]:
        """Run the command in a separate process, killed at the end if it still runs."""
        with spawn(*args, **options) as process:
            try:
                yield process
            finally:
                process.kill()

    def ended(self, process: Process, within: float = 120.0) -> Done:
        out, err = process.communicate(timeout=within)
        return self.note(Done(process.wait(), out.decode(), err.decode()))

    def note(self, done: Done) -> Done:
        self.output += [done.out, done.err]
        return done

    def check(self, happened: str = "") -> Verdict:
        """Run the checker, with the exports of up to three runs, and set the line of the table."""
        verdict = check(self.url, self.host, self.prices)
        for run in [run for run in verdict.books.runs.values() if run.events][:3]:
            self.output += exports(run.id, self.url, self.folder / "exported" / run.id)
        folders = [self.folder, self.home]
        check(self.url, self.host, self.prices, secrets=[KEY], texts=self.output, folders=folders)
        bill, ledger = (f"${amount / 1e9:.6f}" for amount in (verdict.bill_nusd, verdict.ledger_nusd))
        self.line = (happened or verdict.happened, bill, ledger)
        return verdict


def most_memory(pid: int) -> int:
    """Return the peak memory of a process in bytes; 0 once it has ended.

    What the system tells of children counts the process that they were forked off, too.
    """
    try:
        match = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return int(match[1]) << 10 if match else 0


def soon(true: Callable[[], object], within: float = 120.0) -> None:
    """Wait until a value is true."""
    deadline = time.monotonic() + within
    while not true():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.01)


def handled(process: Process, number: int) -> bool:
    """Whether the process has done all that it does for signals of this number before it waits again.

    No signal waits for it, so a second one is not merged with the first, and none of its threads runs. One
    that waits for the disk or for another thread goes on in a moment, so it is looked at more than once.
    """
    for _ in range(LOOKS):
        if not _rests(process, number):
            return False
        time.sleep(0.02)
    return True


def _rests(process: Process, number: int) -> bool:
    found = Path(f"/proc/{process.pid}")
    try:
        status = (found / "status").read_text()
        states = [file.read_text().rpartition(") ")[2][0] for file in found.glob("task/*/stat")]
    except OSError:
        return not found.exists()  # it has ended; or a thread has, and the others are looked at again
    masks = re.findall(r"(?:Sig|Shd)Pnd:\s*(\w+)", status)
    return not any(int(mask, 16) >> (number - 1) & 1 for mask in masks) and not set(states) & set("RD")


def interrupt(process: Process, number: int = signal.SIGINT) -> None:
    """Send a signal, and wait until the process has acted on it."""
    process.send_signal(number)
    soon(lambda: handled(process, number))
