"""What is piped to `pnyx ask` beside a question."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pnyx.errors import UsageError
from pnyx.interfaces.cli.files import FileFlags, piped
from pnyx.interfaces.cli.terminal.output import streams
from tests.interfaces.requests.test_files import ANSWER, LINES, NOTES
from tests.interfaces.shell import pnyx
from tests.support.scripted import ScriptedHost


def test_what_is_piped_is_joined_to_a_question_that_is_an_argument(lab: ScriptedHost) -> None:
    lab.on("*", text=ANSWER)
    done = pnyx("ask", "-p", "single", "Summarise", stdin=NOTES.encode())
    assert done.code == 0, done.err
    text = lab.log[-1].text
    assert f"30| {LINES[29]}" in text
    assert "<question>\nSummarise\n</question>" in text
    assert "files: stdin (3.0 kB)" in done.err
    for arguments in (("-",), ()):
        assert pnyx("ask", "-p", "single", *arguments, stdin=b"What is it?").code == 0
        assert "<question>\nWhat is it?\n</question>" in lab.log[-1].text
        assert "file stdin" not in lab.log[-1].text
    assert pnyx("ask", "-p", "single", "--no-input", "Summarise", stdin=NOTES.encode()).code == 0
    assert LINES[29] not in lab.log[-1].text


@pytest.mark.parametrize(
    ("question", "noted"),
    [
        (("Summarise", "notes.md"), "notes.md"),
        (("What does @notes.md say?",), "notes.md"),
        (("Is (./notes.md) right?",), "./notes.md"),
        (("Compare notes.md with gone.md, and folder/.",), "notes.md"),
        (("Is notes a good name?",), None),
        (("What is 1.5 and/or 2?",), None),
    ],
)
def test_a_file_that_is_only_named_in_a_question_is_noted(
    lab: ScriptedHost, tmp_path: Path, question: tuple[str, ...], noted: str | None
) -> None:
    for name in ("notes.md", "notes"):
        (tmp_path / name).write_text(NOTES)
    (tmp_path / "folder").mkdir()
    done = pnyx("ask", "-p", "single", *question)
    assert (done.code, done.err.count("note: ")) == (0, int(noted is not None))
    assert noted is None or f"of {noted} the panel reads only the name; --file {noted} gives" in done.err
    assert "note: " not in pnyx("ask", "-p", "single", *question, "--file", "notes.md").err


def test_a_pipe_on_which_nothing_comes_is_an_error_and_not_waited_for_for_ever(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pnyx.interfaces.cli.files.NOTE_S", 0.01)
    monkeypatch.setattr("pnyx.interfaces.cli.files.PATIENCE_S", 0.02)
    reading, writing = os.pipe()
    with open(reading) as stdin, open(writing, "w") as silent:
        monkeypatch.setattr("sys.stdin", stdin)
        with pytest.raises(UsageError, match=r"nothing came on standard input within 0\.02 s"):
            piped(streams(), FileFlags())
        silent.write("late")
        silent.flush()
        os.dup2(os.open(os.devnull, os.O_WRONLY), silent.fileno())  # the other end is closed
        assert [one.data for one in piped(streams(), FileFlags())] == [b"late"]
    assert not lab.log
