"""Terminals with another encoding than UTF-8, and windows that change their size."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import subprocess
import sys
import termios
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.interfaces.cli.terminal.live import STATES, rewraps
from pnyx.interfaces.cli.terminal.narrow_encodings import ERRORS, SIGNS
from tests.interfaces.shell import pnyx, screen
from tests.support.scripted import ScriptedHost

ANSWER = "Größe — “naïve” x² ≠ ½ → 日本"


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("utf-8", ANSWER),
        ("latin-1", 'Größe - "naïve" x² \\u2260 ½ -> \\u65e5\\u672c'),
        ("ascii", 'Gro\\xdfe - "naive" x\\xb2 \\u2260 \\xbd -> \\u65e5\\u672c'),
    ],
)
def test_an_answer_is_readable_in_any_encoding(lab: ScriptedHost, encoding: str, shown: str) -> None:
    lab.on("*", text=ANSWER)
    run = pnyx("ask", "-p", "single", "Why?", "--json").json["run_id"]
    done = subprocess.run(
        [sys.executable, "-m", "pnyx", "resume", run],
        env=os.environ | {"PYTHONIOENCODING": encoding},
        stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.decode(encoding) == f"{shown}\n"
    assert "\\" not in done.stderr.decode(encoding).replace(shown, "")


@given(st.text(), st.sampled_from(["ascii", "latin-1", "cp1252", "koi8-r", "utf-8"]))
def test_what_an_encoding_has_stays_and_nothing_else_fails(text: str, encoding: str) -> None:
    for char in text:
        shown = char.encode(encoding, ERRORS).decode(encoding)
        try:
            assert shown == char.encode(encoding).decode(encoding)
        except UnicodeEncodeError:
            assert shown.isascii()
            assert shown


def test_the_signs_of_the_live_view_keep_their_width() -> None:
    for sign, _ in STATES.values():
        assert len(sign.translate(SIGNS)) == 1
        assert sign.translate(SIGNS).isascii()


def test_lines_and_the_view_follow_the_width_that_the_window_has_now(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMUX", "1")  # it wraps again what it shows
    go_on = threading.Event()
    lab.on("*", until=go_on.is_set, text="word " * 60 + "end")
    with screen("ask", "-p", "single", "Why is it so? " * 9) as tty:
        tty.wait_for("1 call")
        fcntl.ioctl(tty.master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 50, 0, 0))
        tty.wait_for("\x1b[2m  speaking:")  # the frame of a narrow window
        go_on.set()
        assert tty.end() == 0
    before, between = tty.text.partition("\x1b[2m  speaking:")[0].rpartition("Why is")[::2]
    wide = re.sub(r"\x1b\[[0-9;]*m", "", before.rpartition("\x1b[2K")[2] + between.partition("\r\x1b")[0])
    rows = [-(-len(line) // 50) for line in wide.split("\r\n")]
    assert max(rows) == 2  # the terminal has wrapped what it showed
    assert between.count("\x1b[1A") == sum(rows) - 1
    lines = [line for line in tty.text.replace("\r\n", "\n").split("\n") if line.count("word") > 1]
    assert len(lines) > 10
    assert max(line.count("word") for line in lines) <= 10


@pytest.mark.parametrize(
    ("variables", "wraps"),
    [
        ({"TERM": "xterm-256color"}, True),
        ({"TERM": "xterm-256color", "XTERM_VERSION": "XTerm(390)"}, False),
        ({"TERM": "screen"}, False),
        ({"TERM": "screen", "TMUX": "/tmp/tmux-0/default,1,0"}, True),
        ({"TERM": "linux"}, False),
    ],
)
def test_on_terminals_that_cut_lines_off_nothing_else_is_removed(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], wraps: bool
) -> None:
    for name in ("TERM", "TMUX", "XTERM_VERSION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert rewraps() is wraps


def test_lines_fit_a_narrow_terminal_also_if_stdout_is_redirected(lab: ScriptedHost) -> None:
    lab.on("*", text="word " * 60)
    with (
        open(os.devnull, "wb") as nowhere,
        screen("ask", "-p", "single", "Why?", term="dumb", columns=50, stdout=nowhere) as tty,
    ):
        assert tty.end() == 0
    lines = tty.text.replace("\r\n", "\n").split("\n")
    assert len(lines) > 5
    assert max(map(len, lines)) <= 50
