"""`pnyx ask` without a question at a terminal: it is typed, or pasted, at a prompt."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.interfaces.shell import screen
from tests.support.scripted import ScriptedHost


def test_at_a_terminal_the_question_is_prompted_for(lab: ScriptedHost) -> None:
    with screen("ask", "--json", "--plain") as tty:
        tty.wait_for("Question: ")
        tty.type("Why is it so?\n")
        assert tty.end() == 0
    assert '"question": "Why is it so?"' in tty.text


def test_ctrl_d_at_the_prompt_is_no_question(lab: ScriptedHost) -> None:
    with screen("ask") as tty:
        tty.wait_for("Question: ")
        tty.type("\x04")
        assert tty.end() == 2
    assert re.search(r"Question: [^\n]*\r\n\S*pnyx: there is no question", tty.text), tty.text


def test_with_no_input_there_is_no_prompt(lab: ScriptedHost) -> None:
    with screen("ask", "--no-input") as tty:
        assert tty.end() == 2
    assert "no question: pass it as an argument" in tty.text


def test_ctrl_c_at_the_prompt_exits_130_and_leaves_nothing(lab: ScriptedHost, home: Path) -> None:
    with screen("ask") as tty:
        tty.wait_for("Question: ")
        tty.type("\x03")
        assert tty.end() == 130
    assert not (home / ".local").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_at_the_prompt_exits_130(lab: ScriptedHost, number: signal.Signals) -> None:
    with screen("ask") as tty:
        tty.wait_for("Question: ")
        tty.process.send_signal(number)
        assert tty.end() == 130
    assert "\x1b[?2004l" in tty.text  # pastes are marked for nobody else


def test_a_text_that_is_pasted_is_one_question(lab: ScriptedHost) -> None:
    """Before, the first line was asked, and the shell ran the others as commands."""
    with screen("ask", "--json", "-p", "single") as tty:
        tty.wait_for("Question: ")
        tty.type("\x1b[200~First line\nand `rm -rf`?\nThird\x1b[201~")
        tty.type("\n")
        assert tty.end() == 0
    assert '"question": "First line\\nand `rm -rf`?\\nThird"' in tty.text


@pytest.mark.parametrize("how", [{}, {"term": "dumb"}, {"stdout": subprocess.DEVNULL}])
def test_several_lines_are_refused_where_a_paste_is_not_marked(
    lab: ScriptedHost, how: dict[str, Any]
) -> None:
    with screen("ask", "-p", "single", **how) as tty:
        tty.wait_for("Question: ")
        tty.type("First line\nand `rm -rf`?\n")
        assert tty.end() == 2
    assert "the question has several lines: pipe it, as in pnyx ask - < FILE" in tty.text
    assert lab.log == []


def test_without_marks_a_line_is_a_question(lab: ScriptedHost) -> None:
    with screen("ask", "-p", "single", stdout=subprocess.DEVNULL) as tty:
        tty.wait_for("Question: ")
        tty.type("Why?\n")
        assert tty.end() == 0
    assert len(lab.log) == 1
