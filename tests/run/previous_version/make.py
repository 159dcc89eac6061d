"""`python -m tests.run.previous_version.make` writes `pnyx-VERSION.db.xz` and `pnyx-VERSION.json` beside it.

The files that are checked in were made by version 0.1.0, at its last commit (4736587): make new ones only
from a checkout of a version that was released, and keep the old ones. The script uses nothing but the pnyx
command. Every run is started against a scripted host and stopped at one of its requests: by SIGKILL, by
Ctrl-C, by its budget or by its deadline. The JSON file has, by the name of the run, its id, the options
with which it is resumed, and the result of the same command where nothing stopped it.

After the runs, three columns are changed. The process that was killed is called "elsewhere:1:1", so that
the file names no machine. The run "queued" is left as a worker that stops leaves one: running, and nobody's.
"""

from __future__ import annotations

import json
import lzma
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pnyx
from tests.run.previous_version.panel import CONFIG, QUESTIONS, panel, reply
from tests.support.scripted import Request, ScriptedHost
from tests.support.stored import results

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[2]
COMPARED = ("status", "answer", "final_answer", "rounds", "stop_reason", "agreement", "consensus_reached")
"""What of a result must be the same, whichever version of pnyx finishes the run."""


@dataclass(frozen=True)
class Scenario:
    """One run. arguments: of `pnyx ask`. kill, interrupt, slow: the number of the request at which the
    process is killed, gets a Ctrl-C, or waits five seconds for its reply.

    stop: arguments that stop it and are left out where it runs to its end. resume: arguments of its resume.
    """

    arguments: tuple[str, ...]
    kill: int = 0
    interrupt: int = 0
    slow: int = 0
    stop: tuple[str, ...] = ()
    resume: tuple[str, ...] = ()


def _ask(protocol: str, *more: str) -> tuple[str, ...]:
    return ("-p", protocol, "--seed", "7", "--no-tools", *more)


STOPPED = {
    "aggregate": Scenario(_ask("aggregate"), interrupt=2),
    "auto": Scenario(_ask("auto"), kill=4),
    "consensus": Scenario(_ask("consensus", "--rounds", "3"), kill=8),
    "council": Scenario(_ask("council", "--rounds", "3"), kill=8),
    "decompose": Scenario(_ask("decompose"), kill=5),
    "deliberate": Scenario(_ask("deliberate", "--rounds", "3", "--roles", "diverse"), interrupt=5),
    "moa": Scenario(_ask("moa"), stop=("--budget", "0.0302"), resume=("--budget", "5")),
    "sample": Scenario(_ask("sample", "--option", "samples=9"), kill=5),
    "single": Scenario(_ask("single"), stop=("--budget", "0.000001"), resume=("--budget", "5")),
    "voting": Scenario(_ask("voting"), slow=4, stop=("--deadline", "3"), resume=("--deadline", "600")),
    "abstained": Scenario(_ask("voting"), kill=6),
    "closed": Scenario(_ask("council", "--rounds", "2"), kill=13),
    "given": Scenario(_ask("aggregate", "--responses", "given.jsonl"), kill=1),
    "queued": Scenario(_ask("voting"), interrupt=1),
    "tools": Scenario(("-p", "consensus", "--seed", "7", "--rounds", "1", "--tools"), kill=4),
}
FINISHED = {
    "dropped": Scenario(_ask("voting")),
    "failed": Scenario(_ask("consensus")),
    "judged": Scenario(_ask("voting", "--budget", "5")),
}
GIVEN = [
    {"answer": "41", "reasoning": "I counted them once.", "source": "first"},
    {"answer": "42", "reasoning": "I counted them twice.", "source": "second"},
    {"answer": "42", "reasoning": "I asked who had."},
]


class Home:
    """A folder with a database and settings of its own."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder, self.database = folder, folder / "pnyx.db"
        (folder / "given.jsonl").write_text("".join(json.dumps(line) + "\n" for line in GIVEN))

    def pnyx(
        self, name: str, *arguments: str, kill: int = 0, interrupt: int = 0, slow: int = 0, stdin: str = ""
    ) -> None:
        """Run the command against the host for the run `name`; the numbers are those of `Scenario`."""
        requests = 0
        process: subprocess.Popen[str]

        def stopping(request: Request) -> str:
            nonlocal requests
            requests += 1
            if requests == kill:
                process.send_signal(signal.SIGKILL)
            elif requests == interrupt:
                process.send_signal(signal.SIGINT)
                time.sleep(0.5)  # the reply must not be faster than the signal
            elif requests == slow:
                time.sleep(5)
            return reply(request)

        with panel(name, stopping) as host:
            process = self._start(host, *arguments)
            process.communicate(stdin, timeout=120)

    def resume(self, run_id: str, *arguments: str, reply: Callable[[Request], str]) -> None:
        """Resume a run against a host that replies by `reply`, without faults."""
        with ScriptedHost() as host:
            host.on("*", text=reply)
            self._start(host, "resume", run_id, *arguments, "--json", "-q").communicate(timeout=120)

    def _start(self, host: ScriptedHost, *arguments: str) -> subprocess.Popen[str]:
        (self.folder / "pnyx.toml").write_text(CONFIG.format(url=host.openai))
        return subprocess.Popen(
            [sys.executable, "-m", "pnyx", *arguments],
            cwd=self.folder,
            env=self._environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "HOME": str(self.folder),
            "XDG_DATA_HOME": str(self.folder / "data"),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "PNYX_CONFIG": "pnyx.toml",
            "PNYX_DATABASE": str(self.database),
            "LAB_KEY": "sk-planted-0123456789",
        }

    def ask(self, name: str, scenario: Scenario, stop: bool) -> None:
        at = {name: getattr(scenario, name) for name in ("kill", "interrupt", "slow")} if stop else {}
        arguments = (*scenario.arguments, *(scenario.stop if stop else ()), "--json", "-q", QUESTIONS[name])
        self.pnyx(name, "ask", *arguments, **at)

    def chat(self, stop: bool) -> None:
        lines = f"{QUESTIONS['chat']}\n{QUESTIONS['chat-again']}\n"
        self.pnyx("chat", "chat", "-p", "voting", "-q", "--no-tools", kill=6 * stop, stdin=lines)

    def batch(self, stop: bool) -> None:
        (self.folder / "questions.jsonl").write_text(
            json.dumps({"id": "q", "question": QUESTIONS["batch"]}) + "\n"
        )
        options = (
            "--out",
            "results.jsonl",
            "-p",
            "voting",
            "--seed",
            "7",
            "--budget",
            "5",
            "-q",
            "--no-tools",
        )
        self.pnyx("batch", "batch", "questions.jsonl", *options, kill=4 * stop)

    def rows(self) -> dict[str, tuple[str, dict[str, Any] | None]]:
        """Id and result of each run, by its name; of two with one question, of the first."""
        names = {question: name for name, question in QUESTIONS.items()}
        return {names[question]: (id, result) for question, id, result in results(self.database)}


def main() -> None:
    target = FOLDER / f"pnyx-{pnyx.__version__}"
    database, document = target.with_name(f"{target.name}.db.xz"), target.with_name(f"{target.name}.json")
    if database.exists():
        sys.exit(f"{database} exists: a fixture is made once, by the version that it is named after")
    with tempfile.TemporaryDirectory() as folder:
        stored, whole = Home(Path(folder) / "stored"), Home(Path(folder) / "whole")
        for home, stop in ((stored, True), (whole, False)):
            for name, scenario in {**STOPPED, **FINISHED}.items():
                home.ask(name, scenario, stop)
            home.chat(stop)
            home.batch(stop)
        rows, ends = stored.rows(), whole.rows()
        stored.pnyx("judged", "feedback", rows["judged"][0], "--result", "success")
        stored.pnyx("judged", "resume", rows["judged"][0], "--fork", "--json", "-q")
        stored.pnyx("judged", "serve", "--new-key", "ann")
        _leave(stored, rows["queued"][0])
        database.write_bytes(lzma.compress(_packed(stored), preset=9))
        runs = {
            name: {
                "run_id": id,
                "resume": STOPPED[name].resume if name in STOPPED else (),
                "result": {field: (ends[name][1] or {})[field] for field in COMPARED},
            }
            for name, (id, _) in sorted(rows.items())
        }
        document.write_text(json.dumps(runs, indent=1) + "\n")


def _leave(home: Home, queued: str) -> None:
    """Change what the module says is changed."""
    with sqlite3.connect(home.database) as connection:
        connection.execute("UPDATE runs SET worker = 'elsewhere:1:1' WHERE worker IS NOT NULL")
        connection.execute("UPDATE runs SET status = 'running', worker = NULL WHERE id = ?", (queued,))
    connection.close()


def _packed(home: Home) -> bytes:
    """The database as one file, without room that nothing is in."""
    file = home.folder / "packed.db"
    with sqlite3.connect(home.database) as connection:
        connection.execute("VACUUM INTO ?", (str(file),))
    connection.close()
    return file.read_bytes()


if __name__ == "__main__":
    main()
