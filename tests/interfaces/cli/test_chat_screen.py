"""`pnyx chat` at a terminal: Ctrl-C, Ctrl-D, editing, history, pasting; reading does not block."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import sys
import termios
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from pnyx.errors import UsageError
from pnyx.interfaces.cli.terminal.line_input import MOST_LINES, History, Lines
from pnyx.interfaces.cli.terminal.output import streams
from tests.interfaces.cli.test_signals import run_of, wait_for_calls
from tests.interfaces.shell import Screen, pnyx, screen
from tests.support.scripted import ScriptedHost

SINGLE = ("-p", "single", "--plain")


def test_ctrl_c_stops_the_debate_and_the_next_question_is_answered(lab: ScriptedHost) -> None:
    answered = threading.Event()
    lab.on("alpha", call=1, until=answered.is_set, text="The proposal.")
    with screen("chat", "--plain") as tty:
        tty.wait_for("consensus 1> ")
        tty.type("First?\n")
        wait_for_calls(lab, 1)
        tty.type("\x03")
        tty.wait_for("waiting for the calls in flight")
        answered.set()
        tty.wait_for("consensus 2> ")
        assert len(lab.log) == 1
        tty.type("Second?\n")
        tty.wait_for("consensus 3> ")
        tty.type("\x04")
        assert tty.end() == 0
    assert "waiting for the calls in flight" in tty.text
    assert "2 turns" in tty.text
    assert "Best answer so far; nothing was decided: The proposal." in str(lab.log[-1].body)
    assert pnyx("resume", run_of(tty.seen)).code == 0


def test_repeated_ctrl_c_stops_at_once_and_the_session_continues(lab: ScriptedHost) -> None:
    lab.on("alpha", call=1, hang=True)
    with screen("chat", *SINGLE) as tty:
        tty.wait_for("single 1> ")
        tty.type("First?\n")
        wait_for_calls(lab, 1)
        for _ in range(300):  # several of them count as one for a process that stalls
            tty.type("\x03")
            with suppress(AssertionError):
                tty.wait_for("single 2> ", timeout=0.1)
                break
        tty.wait_for("single 2> ")
        tty.type("Second?\n")
        tty.wait_for("single 3> ")
        tty.type("/exit\n")
        assert tty.end() == 0
    assert "paused (interrupted): stopped at once" in tty.text


def test_ctrl_c_at_the_prompt_clears_the_line(lab: ScriptedHost) -> None:
    with screen("chat", *SINGLE) as tty:
        tty.wait_for("single 1> ")
        tty.type("half a quest")
        tty.type("\x03")
        tty.type("Why?\n")
        tty.wait_for("single 2> ")
        tty.type("\x03\x03\x04")
        assert tty.end() == 0
    assert [run["question"] for run in pnyx("runs", "--json").json] == ["Why?"]


def test_if_stdout_is_no_terminal_the_prompt_is_on_stderr_and_ctrl_c_clears_the_line(
    lab: ScriptedHost, tmp_path: Path
) -> None:
    lab.on("*", text="So.")
    with open("answers", "wb") as answers, screen("chat", *SINGLE, stdout=answers) as tty:
        tty.wait_for("single 1> ")
        tty.type("half a quest")
        tty.wait_for("half a quest")
        tty.type("\x03")
        tty.type("Why?\n")
        tty.wait_for("single 2> ")
        tty.type("\x04")
        assert tty.end() == 0
    assert (tmp_path / "answers").read_text() == "So.\n"
    assert pnyx("runs", "--json").json[0]["question"] == "Why?"


def test_sigterm_restores_the_terminal(lab: ScriptedHost) -> None:
    with screen("chat", *SINGLE) as tty:
        before = termios.tcgetattr(tty.master)
        tty.wait_for("single 1> ")
        deadline = time.monotonic() + 60
        while termios.tcgetattr(tty.master) == before:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        tty.process.send_signal(signal.SIGTERM)
        assert tty.end() == 130
        assert termios.tcgetattr(tty.master) == before


def test_lines_can_be_edited_and_recalled_in_the_next_session(lab: ScriptedHost, home: Path) -> None:
    with screen("chat", *SINGLE) as tty:
        tty.wait_for("single 1> ")
        tty.type("Wy?\x02\x02h\n")  # two to the left, then a letter
        tty.wait_for("single 2> ")
        tty.type("\x04")
        tty.end()
    with screen("chat", *SINGLE) as tty:
        tty.wait_for("single 1> ")
        tty.type("\x1b[A\n")  # up
        tty.wait_for("single 2> ")
        tty.type("\x04")
        tty.end()
    assert [run["question"] for run in pnyx("runs", "--json").json] == ["Why?", "Why?"]
    history = home / ".local/share/pnyx/history"
    assert history.read_text() == "Why?\nWhy?\n"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600


def _paste(tty: Screen) -> None:
    """Paste a question of two lines into a chat, and end it after the answer."""
    tty.wait_for("\x1b[?2004h")
    tty.type("\x1b[200~Is this\nright?\x1b[201~\n")
    tty.wait_for("single 2> ")
    tty.type("\x04")
    tty.end()


def test_pasted_text_is_one_question(lab: ScriptedHost) -> None:
    with screen("chat", "-p", "single") as tty:
        _paste(tty)
    assert pnyx("runs", "--json").json[0]["question"] == "Is this\nright?"


def test_plain_writes_no_escape_sequences(lab: ScriptedHost) -> None:
    with screen("chat", *SINGLE) as tty:
        tty.wait_for("single 1> ")
        tty.type("Why?\n")
        tty.wait_for("single 2> ")
        tty.type("\x04")
        tty.end()
    assert "\x1b" not in tty.text


async def test_waiting_for_a_line_does_not_block_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        lines = Lines(streams(), tmp_path / "history")
        waiting = asyncio.create_task(lines.next("? "))
        for _ in range(20):
            await asyncio.sleep(0.005)
        assert not waiting.done()
        os.write(writing, b"one\ntwo\n\xff\nthree")
        assert [await waiting, await lines.next("? ")] == ["one", "two"]
        with pytest.raises(UsageError, match="not UTF-8"):
            await lines.next("? ")
        waiting = asyncio.create_task(lines.next("? "))
        await asyncio.sleep(0.02)
        lines.stop()
        assert await waiting is None
        os.close(writing)


def test_the_history_is_bounded_and_readable_only_by_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "new" / "history"
    history = History(path)
    assert history.read() == []
    assert history.add("  two\nlines ") == "two lines"
    assert [history.add(""), history.add("x" * 5000)] == ["", ""]
    assert history.add("half \ud800") == "half \ud800"
    assert history.read() == ["two lines", "half ?"]
    path.write_text("\0\n" + "".join(f"line {n}\n" for n in range(3 * MOST_LINES)))
    path.chmod(0o644)
    assert history.read() == [f"line {n}" for n in range(2 * MOST_LINES, 3 * MOST_LINES)]
    assert len(path.read_text().splitlines()) == MOST_LINES
    history.add("last")
    assert path.read_text().endswith("\nlast\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in path.parent.iterdir()] == ["history"]


def test_a_history_that_cannot_be_written_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    history = History(tmp_path / "file" / "history")
    assert history.read() == []
    assert history.add("Why?") == "Why?"


def test_pasted_text_is_one_question_also_if_stdout_is_no_terminal(lab: ScriptedHost, tmp_path: Path) -> None:
    lab.on("*", text="So.")
    with open("answers", "wb") as answers, screen("chat", "-p", "single", stdout=answers) as tty:
        _paste(tty)
    assert pnyx("runs", "--json").json[0]["question"] == "Is this\nright?"
    assert (tmp_path / "answers").read_text() == "So.\n"


def test_what_is_typed_during_a_debate_is_the_next_line(lab: ScriptedHost) -> None:
    answered = threading.Event()
    lab.on("*", until=answered.is_set, text="So.")
    with screen("chat", "-p", "single") as tty:
        tty.wait_for("single 1> ")
        tty.type("First?\n")
        tty.wait_for("\x1b[?25l")
        tty.type("Second?\n")
        answered.set()
        tty.wait_for("single 3> ")
        tty.type("\x04")
        assert tty.end() == 0
    assert tty.text.count("Second?\r\n") == 1  # as a line of the prompt, and not inside the view
    assert [run["question"] for run in pnyx("runs", "--json").json] == ["Second?", "First?"]
