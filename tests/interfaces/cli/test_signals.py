"""Ctrl-C once and twice, SIGTERM, a closed pipe, a terminal: tests that require a separate process."""

from __future__ import annotations

import atexit
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import termios
import threading
import time
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import NoReturn

import pytest

from pnyx.interfaces import cli
from tests.faults.trial import handled, interrupt, soon
from tests.interfaces.shell import interpreter, pnyx, screen, spawn
from tests.support.forked import Process
from tests.support.scripted import ScriptedHost


def wait_for_calls(host: ScriptedHost, count: int) -> None:
    deadline = time.monotonic() + 60
    while len(host.log) < count:
        assert time.monotonic() < deadline, f"{len(host.log)} of {count} calls came"
        time.sleep(0.02)


def run_of(err: bytes) -> str:
    found = re.search(r"pnyx resume (\w+)", err.decode())
    assert found, err.decode()
    return found[1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_waits_for_calls_in_flight_and_prints_the_best_answer_and_how_to_resume(
    lab: ScriptedHost, number: signal.Signals
) -> None:
    lab.on("alpha", text="The proposal.")
    lab.replies = 1
    with spawn("ask", "Why?") as process:
        wait_for_calls(lab, 3)
        interrupt(process, number)
        lab.replies = None
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert out == b"The proposal.\n"
    assert b"waiting for the calls in flight" in err
    assert len(lab.log) == 3
    assert all(request.completed for request in lab.log)
    run_id = run_of(err)
    assert pnyx("status", run_id, "--json").json["stop_reason"] == "interrupted"
    assert pnyx("resume", run_id).code == 0
    assert len(lab.log) == 4


def test_the_second_signal_stops_at_once_and_resume_lists_the_lost_calls(lab: ScriptedHost) -> None:
    lab.on("beta", hang=True, call=1)
    with spawn("ask", "Why?") as process:
        wait_for_calls(lab, 3)
        interrupt(process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert b"took longer than" not in err
    assert process.returncode == 130
    done = pnyx("resume", run_of(err))
    assert done.code == 0
    assert "in flight when the run stopped" in done.err
    assert "charged $0.00" in done.err
    assert len(lab.requests("beta")) == 2


def test_a_signal_during_the_last_call_lets_the_run_finish(lab: ScriptedHost) -> None:
    lab.on("alpha", call=2, delay=0.5)
    with spawn("ask", "-q", "Why?") as process:
        wait_for_calls(lab, 4)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert out


def test_a_signal_after_the_answer_leaves_the_exit_code(lab: ScriptedHost) -> None:
    with spawn("ask", "-q", "Why?") as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0


def test_a_second_ctrl_c_while_the_first_is_reported_prints_no_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cli, "_run", interrupted)
    monkeypatch.setattr(cli, "_report", interrupted)
    assert pnyx("runs").code == 130


def interrupted(*_: object) -> int:
    signal.raise_signal(signal.SIGINT)
    raise AssertionError("Python raises KeyboardInterrupt before this")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_the_very_end_leaves_the_exit_code(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atexit, "unregister", lambda _: signal.raise_signal(number))
    monkeypatch.setattr(os, "_exit", end)
    assert pnyx("show", "nothing").code == 64 + 2


def end(code: int) -> NoReturn:
    raise SystemExit(64 + code)


def test_under_nohup_a_closed_terminal_stops_nothing(lab: ScriptedHost) -> None:
    lab.on("alpha", call=1, delay=0.5)
    with spawn(
        "ask", "-q", "Why?", preexec_fn=partial(signal.signal, signal.SIGHUP, signal.SIG_IGN)
    ) as process:
        wait_for_calls(lab, 1)
        process.send_signal(signal.SIGHUP)
        out, _ = process.communicate(timeout=120)
    assert (process.returncode, len(lab.log)) == (0, 4)
    assert out


def test_jsonl_of_an_interrupted_run_ends_with_run_finished(lab: ScriptedHost) -> None:
    lab.replies = 0
    with spawn("ask", "--jsonl", "Why?") as process:
        wait_for_calls(lab, 1)
        interrupt(process)
        lab.replies = None
        out, _ = process.communicate(timeout=120)
    events = [json.loads(line) for line in out.splitlines()]
    assert process.returncode == 130
    assert (events[-1]["type"], events[-1]["status"]) == ("run_finished", "paused")
    assert events[-1]["result"]["stop_reason"] == "interrupted"


def test_a_killed_run_is_shown_as_paused_and_resumes(lab: ScriptedHost) -> None:
    lab.on("beta", hang=True, call=1)
    with spawn("ask", "Why?") as process:
        wait_for_calls(lab, 3)
        process.kill()
    (run,) = pnyx("runs", "--status", "paused", "--json").json
    assert run["stop_reason"] == "interrupted"
    assert run["usage"]["calls"] == 3
    assert pnyx("resume", run["run_id"], "--json").json["status"] == "decided"


def test_a_run_in_another_process_is_shown_as_running_and_can_be_cancelled(lab: ScriptedHost) -> None:
    lab.on("beta", hang=True)
    with spawn("ask", "Why?") as process:
        wait_for_calls(lab, 3)
        (run,) = pnyx("runs", "--json").json
        assert (run["status"], run["stop_reason"]) == ("running", None)
        assert pnyx("status", run["run_id"], "--json").json["stop_reason"] is None
        assert "stop reason" not in pnyx("export", run["run_id"], "--format", "md").out
        assert pnyx("export", run["run_id"], "--format", "html").code == 0
        busy = pnyx("resume", run["run_id"])
        assert (busy.code, "still running" in busy.err) == (2, True)
        assert pnyx("cancel", run["run_id"]).code == 0
        _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert b"pnyx: cancelled" in err
    assert pnyx("status", run["run_id"], "--json").json["status"] == "cancelled"


@pytest.fixture
def run_id(lab: ScriptedHost) -> str:
    """The id of a finished run."""
    return str(pnyx("ask", "--json", "Why?").json["run_id"])


@pytest.mark.parametrize("args", [["ask", "--jsonl", "Why?"], ["show", "RUN"], ["--help"], ["protocols"]])
def test_a_closed_pipe_causes_no_message(run_id: str, args: list[str]) -> None:
    reading, writing = os.pipe()
    with interpreter(*(arg.replace("RUN", run_id) for arg in args), stdout=writing) as process:
        os.close(writing)
        os.close(reading)
        _, err = process.communicate(timeout=120)
    assert not re.search(rb"pnyx:|Traceback|Errno|Exception", err), err.decode()


def test_a_closed_pipe_of_events_stops_the_run(lab: ScriptedHost) -> None:
    lab.replies = 0
    with spawn("ask", "--jsonl", "Why?") as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        lab.replies = None
        process.wait(120)
    assert len(lab.log) < 4
    assert pnyx("runs", "--json").json[0]["status"] == "paused"


def test_the_live_view_shows_the_seats_and_is_removed_at_the_end(lab: ScriptedHost) -> None:
    lab.on("beta", text="It is \x1b]52;c;aGk=\x07not so, \u202ethough.", drip=(40, 0.02))
    shown = threading.Event()
    lab.on("gamma", until=shown.is_set)
    with screen("ask", "Why?") as tty:
        tty.wait_for(" of 1 · challenge · $")
        shown.set()
        assert tty.end() == 0
    assert "\x1b]52" not in tty.text
    assert "\u202e" not in tty.text
    assert tty.text.rstrip().endswith("\x1b[0m")
    assert tty.text.count("\x1b[?25l") == tty.text.count("\x1b[?25h")
    after = tty.text.rpartition("\x1b[?25h")[2]
    assert "Final answer: " in after
    assert "dissent (2)" in after


def test_a_terminal_that_closes_loses_no_call(lab: ScriptedHost) -> None:
    answered = threading.Event()
    lab.on("alpha", call=1, until=answered.is_set)
    with screen("ask", "Why?") as terminal:
        wait_for_calls(lab, 1)
        os.close(terminal.master)
        soon(lambda: handled(terminal.process, signal.SIGHUP))
        answered.set()
        terminal.process.wait(120)
        terminal.master = os.open(os.devnull, os.O_RDONLY)
    assert all(request.completed for request in lab.log)
    (run,) = pnyx("runs", "--status", "paused", "--json").json
    assert pnyx("resume", run["run_id"]).code == 0
    assert len(lab.log) == 4


def test_ctrl_c_at_a_terminal_pauses_the_run(lab: ScriptedHost) -> None:
    lab.replies = 0
    with screen("ask", "Why?") as tty:
        tty.wait_for("propose")
        tty.type("\x03")
        tty.wait_for("waiting for the calls in flight")
        lab.replies = None
        assert tty.end() == 130
    assert "pnyx resume " in tty.text


def test_plain_a_dumb_terminal_and_no_color_are_respected(
    run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with screen("resume", run_id, "--plain") as tty:
        assert tty.end() == 0
    assert "\x1b" not in tty.text
    with screen("resume", run_id, term="dumb") as tty:
        assert tty.end() == 0
    assert "\x1b" not in tty.text
    monkeypatch.setenv("NO_COLOR", "1")
    with screen("resume", run_id) as tty:
        assert tty.end() == 0
    assert "rigor" in tty.text
    assert not re.search(r"\x1b\[[0-9;]*m", tty.text)


def test_a_batch_that_cannot_write_waits_for_calls_in_flight_as_long_as_after_a_signal(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pnyx.run.batch.GRACE_S", 0.3)
    lab.on("beta", hang=True)
    Path("asked.jsonl").write_text('{"question": "a?", "models": ["lab:beta"]}\n"b?"\n')
    began = time.monotonic()
    done = pnyx("batch", "asked.jsonl", "--out", "/dev/full", "-p", "single", "-m", "lab:alpha")
    assert (done.code, time.monotonic() - began < 60) == (1, True)
    statuses = {run["question"]: run["status"] for run in pnyx("runs", "--json").json}
    assert statuses == {"a?": "paused", "b?": "single"}


def unread(process: Process) -> int:
    """Bytes that the process has not yet read from its stdin."""
    assert process.stdin is not None
    return int.from_bytes(fcntl.ioctl(process.stdin, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_a_batch_that_waits_for_a_pipe_can_be_stopped(lab: ScriptedHost) -> None:
    with spawn("batch", "-", "-p", "single", "-m", "lab:alpha", "-q", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(b'"a?"\n')
        process.stdin.flush()
        soon(lambda: unread(process) == 0)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 130
    assert lab.log == []


def test_ctrl_c_while_the_modules_are_loaded_ends_without_a_traceback() -> None:
    # The first module of the command line that is looked for sends the signal.
    script = """
import os, signal, sys
class Interrupts:
    def find_spec(self, name, path, target=None):
        if name == "pnyx.interfaces.cli":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupts())
from pnyx.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", script, "--version"], capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")
    (installed,) = entry_points(group="console_scripts", name="pnyx")
    assert installed.value == "pnyx.__main__:main"
