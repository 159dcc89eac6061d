"""Terminals with another encoding than UTF-8, and windows that change their size."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import sys
import termios
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.interfaces.cli.terminal.live import STATES
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


def test_lines_are_wrapped_at_the_width_that_the_window_has_now(lab: ScriptedHost) -> None:
    go_on = threading.Event()
    lab.on("*", until=go_on.is_set, text="word " * 60 + "end")
    with screen("ask", "-p", "single", "Why?") as tty:
        tty.wait_for("1 call")
        fcntl.ioctl(tty.master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 50, 0, 0))
        tty.wait_for("\x1b[2m  speaking:")  # the frame of a narrow window
        go_on.set()
        assert tty.end() == 0
    lines = [line for line in tty.text.replace("\r\n", "\n").split("\n") if line.count("word") > 1]
    assert len(lines) > 10
    assert max(line.count("word") for line in lines) <= 10


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
