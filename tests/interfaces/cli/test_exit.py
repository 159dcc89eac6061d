"""The end of a command: what the process still does after its exit code is known."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.sources import ROOT

COMMAND = "import sys; sys.argv = ['pnyx', '--version']; from pnyx.__main__ import main; main()"
AT_ONCE = """
import os
end = os._exit
os._exit = lambda code: (print("at once", flush=True), end(code))
"""


def end(program: str, *options: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, *options, "-c", program], capture_output=True, text=True, timeout=60, cwd=ROOT
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()[1:]


@pytest.mark.parametrize(
    ("before", "printed"),
    [
        ("", ["at once"]),
        ("import atexit; atexit.register(print, 'at exit')", ["at exit", "at once"]),
        (
            "import threading as t; t.Thread(target=lambda: (t.main_thread().join(), print('done'))).start()",
            ["done"],
        ),
        ("sys = __import__('sys'); sys.setprofile(lambda *_: None)", []),
        ("sys = __import__('sys'); sys.settrace(lambda *_: None)", []),
    ],
    ids=["a command", "with work for its end", "with a thread", "in a profiler", "in a debugger"],
)
def test_python_is_taken_down_only_where_something_needs_it(before: str, printed: list[str]) -> None:
    assert end(f"{before}\n{AT_ONCE}\n{COMMAND}") == printed


def test_a_profile_of_a_command_is_printed() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cProfile", "-m", "pnyx", "--version"],
        capture_output=True, text=True, timeout=60, cwd=ROOT,
    )  # fmt: skip
    assert "function calls" in done.stdout


def test_words_for_the_end_are_printed_and_an_error() -> None:
    program = "import sys, pnyx.interfaces.cli as cli; cli.main = lambda: sys.exit('words'); "
    done = subprocess.run(
        [sys.executable, "-c", program + "from pnyx.__main__ import main; main()"],
        capture_output=True, text=True, timeout=60, cwd=ROOT,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "words\n")
