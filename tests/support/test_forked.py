"""A forked process behaves as one of a new interpreter: streams, signals, environment and return code."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from subprocess import PIPE

import pytest

from tests.faults.trial import soon
from tests.interfaces.shell import interpreter, spawn
from tests.support import forked
from tests.support.forked import Process

COMMANDS = [
    ("--version",),
    ("protocols",),
    ("ask", "--help"),
    ("ask", "--no-input"),
    ("no-such-command",),
    ("runs", "--json"),
    ("recall", "\udcff\u202e漢"),
    ("config", "check"),
    ("batch", "missing.jsonl"),
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PNYX_DATABASE", "sqlite:///own.db")


def ended(process: Process | subprocess.Popen[bytes]) -> tuple[int | None, bytes, bytes]:
    with process:
        out, err = process.communicate(timeout=60)
    return process.returncode, out, err


@pytest.mark.parametrize("command", COMMANDS, ids="-".join)
def test_a_command_prints_and_returns_the_same_as_in_a_new_interpreter(command: tuple[str, ...]) -> None:
    assert ended(spawn(*command)) == ended(interpreter(*command))


def test_it_has_only_the_environment_and_the_folder_of_its_caller(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text("[budget]\nrun_usd = 0.25\n")
    environment = {"HOME": str(tmp_path), "PNYX_CONFIG": "own.toml", "PNYX_BUDGET_DAY_USD": "7"}
    shown = ended(spawn("config", "show", env=environment))
    assert shown == ended(interpreter("config", "show", env=environment))
    assert b"0.25" in shown[1]


def asleep(process: Process | subprocess.Popen[bytes]) -> bool:
    """Whether the process waits, here for more of its stdin: between two reads Python may miss a signal."""
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_it_as_it_ends_an_interpreter(number: signal.Signals) -> None:
    codes = []
    for start in (spawn, interpreter):
        with start("batch", "-", stdin=PIPE) as process:
            assert process.stdin is not None
            process.stdin.write(b'"Why?"\n' * 10_000)  # more than a pipe holds: it has begun to read
            process.stdin.flush()
            soon(lambda: asleep(process))
            process.send_signal(number)
            codes.append(process.wait(120))
    assert codes[0] == codes[1] != 0


def test_many_run_at_once_and_each_has_its_own_output_and_return_code() -> None:
    commands = [("--version",), ("no-such-command",)] * 8
    processes = [spawn(*command) for command in commands]
    assert len({process.pid for process in processes}) == len(commands)
    codes = [ended(process)[0] for process in processes]
    assert codes == [0, 2] * 8


def test_waiting_has_a_limit_and_a_killed_process_is_no_longer_there() -> None:
    with spawn("batch", "-", stdin=PIPE) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.05)
        assert (process.poll(), Path(f"/proc/{process.pid}").exists()) == (None, True)
        process.kill()
        assert process.wait(120) == -signal.SIGKILL
        assert not Path(f"/proc/{process.pid}").exists()
        process.kill()


def test_another_server_is_started_after_one_that_was_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    # Not the server of this test run, whose processes may live through many tests.
    monkeypatch.setattr(forked, "_servers", [])
    assert ended(spawn("--version"))[0] == 0
    _, server = forked._servers[-1]
    server.kill()
    server.wait()
    assert ended(spawn("--version"))[0] == 0
    for connection, server in forked._servers:
        connection.close()
        server.wait()


def test_a_limit_that_it_sets_first_is_its_own() -> None:
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (0, 0))
    code, _, err = ended(spawn("serve", "--new-key", "ada", preexec_fn=limit))
    assert (code != 0, bool(err) or (code or 0) < 0) == (True, True)
    assert ended(spawn("serve", "--new-key", "ada"))[0] == 0


def test_a_broken_pipe_and_a_closed_stdin_reach_it() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    code, _, err = ended(spawn("protocols", stdout=writing))
    os.close(writing)
    assert (code, err) == (0, b"")


def test_what_cannot_be_written_at_the_end_fails_it_as_it_fails_an_interpreter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    with open("/dev/full", "w") as full:
        code, _, err = ended(forked.start(module="this", stdout=full))
        new = subprocess.run([sys.executable, "-m", "this"], stdout=full, stderr=PIPE, check=False)
    assert code == new.returncode != 0
    assert all(b"No space left on device" in said for said in (err, new.stderr))
