"""Output for people: lines fit the terminal, messages say what happened and what to do next."""

from __future__ import annotations

import io
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from pnyx.interfaces.cli.actions.runs import _row, _run_table
from pnyx.interfaces.cli.records import with_records
from pnyx.interfaces.cli.terminal.live import _newest
from pnyx.interfaces.cli.terminal.output import Stream
from pnyx.interfaces.cli.terminal.plain import entry_lines
from pnyx.interfaces.process.open_settings import open_settings
from pnyx.interfaces.views.outcome import stop_message
from pnyx.interfaces.views.transcript import Entry
from tests.interfaces.shell import pnyx, screen
from tests.support.scripted import ScriptedHost

COLUMNS = 100


@pytest.mark.parametrize("command", [("protocols",), ("models",), ("doctor",), ("ask", "--dry-run", "Why?")])
def test_no_line_is_wider_than_the_terminal(
    lab: ScriptedHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("PNYX_MODELS", str(tmp_path / "models"))
    lab.on("/models", status=503, message="words of a host that go on " * 9)
    with screen(*command, term="dumb") as tty:
        tty.end()
    lines = tty.text.replace("\r\n", "\n").split("\n")
    assert len(lines) > 5
    assert max(map(len, lines)) <= COLUMNS
    unwrapped = pnyx(*command).out
    assert len(unwrapped.split()) == len(tty.text.split())


@pytest.mark.parametrize(
    "command",
    [
        *("runs", "recall so", "cost", "status RUN", "show RUN", "models", "protocols", "config show"),
        *("config paths", "doctor", "panel list", "keys list", "cost --by day", "share RUN --list"),
        *("calibration", "integrate", "ask --dry-run Why?", "ask -p single Why?", "ask -p voting -v Why?"),
    ],
)
def test_no_line_is_wider_than_a_terminal_of_40_columns(
    lab: ScriptedHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("PNYX_MODELS", str(tmp_path / "models"))
    lab.on("*", text="It is so, and there are several reasons to think that it is.\n\nFinal answer: 42")
    run = pnyx("ask", "-p", "voting", "Why is it so, and what would have to change?", "--json").json["run_id"]
    with screen(*command.replace("RUN", run).split(), term="dumb", columns=40) as tty:
        tty.end()
    lines = tty.text.replace("\r\n", "\n").split("\n")
    assert [line for line in lines if len(line) > 40] == []


def test_what_a_host_does_is_noted_in_whole_words(lab: ScriptedHost) -> None:
    lab.on("*", text="Yes.", usage={"prompt_tokens": 300, "completion_tokens": 2, "total_tokens": 302})
    with screen("ask", "-p", "single", "Why is it so? " * 300, term="dumb", columns=50) as tty:
        tty.end()
    lines = tty.text.replace("\r\n", "\n").split("\n")
    first = next(n for n, line in enumerate(lines) if line.startswith("lab:alpha has read only 300 of"))
    assert "window (Ollama: OLLAMA_CONTEXT_LENGTH)" in lines[first : first + 5]
    assert max(map(len, lines)) <= 50


def test_no_line_of_a_batch_stands_behind_its_progress(lab: ScriptedHost) -> None:
    Path("lines.jsonl").write_text('{"a": 1}\n{"b": 1}\n"Why?"\n')
    with screen("batch", "lines.jsonl", "-m", "lab:alpha", "-p", "single") as tty:
        tty.end()
    shown = [line.rpartition("\x1b[K")[2] for line in tty.text.replace("\r\n", "\n").split("\n")]
    assert sum(line.startswith(("pnyx: line", '{"id"')) for line in shown) == 5
    assert not [line for line in shown if line.startswith("batch:") and ("pnyx" in line or "{" in line)]


def test_one_call_is_singular() -> None:
    assert "requires 1 seat; 1 call with three seats\n" in pnyx("protocols").out


def test_the_facts_of_a_failure_are_separate_from_its_text(tmp_path: Path) -> None:
    entry = Entry(kind="unknown", title="Round 1", text="lost", facts=("attempt 1", "charged $0.01"))
    with (tmp_path / "out").open("w") as file:
        assert list(entry_lines(Stream(file), entry, whole=False)) == [
            "Round 1: lost · attempt 1 · charged $0.01"
        ]


def test_the_text_in_progress_is_cut_at_a_word() -> None:
    assert _newest("one two three", 13) == "one two three"
    assert _newest("one two three four", 13) == "… three four"
    assert _newest("x" * 30, 12) == "… " + "x" * 10


def test_the_reason_why_a_run_stopped_is_not_repeated() -> None:
    result = {"run_id": "r1", "status": "paused", "stop_reason": "interrupted", "detail": {}}
    assert (
        stop_message(result | {"detail": {"message": "interrupted"}})
        == "paused: interrupted. Resume with: pnyx resume r1"
    )
    assert stop_message(result | {"detail": {"message": "stopped at once"}}) == (
        "paused (interrupted): stopped at once. Resume with: pnyx resume r1"
    )


def test_show_names_the_next_command(lab: ScriptedHost) -> None:
    run_id = pnyx("ask", "Why?", "--json").json["run_id"]
    shown = pnyx("show", run_id).out
    assert f"run {run_id} · pnyx export {run_id} --format md" in shown
    assert f"pnyx show {run_id}" not in shown


def test_calls_that_take_too_long_after_ctrl_c_are_reported(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pnyx.interfaces.cli.terminal.follow.GRACE_S", 0.2)
    lab.on("alpha", hang=True)

    def interrupt() -> None:
        while not lab.log:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    done = pnyx("ask", "Why?")
    assert done.code == 130
    assert "stopping now: the calls in flight took longer than 0.2 s" in done.err


@pytest.mark.parametrize(("width", "shown"), [(40, "decided  Why"), (60, "decided  Why"), (120, "$0.00")])
def test_a_narrow_list_of_runs_has_room_for_the_question(lab: ScriptedHost, width: int, shown: str) -> None:
    pnyx("ask", "Why is it so?", "-q")
    (record,) = with_records(open_settings(), lambda stored: stored.list_runs(None, 1))
    written = io.StringIO()
    stream = Stream(written, width=width)
    table = _run_table(stream)
    table.add(_row(record, table, "Why is it so?"))
    table.end()
    (_, row) = written.getvalue().splitlines()
    assert shown in row
    assert "Why is it so?" in row
