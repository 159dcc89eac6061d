"""`pnyx batch`: one result per line, independent of the other lines."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.faults.trial import interrupt
from tests.interfaces.shell import Done, pnyx, spawn
from tests.support.scripted import Request, ScriptedHost


def reply(request: Request) -> str:
    return f"Final answer: {request.model}"


@pytest.fixture
def voters(lab: ScriptedHost) -> ScriptedHost:
    lab.on("*", text=reply)
    return lab


def put(*lines: object) -> str:
    Path("asked.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return "asked.jsonl"


def by_id(done: Done) -> dict[str, Any]:
    rows = {row["id"]: row for row in done.lines}
    assert len(rows) == len(done.lines)
    return rows


SINGLE = ("-p", "single", "-m", "lab:alpha", "-q")


def test_every_line_gets_its_result_with_its_id_and_its_line(voters: ScriptedHost) -> None:
    file = put(
        {"id": "one", "question": "First?"}, {"question": "Second?"}, "Third?", {"id": 9, "question": "4th?"}
    )
    done = pnyx("batch", file, *SINGLE)
    assert done.code == 0, done.err
    rows = by_id(done)
    assert {id: row["line"] for id, row in rows.items()} == {"one": 1, "2": 2, "3": 3, "9": 4}
    assert [rows[id]["question"] for id in ("one", "2", "3", "9")] == ["First?", "Second?", "Third?", "4th?"]
    assert {row["final_answer"] for row in rows.values()} == {"alpha"}
    assert len(voters.log) == 4
    stored = {run["run_id"] for run in pnyx("runs", "--json").json}
    assert stored == {row["run_id"] for row in rows.values()}


def test_options_of_a_line_override_those_of_the_command(voters: ScriptedHost) -> None:
    file = put(
        {"question": "a?"},
        {"question": "b?", "models": ["lab:beta*2", "lab:gamma"], "protocol": "voting"},
        {"question": "c?", "models": ["lab:gamma"], "seed": 7},
        {"question": "d?", "protocol": "consensus", "models": ["lab:alpha", "lab:beta"], "rounds": 2},
        {
            "question": "e?",
            "protocol": "consensus",
            "models": ["lab:alpha"] * 3,
            "options": {"challengers": 1},
        },
        {"question": "f?", "models": ["lab:beta"], "roles": {"A": "critic"}},
    )
    rows = by_id(pnyx("batch", file, *SINGLE))
    assert [rows[n]["protocol"] for n in "123456"] == [
        "single",
        "voting",
        "single",
        "consensus",
        "consensus",
        "single",
    ]
    assert [seat["model"] for seat in rows["2"]["seats"]] == ["lab:beta", "lab:beta", "lab:gamma"]
    assert rows["6"]["seats"][0]["role"] == "critic"
    started = {n: pnyx("export", rows[n]["run_id"], "--format", "json").json["events"][0] for n in "345"}
    assert started["3"]["seed"] == 7
    assert started["4"]["options"]["rounds"] == 2
    assert started["5"]["options"] | {"rounds": 1, "challengers": 1} == started["5"]["options"]


def test_the_same_command_again_sends_nothing_and_writes_the_same_results(voters: ScriptedHost) -> None:
    file = put(*(f"Question {n}?" for n in range(5)))
    assert pnyx("batch", file, "--out", "out.jsonl", *SINGLE).code == 0
    first = sorted(Path("out.jsonl").read_text().splitlines())
    assert pnyx("batch", file, "--out", "out.jsonl", *SINGLE).code == 0
    assert sorted(Path("out.jsonl").read_text().splitlines()) == first
    assert len(voters.log) == 5
    put(*(f"Question {n}?" for n in range(6)))
    assert len(by_id(pnyx("batch", file, *SINGLE))) == 6
    assert len(voters.log) == 6


def test_equal_questions_are_separate_runs_and_another_seed_starts_new_ones(voters: ScriptedHost) -> None:
    file = put({"id": "a", "question": "Same?"}, {"id": "b", "question": "Same?"})
    rows = by_id(pnyx("batch", file, *SINGLE))
    assert rows["a"]["run_id"] != rows["b"]["run_id"]
    assert len(voters.log) == 2
    pnyx("batch", file, "--seed", "1", *SINGLE)
    assert len(voters.log) == 4


def test_a_configured_seed_is_sent_to_hosts_and_no_other(
    voters: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = put({"question": "Same?"})
    (plain,) = pnyx("batch", file, *SINGLE).lines
    assert "seed" not in voters.log[-1].body
    monkeypatch.setenv("PNYX_RUN_SEED", "1")
    (one,) = pnyx("batch", file, *SINGLE).lines
    assert "seed" in voters.log[-1].body
    monkeypatch.setenv("PNYX_RUN_SEED", "2")
    (two,) = pnyx("batch", file, *SINGLE).lines
    assert len({plain["run_id"], one["run_id"], two["run_id"]}) == 3


def test_inserting_a_line_does_not_change_the_runs_of_the_others(voters: ScriptedHost) -> None:
    file = put("a?", "b?", "b?", {"id": "x", "question": "c?"})
    before = by_id(pnyx("batch", file, *SINGLE))
    put("new?", "a?", "b?", "b?", {"id": "x", "question": "c?"})
    after = by_id(pnyx("batch", file, *SINGLE))
    assert len(voters.log) == 5
    assert [after[n]["run_id"] for n in ("2", "3", "4", "x")] == [
        before[n]["run_id"] for n in ("1", "2", "3", "x")
    ]
    assert before["2"]["run_id"] != before["3"]["run_id"]


@pytest.mark.parametrize(
    ("lines", "refused"),
    [
        (({"id": 2, "question": "a?"}, "b?", "c?"), "line 2: the id '2' is already used by line 1"),
        (
            ("a?", {"id": "x", "question": "b?"}, {"id": 1, "question": "c?"}),
            "line 3: the id '1' is already used by",
        ),
    ],
)
def test_an_id_that_is_the_number_of_another_line_is_refused(
    voters: ScriptedHost, lines: tuple[object, ...], refused: str
) -> None:
    for _ in range(2):
        done = pnyx("batch", put(*lines), *SINGLE)
        answers = [row["id"] for row in done.lines if "error" not in row]
        assert (done.code, len(answers), len(set(answers))) == (1, 2, 2)
        assert refused in done.err
    assert len(voters.log) == 2


def test_a_line_of_plain_text_is_an_error_with_the_form_to_write(voters: ScriptedHost) -> None:
    done = pnyx("batch", "-", *SINGLE, stdin="Is 7 prime?\nÜber?\n".encode())
    form = 'is not JSON; write the question in quotes, or as {"question": "…"}'
    assert [row["error"] for row in done.lines] == [f"the line {form}"] * 2
    assert (done.code, voters.log) == (1, [])


def test_an_invalid_line_uses_no_id(voters: ScriptedHost) -> None:
    done = pnyx("batch", "-", *SINGLE, stdin=b'{"question"\n{"id": 1, "question": "a?"}\n')
    assert [row["question"] for row in done.lines if "error" not in row] == ["a?"]


def test_a_batch_from_a_pipe_is_named_by_its_content(voters: ScriptedHost) -> None:
    voters.on("*", text=reply, usage={"prompt_tokens": 100, "completion_tokens": 2000, "total_tokens": 2100})
    for question in (b'"a?"', b'"b?"', b'"a?"'):
        done = pnyx("batch", "-", "--budget", "0.02", *SINGLE, stdin=question)
        assert (done.code, len(done.lines)) == (0, 1), done.err
    assert len(voters.log) == 2


def test_a_batch_from_a_named_pipe_is_named_by_its_content(voters: ScriptedHost) -> None:
    os.mkfifo("pipe")
    for _ in range(2):
        with spawn("batch", "pipe", *SINGLE) as process:
            Path("pipe").write_bytes(b'"a?"\n')
            out, err = process.communicate(timeout=60)
            assert (process.returncode, len(out.splitlines())) == (0, 1), err
    assert len(voters.log) == 1


def test_questions_are_read_from_stdin_and_progress_goes_to_stderr(voters: ScriptedHost) -> None:
    done = pnyx("batch", "-", "-p", "single", "-m", "lab:alpha", stdin=b'"One?"\n\n"Two?"\n')
    assert (done.code, len(done.lines)) == (0, 2)
    assert "2 answers" in done.err


def test_a_batch_without_lines_answers_nothing(lab: ScriptedHost) -> None:
    assert pnyx("batch", "-", stdin=b"\n \n").out == ""
    assert lab.log == []


def test_concurrency_limits_the_questions_in_parallel(voters: ScriptedHost) -> None:
    voters.latency = 0.05
    pnyx("batch", put(*(f"Q{n}?" for n in range(12))), "--concurrency", "3", *SINGLE)
    # A request takes as long as the host's latency, so of any four in a row the first has ended.
    times = sorted(request.time for request in voters.log)
    assert all(later - earlier >= 0.045 for earlier, later in zip(times, times[3:], strict=False))


def test_a_killed_batch_continues_and_pays_twice_only_for_calls_in_flight(voters: ScriptedHost) -> None:
    voters.latency = 0.1
    file = put(*(f"Q{n}?" for n in range(30)))
    with spawn("batch", file, "--concurrency", "2", "--out", "out.jsonl", *SINGLE) as process:
        while len(voters.log) < 10:
            assert process.poll() is None
        process.kill()
    voters.latency = 0.0
    done = pnyx("batch", file, "--out", "out.jsonl", *SINGLE)
    assert (done.code, done.out) == (0, "")
    rows = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert sorted(int(row["id"]) for row in rows) == list(range(1, 31))
    assert 30 <= len(voters.log) <= 32


def test_ctrl_c_lets_calls_in_flight_finish_and_the_batch_continues_later(voters: ScriptedHost) -> None:
    voters.replies = 3
    file = put(*(f"Q{n}?" for n in range(20)))
    with spawn("batch", file, "--concurrency", "2", *SINGLE) as process:
        while len(voters.log) < 4:
            assert process.poll() is None
        interrupt(process)
        voters.replies = None
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert b"interrupted. Run the same command again to continue" in err
    assert all(request.completed for request in voters.log)
    sent = len(voters.log)
    assert len(out.splitlines()) < 20
    assert len(by_id(pnyx("batch", file, *SINGLE))) == 20
    assert len(voters.log) == 20 >= sent


def test_a_closed_pipe_ends_the_batch_without_a_message(voters: ScriptedHost) -> None:
    voters.replies = 1
    file = put(*(f"Q{n}?" for n in range(40)))
    with spawn("batch", file, "--concurrency", "1", *SINGLE) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.stdout.close()
        voters.replies = None
        assert process.wait(120) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert len(voters.log) < 40


def slow_and_quick(host: ScriptedHost) -> str:
    """Write two questions that take two seconds, and one that is answered at once."""
    host.on("beta", text=reply, delay=2.0)
    return put({"question": "a?", "models": ["lab:beta"]}, {"question": "b?", "models": ["lab:beta"]}, "c?")


def test_calls_in_flight_when_the_pipe_closes_are_received_and_not_sent_again(voters: ScriptedHost) -> None:
    file = slow_and_quick(voters)
    with spawn("batch", file, *SINGLE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert (process.wait(120), process.stderr.read()) == (0, b"")
    assert [request.completed for request in voters.log] == [True] * 3
    voters.on("beta", text=reply)
    assert len(by_id(pnyx("batch", file, *SINGLE))) == len(voters.log) == 3


def test_calls_in_flight_when_the_disk_is_full_are_received_and_the_file_is_named(
    voters: ScriptedHost,
) -> None:
    done = pnyx("batch", slow_and_quick(voters), "--out", "/dev/full", *SINGLE)
    message = "the answers are stored: repeat the command to write all of them"
    assert done.code == 1
    assert done.err == f"pnyx: cannot write /dev/full: No space left on device; {message}\n"
    assert [request.completed for request in voters.log] == [True] * 3


def test_a_failed_run_is_reported_the_others_continue_and_it_is_tried_again(voters: ScriptedHost) -> None:
    voters.on("alpha", status=400, message="not today")
    file = put({"question": "a?"}, {"question": "b?", "models": ["lab:beta"]})
    done = pnyx("batch", file, *SINGLE)
    assert done.code == 3
    rows = by_id(done)
    assert (rows["1"]["status"], rows["2"]["status"]) == ("failed", "single")
    assert "line 1: failed" in done.err
    voters.on("alpha", text=reply)
    done = pnyx("batch", file, *SINGLE)
    assert (done.code, by_id(done)["1"]["final_answer"]) == (0, "alpha")
    assert Counter(request.model for request in voters.log) == {"alpha": 2, "beta": 1}


def test_what_goes_wrong_in_many_lines_is_said_once(voters: ScriptedHost) -> None:
    voters.on("alpha", status=400, message="not today")
    panel = {"models": ["lab:alpha", "lab:beta*2"], "protocol": "voting"}
    done = pnyx(
        "batch", put("a?", "b?", "c?", {"question": "d?", **panel}, {"question": "e?", **panel}), *SINGLE[:-1]
    )
    assert done.code == 3
    assert done.err.count("failed: ") == 1
    assert "pnyx: 2 more lines went wrong like line " in done.err
    assert "without lab:alpha in 2 answers: 127.0.0.1:" in done.err
    assert done.err.count("not today") == 2
    assert "\n2 answers, " in done.err


def test_lines_fail_alike_if_only_the_names_of_seats_differ(voters: ScriptedHost) -> None:
    voters.on("alpha", status=400, message="not today")
    panel = {"models": ["lab:beta", "lab:alpha*2"], "protocol": "consensus"}
    done = pnyx("batch", put(*({"question": f"{n}?", **panel} for n in range(5))), *SINGLE[:-1])
    assert done.err.count("failed: ") == 1
    assert "pnyx: 4 more lines went wrong like line " in done.err


def test_consensus_can_be_required_of_every_line(voters: ScriptedHost) -> None:
    file = put("a?")
    assert pnyx("batch", file, "--require-consensus", *SINGLE).code == 3


def test_a_dry_run_adds_up_all_lines_and_sends_nothing(voters: ScriptedHost) -> None:
    file = put(
        "a?", {"question": "b?", "protocol": "voting", "models": ["lab:alpha*3"]}, {"question": "c?", "x": 1}
    )
    done = pnyx("batch", file, "--dry-run", *SINGLE)
    assert done.code == 1
    assert "2 questions\ncalls   5 to 6\ncost    at most $" in done.out
    assert "line 3: unknown key 'x'" in done.err
    assert voters.log == []
    assert pnyx("runs", "--json").json == []


def test_one_process_at_a_time_works_on_a_batch(voters: ScriptedHost) -> None:
    voters.replies = 0
    file = put("a?", "b?")
    with spawn("batch", file, *SINGLE) as process:
        while not voters.log:
            assert process.poll() is None
        done = pnyx("batch", file, *SINGLE)
        assert (done.code, done.out) == (2, "")
        assert "already running" in done.err
        voters.replies = None
        assert process.wait(120) == 0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("nothing.jsonl",), "cannot read nothing.jsonl: No such file"),
        (("asked.jsonl", "--out", "asked.jsonl"), "asked.jsonl contains the questions"),
        (("asked.jsonl", "--out", "none/out.jsonl"), "cannot write none/out.jsonl"),
        (("asked.jsonl", "--concurrency", "0"), "--concurrency"),
    ],
)
def test_files_that_cannot_be_used_are_refused_first(
    lab: ScriptedHost, args: tuple[str, ...], message: str
) -> None:
    file = put("a?")
    before = os.stat(file).st_size
    done = pnyx("batch", *args)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert (lab.log, os.stat(file).st_size) == ([], before)
