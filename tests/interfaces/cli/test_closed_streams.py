"""Standard streams that are closed, or on a full disk: an answer that cannot be written is an error."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys

import pytest

from pnyx.interfaces.process import closed_streams
from tests.interfaces.shell import interpreter, pnyx, spawn
from tests.support.scripted import ScriptedHost


@pytest.fixture
def run_id(lab: ScriptedHost) -> str:
    """The id of a finished run."""
    return str(pnyx("ask", "--json", "Why?").json["run_id"])


@pytest.mark.parametrize("args", [("protocols",), ("--help",), ("--version",), ("ask", "--help")])
def test_a_full_disk_under_the_output_is_one_line(lab: ScriptedHost, args: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full, interpreter(*args, stdout=full) as process:
        _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert err == b"pnyx: cannot write the output: No space left on device\n"


@pytest.mark.parametrize(
    ("command", "closed"),
    [
        *((command, ">&-") for command in ("resume RUN", "show RUN", "export RUN --format md", "--help")),
        *(("resume RUN", closed) for closed in ("<&- >&-", ">&- 2>&-")),
    ],
)
def test_a_closed_stdout_is_an_error_that_names_where_the_answer_is(
    run_id: str, command: str, closed: str
) -> None:
    words = command.replace("RUN", run_id).split()
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m pnyx "$@" {closed}', sys.executable, *words],
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=120,
    )  # fmt: skip
    assert done.returncode == 1
    kept = f"; the run is stored: pnyx show {run_id}" if command == "resume RUN" else ""
    said = f"pnyx: cannot write the output: it is closed{kept}\n"
    assert done.stderr.decode().endswith("" if "2>" in closed else said)


def test_a_run_whose_events_cannot_be_written_is_paused_and_says_how_to_go_on(lab: ScriptedHost) -> None:
    with open("/dev/full", "w") as full, spawn("ask", "--jsonl", "Why?", stdout=full) as process:
        _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    (record,) = pnyx("runs", "--json").json
    assert record["status"] == "paused"
    resume = f"pnyx resume {record['run_id']}"
    assert err.decode().endswith(f"No space left on device; the run is paused: {resume}\n")


@pytest.mark.parametrize("closed", ["2>&-", "<&- 2>&-", "<&-"])
def test_without_stderr_and_stdin_the_answer_is_printed(run_id: str, closed: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m pnyx resume "$1" {closed}', sys.executable, run_id],
        capture_output=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0
    assert b"Final answer: " in done.stdout


FILL = """
import fcntl, json, os, runpy, sys
runpy.run_path(sys.argv[1])["fill_closed_streams"]()
modes = [fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE for number in range(3)]
following = os.open(sys.argv[1], os.O_RDONLY)
os.write(int(sys.argv[2]), json.dumps([modes, following > 2, sys.stdout is not None]).encode())
"""


@pytest.mark.parametrize(
    "closed", [some for n in range(1, 4) for some in itertools.combinations(range(3), n)], ids=str
)
def test_no_file_gets_the_number_of_a_closed_stream(closed: tuple[int, ...]) -> None:
    """stdin reads nothing, stderr swallows what is written, and writing to stdout remains an error."""
    reading, writing = os.pipe()
    redirections = " ".join(f"{number}>&-" for number in closed)
    done = subprocess.run(
        ["sh", "-c", f'"$0" -IS -c "$@" {redirections}',
         sys.executable, FILL, str(closed_streams.__file__), str(writing)],
        stdin=subprocess.PIPE, capture_output=True, pass_fds=[writing], timeout=60,
    )  # fmt: skip
    os.close(writing)
    with open(reading) as said:
        modes, *others = json.load(said)
    assert (done.returncode, others) == (0, [True, True])
    as_filled = (os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)
    assert [modes[number] for number in closed] == [as_filled[number] for number in closed]
