"""Batches: hostile files, and a process that dies in the middle of many questions."""

from __future__ import annotations

import json
import os
import random
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.trial import Trial, most_memory, soon
from tests.support.books import Books

VOTERS = ("-p", "voting", "--concurrency", "4")
GIGABYTE = 1 << 30
MOST = 400 << 20
"""Address space of the process in bytes; one line of a gigabyte would need several times as much."""

HOSTILE = [
    (b'\xef\xbb\xbf{"id": "bom", "question": "Why?"}', None),
    (b'{"id": "nul", "question": "Why\x00?"}', "not JSON"),
    (b'{"id": "escaped", "question": "Why\\u0000?"}', "NUL"),
    (b'{"id": "half", "question": "Why\\ud800?"}', "unpaired surrogates"),
    (b'{"id": "bytes", "question": "\xff\xfe"}', "not UTF-8"),
    (b'{"id": "url", "question": "Why?", "base_url": "http://127.0.0.1:9/"}', "unknown key 'base_url'"),
    (b'{"id": "key", "question": "Why?", "api_key": "sk-theirs"}', "unknown key 'api_key'"),
    (b'{"id": "providers", "question": "Why?", "providers": {}}', "unknown key 'providers'"),
    (b'{"id": "twice", "question": "Why?"}', None),
    (b'{"id": "twice", "question": "Why not?"}', "already used by line 9"),
    (b'{"id": 7.5, "question": "Why?"}', "id must be text"),
    (b'{"id": true, "question": "Why?"}', "id must be text"),
    (b'{"id": "' + b"x" * 500 + b'", "question": "Why?"}', "id must be text"),
    (b'{"id": "\\ud800", "question": "Why?"}', "unpaired surrogates"),
    (b'{"question": "Why?", "budget_usd": 1e300}', "budget_usd must be at most"),
    (b'{"question": "Why?", "responses": [' + b"1," * 100_000 + b"1]}", "responses.0 must be text"),
    (b'{"question": "Why?", "models": [' + b'"lab:alpha",' * 200 + b'"lab:alpha"]}', "at most 100"),
    (b'{"question": 3}', "question must be text, not 3"),
    (b'{"question": "Why?", "models": "lab:alpha"}', "models must be a list"),
    (b'{"question": "Why?", "models": ["evil:alpha"]}', "no provider 'evil'"),
    (b'{"question": "Why?", "protocol": "../../etc/passwd"}', "no protocol"),
    (b'{"question": "Why?", "rounds": 1e999}', "rounds must be"),
    (b'{"question": "Why?", "budget_usd": NaN}', "not JSON"),
    (b'{"question": "Why?", "budget_usd": -1}', "budget_usd must be"),
    (b'{"question": "Why?", "options": {"threshold": []}}', "threshold"),
    (b'{"question": "Why?", "seed": ' + b"9" * 5000 + b"}", "not JSON"),
    (b'{"question": "   "}', "there is no question"),
    (b"[" * 200_000, "not JSON"),
    (b"null", "a request must be an object"),
    (b'["Why?"]', "a request must be an object"),
    (b"Why?", "not JSON"),
    (b"  ", ""),
    (b'"Why, in a line of its own?"', None),
    (b'{"id": "last", "question": "Why?"}', None),
]
"""Lines, and the error of each; None: answered; "": skipped."""


def test_a_hostile_line_is_reported_with_its_number_and_the_others_are_answered(trial: Trial) -> None:
    Path("hostile.jsonl").write_bytes(b"\n".join(line for line, _ in HOSTILE))
    done = trial.pnyx("batch", "hostile.jsonl", *VOTERS)
    assert done.code == 1
    rows = {row["line"]: row for row in done.lines}
    expected = {n: error for n, (_, error) in enumerate(HOSTILE, 1) if error != ""}
    assert rows.keys() == expected.keys()
    for n, error in expected.items():
        if error is None:
            assert rows[n]["answer"], rows[n]
        else:
            assert error in rows[n]["error"], rows[n]
            assert f"line {n}: " in done.err
    assert "sk-theirs" not in done.out + done.err
    answered = sum(error is None for error in expected.values())
    assert len(Books.read(trial.url).runs) == answered
    trial.check(f"{answered} answered, {len(rows) - answered} with an error")


@contextmanager
def large_file() -> Iterator[str]:
    """A file of three lines: the second has a gigabyte of NUL bytes, which use neither disk nor memory."""
    folder = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        file.write(b'{"id": "first", "question": "Why?"}\n{"question": "')
        file.seek(GIGABYTE, os.SEEK_CUR)
        file.write(b'"}\n{"id": "last", "question": "Why?"}\n')
        file.flush()
        yield file.name


def test_a_line_of_a_gigabyte_takes_no_memory_and_the_others_are_answered(trial: Trial) -> None:
    peaks = [0]
    with large_file() as path, trial.spawned("batch", path, *VOTERS) as process:
        while process.poll() is None:
            peaks.append(most_memory(process.pid))
            time.sleep(0.05)
        done = trial.ended(process)
    assert done.code == 1, done.err
    assert 0 < max(peaks) < MOST
    rows = {row["id"]: row for row in done.lines}
    assert rows["2"]["error"] == "the line is longer than 4 MiB"
    assert rows["first"]["answer"]
    assert rows["last"]["answer"]
    trial.check("2 answered, 1 with an error")


@pytest.mark.timeout(600)
def test_killed_again_and_again_a_batch_answers_every_line_once(trial: Trial) -> None:
    trial.host.latency = 0.03
    lines = [{"id": f"q{n}", "question": f"Why {n}?"} for n in range(24)]
    Path("many.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    draw, kills, command = random.Random(4), 0, ("batch", "many.jsonl", *VOTERS, "--out", "out.jsonl", "-q")
    while kills < 4:
        sent, more = len(trial.host.log), draw.randint(5, 20)
        with trial.spawned(*command) as process:
            soon(lambda: len(trial.host.log) >= sent + more or process.poll() is not None)  # noqa: B023
            time.sleep(draw.uniform(0, 0.05))
            process.send_signal(signal.SIGKILL)
            trial.ended(process)
        kills += 1
    done = trial.pnyx(*command)
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert sorted(row["id"] for row in rows) == sorted(line["id"] for line in lines)
    verdict = trial.check()
    # Four questions at once, each with at most three calls in flight.
    assert verdict.uncertain <= kills * 4 * 3
    trial.line = trial.line and (f"{kills} kills, {verdict.uncertain} in flight", *trial.line[1:])
