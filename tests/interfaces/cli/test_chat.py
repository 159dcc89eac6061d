"""`pnyx chat` in a script: follow-ups, commands, resuming, errors."""

from __future__ import annotations

import io
import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from tests.faults.trial import interrupt
from tests.interfaces.cli.test_signals import run_of, wait_for_calls
from tests.interfaces.shell import Done, exit_code, pnyx, spawn
from tests.support.script import Request
from tests.support.scripted import ScriptedHost
from tests.support.sources import ROOT

Talk = Callable[..., Done]


@pytest.fixture
def talk(lab: ScriptedHost, tmp_path: Path) -> Talk:
    """Run `pnyx chat` in this process, with these lines on a stdin that is not a terminal."""

    def talk(*lines: str | bytes, args: tuple[str, ...] = ()) -> Done:
        input_file = tmp_path / "stdin"
        input_file.write_bytes(b"".join((x if isinstance(x, bytes) else x.encode()) + b"\n" for x in lines))
        out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
        with open(input_file) as stdin, mock.patch.multiple(sys, stdin=stdin, stdout=out, stderr=err):
            code = exit_code(["chat", *args])
        return Done(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))

    return talk


def asked(request: Request) -> str:
    """All messages of the request."""
    return json.dumps(request.body["messages"], ensure_ascii=False)


def conversation_of(err: str) -> str:
    found = re.search(r"pnyx chat --resume (\w+)", err)
    assert found, err
    return found[1]


def test_a_follow_up_sees_the_question_and_the_decision_before_it_as_fenced_material(
    lab: ScriptedHost, talk: Talk
) -> None:
    lab.on("*", text="Postgres it is.\nFinal answer: yes")
    done = talk("Which database?", "And which version?")
    assert (done.code, done.out) == (0, "Postgres it is.\nFinal answer: yes\n" * 2)
    first, second = lab.log[:4], lab.log[4:]
    assert len(second) == 4
    assert not any("Which version?" in asked(request) for request in first)
    for request in second:
        text = asked(request)
        fence = re.search(r"<(m\w{10}) Turn 1>(.*?)</\1>", text)
        assert fence, text
        assert "Question: Which database?" in fence[2]
        assert "Decision (consensus): Postgres it is." in fence[2]
        assert "And which version?" in text.replace(fence[0], "")


def test_requests_of_later_turns_begin_with_what_an_earlier_turn_sent(lab: ScriptedHost, talk: Talk) -> None:
    lab.on("*", text="Postgres it is.\nFinal answer: yes")
    first = talk("Which database?", "Which version?", args=("-p", "single"))
    talk("Which disk?", args=("--resume", conversation_of(first.err), "-p", "single"))
    _, second, third = (request.body["messages"] for request in lab.log)
    assert third[0] == second[0]
    shared = second[1]["content"].partition("The question:")[0]
    assert "Turn 1>" in shared
    assert third[1]["content"].startswith(shared)
    assert "Turn 2>" in third[1]["content"]


def test_turns_are_runs_like_any_other(lab: ScriptedHost, talk: Talk) -> None:
    done = talk("One?", "/protocol single", "Two?")
    runs = pnyx("runs", "--json").json
    assert [(run["question"], run["protocol"]) for run in runs] == [("Two?", "single"), ("One?", "consensus")]
    assert all(f"run {run['run_id']} · pnyx show {run['run_id']}" in done.err for run in runs)
    assert pnyx("show", runs[0]["run_id"]).out.startswith("Question\n    Two?\n")


def test_a_conversation_continues_in_another_process_by_its_id_or_the_id_of_a_run(
    lab: ScriptedHost, talk: Talk
) -> None:
    lab.on("*", text="Forty-two.")
    first = conversation_of(talk("How many?", args=("-p", "single")).err)
    run_id = pnyx("runs", "--json").json[0]["run_id"]
    for turn, name in enumerate((first[:8], run_id), 2):
        with spawn("chat", "-p", "single", "--resume", name, stdin=subprocess.PIPE) as process:
            out, err = process.communicate(f"Is turn {turn} sure?\n".encode(), timeout=60)
        assert (process.returncode, out) == (0, b"Forty-two.\n")
        assert f"conversation {first} · {turn} turns" in err.decode()
        assert "How many?" in err.decode()
    text = asked(lab.log[-1])
    assert re.search(r"Turn 1>.*How many\?.*Forty-two\..*Turn 2>.*Is turn 2 sure\?.*Forty-two\.", text)


def test_a_fork_of_a_turn_is_the_newest_turn(lab: ScriptedHost, talk: Talk) -> None:
    lab.on("alpha", text=lambda request: f"Reply {len(lab.log)}.")
    first = talk("One?", args=("-p", "single"))
    run_id = pnyx("runs", "--json").json[0]["run_id"]
    fork = pnyx("resume", run_id, "--fork", "--json").json["run_id"]
    again = talk("Two?", "/show 2", args=("-p", "single", "--resume", fork))
    assert conversation_of(again.err) == conversation_of(first.err)
    assert f"run {fork} · pnyx export {fork}" in again.out
    assert "Turn 2" in asked(lab.log[-1])


def test_an_unknown_conversation_is_refused_before_any_call(lab: ScriptedHost, talk: Talk) -> None:
    apart = pnyx("ask", "-p", "single", "--json", "Why?").json["run_id"]
    sent = len(lab.log)
    for name in ("nope", apart, ""):
        done = talk("Why?", args=("--resume", name))
        assert (done.code, done.out) == (2, "")
        assert f"no conversation '{name}'" in done.err
    assert len(lab.log) == sent


def test_earlier_turns_fit_the_smallest_window_and_cuts_are_visible(
    lab: ScriptedHost, talk: Talk, tmp_path: Path
) -> None:
    settings = tmp_path / "lab.toml"
    settings.write_text(
        settings.read_text().replace('[models."lab:beta"]', '[models."lab:beta"]\ncontext = 4000')
    )
    lab.on("*", text=lambda request: f"answer to call {len(lab.log)} " + "very long " * 2000 + "the end")
    pnyx("ask", "-p", "single", "Q0?")
    bare = len(asked(lab.log[-1]))
    talk(*(f"Q{n}?" for n in range(1, 10)), args=("-p", "single"))
    text = asked(lab.log[-1])
    # A quarter of 4000 tokens of two bytes each, and the text around them.
    assert 1500 < len(text) - bare < 3500
    assert "Q8?" in text
    assert "Q1?" not in text
    assert text.count("(cut here)") >= 2
    assert re.search(r"Earlier turns>\\nLeft out: \d\.", text)
    assert "the end" not in text


def test_a_paused_turn_says_how_to_resume_and_a_later_turn_sees_its_decision(
    lab: ScriptedHost, talk: Talk
) -> None:
    lab.on("*", text=lambda request: f"Reply {len(lab.log)}.")
    done = talk("/budget 0.003", "Costly?")
    assert done.code == 0
    run_id = run_of(done.err.encode())
    assert f"pnyx resume {run_id} --budget 0." in done.err
    decided = pnyx("resume", run_id, "--budget", "1").out.strip()
    talk("/protocol single", "So?", args=("--resume", conversation_of(done.err)))
    assert f"Decision (decided): {decided}" in asked(lab.log[-1])


def test_a_turn_without_a_decision_is_marked_for_later_turns(lab: ScriptedHost, talk: Talk) -> None:
    lab.on("beta", status=401)
    lab.on("gamma", status=401)
    lab.on("alpha", text="A mere proposal.")
    done = talk("First?", "/protocol single", "Second?")
    assert done.code == 0
    assert "pnyx: failed (no_quorum)" in done.err
    assert "Best answer so far; nothing was decided: A mere proposal." in asked(lab.log[-1])


def test_commands_change_the_next_turns_and_cost_nothing(lab: ScriptedHost, talk: Talk) -> None:
    done = talk("/rounds 2", "/quick", "/deep", "/protocol voting", "/budget 0.5", "/budget", "/protocol")
    assert (done.code, done.out, lab.log) == (0, "", [])
    prefix = "next questions: "
    choices = [line.removeprefix(prefix) for line in done.err.splitlines() if line.startswith(prefix)]
    assert choices[:4] == ["consensus, 2 rounds", "consensus, quick", "consensus, deep", "voting"]
    assert choices[4] == "voting, at most $0.5000 per question"
    assert "0 turns, $0; at most $0.5000 per question" in done.err
    assert re.search(r"^\* +voting ", done.err, re.MULTILINE)
    assert re.search(r"^ +council ", done.err, re.MULTILINE)
    assert "pnyx chat --resume" not in done.err


def test_a_list_has_the_turns_and_how_to_continue_other_conversations(lab: ScriptedHost, talk: Talk) -> None:
    lab.on("*", text="It is so.\nFinal answer: yes")
    other = conversation_of(talk("/protocol single", "Earlier?").err)
    done = talk("/protocol single", f"Why? {'very ' * 40}", "And then?", "/list")
    turns = [line for line in done.err.splitlines() if re.match(r"\d  ", line)]
    assert [line.split()[:3] for line in turns] == [["1", "single", "Why?"], ["2", "single", "And"]]
    assert max(map(len, turns)) < 90
    assert f"\npnyx chat --resume {other}  Earlier?\n" in done.err


def test_rounds_presets_and_protocol_apply_to_the_next_run(lab: ScriptedHost, talk: Talk) -> None:
    talk("/rounds 2", "A?", "/quick", "B?", "/protocol single", "C?")
    runs = {run["question"]: run for run in pnyx("runs", "--json").json}
    assert (runs["A?"]["rounds"], runs["A?"]["protocol"]) == (2, "consensus")
    assert runs["B?"]["rounds"] == 1
    assert (runs["C?"]["protocol"], runs["C?"]["usage"]["calls"]) == ("single", 1)


def test_options_apply_to_the_first_question(lab: ScriptedHost, talk: Talk) -> None:
    done = talk("A?", args=("-p", "single", "-m", "lab:gamma", "--budget", "0.5", "--no-tools"))
    assert [request.model for request in lab.log] == ["gamma"]
    assert "run " in done.err
    assert talk("A?", args=("-p", "nope")).code == 2
    assert talk("A?", args=("-p", "single", "--rounds", "2")).code == 2


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "/protocl voting",
            "unknown command /protocl; did you mean /protocol? To start a question with /",
        ),
        ("/nope 1", "unknown command /nope; the commands are /protocol, /panel, /rounds, /quick, /deep,"),
        ("/etc/hosts is what?", "To start a question with /, type //"),
        ("/protocol nope", "no protocol 'nope'; installed: aggregate, auto, consensus"),
        ("/rounds x", "consensus.rounds must be a whole number, not 'x'"),
        ("/rounds 99", "consensus.rounds must be between 1 and "),
        ("/budget -1", "'-1' is not a number above zero"),
        ("/quick please", "/quick takes no argument"),
        ("/show", "there is no turn yet"),
        ("/budget 1e999", "is not a number above zero"),
        ("/save", "/save requires a file name: /save FILE, or /save FILE! to overwrite a file"),
        ("/save a.md", "there is no turn yet"),
        ("/file ~nobody-here/a.md", "~nobody-here/a.md must not begin with ~ and the name of a user"),
        ("/dir ~nobody-here", "~nobody-here must not begin with ~ and the name of a user"),
        (b"\xff?", "is not UTF-8"),
        (b"a\0b", "contains NUL"),
    ],
)
def test_an_error_is_reported_and_the_session_continues(
    lab: ScriptedHost, talk: Talk, line: str | bytes, expected: str
) -> None:
    done = talk(line, "/protocol single", "Why?")
    assert (done.code, len(lab.log)) == (0, 1)
    assert expected in next(text for text in done.err.splitlines() if text.startswith("pnyx: "))
    assert done.out


def test_a_line_that_is_too_long_is_refused_and_the_next_one_answered(lab: ScriptedHost, talk: Talk) -> None:
    done = talk(b"x" * (5 << 20), "Why?", args=("-p", "single"))
    assert "longer than 4 MiB" in done.err
    assert "Why?" in asked(lab.log[0])


def test_show_is_what_pnyx_show_prints(lab: ScriptedHost, talk: Talk) -> None:
    done = talk("One?", "Two?", "/show 1", "/show", f"/show {'3' * 5000}", args=("-p", "single", "-q"))
    two, one = pnyx("runs", "--json").json
    answers = f"{one['answer']}\n{two['answer']}\n"
    assert done.out == answers + pnyx("show", one["run_id"]).out + pnyx("show", two["run_id"]).out
    assert done.err == "pnyx: /show [N]: N is the number of a turn, 1 to 2\n"


def test_save_writes_question_answer_dissent_and_cost_and_overwrites_only_with_a_mark(
    lab: ScriptedHost, talk: Talk, tmp_path: Path
) -> None:
    lab.on("beta", text="I object to <b>that</b>, sk-planted-0123456789.")
    done = talk("One?", "/save talk.md", "Two?", "/save talk.md", "/save deep/er.md", args=("--rounds", "1"))
    page = (tmp_path / "talk.md").read_text()
    assert page.startswith(f"# Conversation {conversation_of(done.err)}\n\n1 turn, $0.00")
    assert "> One?" in page
    assert "Two?" not in page
    assert "I object to \\<b>that\\</b>, [redacted]." in page
    assert "## Dissent" in page
    assert "cannot write deep/er.md: No such file or directory" in done.err
    assert "talk.md already exists; overwrite it with: /save talk.md!" in done.err
    talk("/save talk.md!", args=("--resume", conversation_of(done.err)))
    page = (tmp_path / "talk.md").read_text()
    assert page.index("> One?") < page.index("## Answer") < page.index("> Two?")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lab.toml", "stdin", "talk.md"]


def test_help_lists_every_command_and_exit_ends_the_session(lab: ScriptedHost, talk: Talk) -> None:
    done = talk("/help", "/exit", "Why?")
    assert (done.code, done.out, lab.log) == (0, "", [])
    listed = re.findall(r"^/(\w+)", done.err, re.MULTILINE)
    assert listed == [
        *("protocol", "panel", "rounds", "quick", "deep", "budget", "file", "dir", "diff", "url", "files"),
        *("show", "list", "save", "help", "exit"),
    ]
    page = (ROOT / "docs" / "chat.md").read_text()
    assert {f"/{name}" for name in listed} <= set(re.findall(r"`(/\w+)", page))


@pytest.mark.parametrize("line", ["/quit", "/q", "exit", "Quit", ":q"])
def test_the_words_of_other_programs_end_the_session_and_ask_nothing(
    lab: ScriptedHost, talk: Talk, line: str
) -> None:
    done = talk(line, "Why?")
    assert (done.code, done.out, lab.log) == (0, "", [])


def test_commands_have_the_names_of_other_programs_too(talk: Talk) -> None:
    done = talk("/?", "/cost", "/history")
    assert "/help                 list these commands" in done.err
    assert "0 turns, $0; no budget per question" in done.err
    assert "there is no turn yet, and no other conversation" in done.err


def test_the_script_in_the_docs_runs(lab: ScriptedHost, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "chat.md").read_text()
    (script,) = re.findall(r"^printf .*", page, re.MULTILINE)
    command = script.replace("pnyx chat", f"{sys.executable} -m pnyx chat")
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "answers.txt").read_text().count("Final answer: ") == 2
    assert "> Which version of it?" in (tmp_path / "decision.md").read_text()


def test_two_slashes_ask_a_question_that_begins_with_one(lab: ScriptedHost, talk: Talk) -> None:
    talk("//etc/hosts is what?", args=("-p", "single"))
    assert pnyx("runs", "--json").json[0]["question"] == "/etc/hosts is what?"


def test_blank_lines_and_an_empty_stdin_ask_nothing(lab: ScriptedHost, talk: Talk) -> None:
    assert (talk("", "  ", "\t").code, talk().code, lab.log) == (0, 0, [])


def test_the_last_line_may_lack_its_line_end_and_quiet_prints_only_answers(lab: ScriptedHost) -> None:
    lab.on("*", text="So.")
    with spawn("chat", "-q", "-p", "single", stdin=subprocess.PIPE) as process:
        done = process.communicate(b"Why?\nHow?", timeout=60)
    assert (process.returncode, *done) == (0, b"So.\nSo.\n", b"")


def test_a_closed_stdin_ends_the_session(lab: ScriptedHost) -> None:
    command = '"$0" -m pnyx chat <&-'
    done = subprocess.run(["sh", "-c", command, sys.executable], timeout=60, capture_output=True)
    assert (done.returncode, done.stdout) == (0, b"")


def test_a_failed_turn_is_reported_and_the_next_one_answered(lab: ScriptedHost, talk: Talk) -> None:
    lab.on("alpha", call=1, status=401)
    done = talk("One?", "Two?", args=("-p", "single", "-m", "lab:alpha"))
    assert (done.code, len(lab.log)) == (0, 2)
    assert "failed (no_quorum)" in done.err
    assert done.out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_a_script_ends_the_debate_and_the_session(
    lab: ScriptedHost, number: signal.Signals
) -> None:
    lab.on("alpha", text="The proposal.")
    answered = threading.Event()
    for model in ("beta", "gamma"):
        lab.on(model, until=answered.is_set)
    with spawn("chat", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(b"Why?\nAnd then?\n")
        process.stdin.flush()
        wait_for_calls(lab, 3)
        interrupt(process, number)
        answered.set()
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (130, b"The proposal.\n")
    assert len(lab.log) == 3
    assert pnyx("resume", run_of(err)).code == 0
    assert "1 turn" in err.decode()


def test_a_closed_pipe_ends_the_session(lab: ScriptedHost) -> None:
    with spawn("chat", "-p", "single", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.close()
        process.stdin.write(b"One?\nTwo?\nThree?\n")
        process.stdin.close()
        process.wait(60)
        assert process.stderr is not None
        err = process.stderr.read()
    assert process.returncode == 0
    assert len(lab.log) == 1
    assert not re.search(rb"pnyx: |Traceback|Errno", err), err.decode()


def test_a_conversation_keeps_its_files_until_they_are_cleared(lab: ScriptedHost, talk: Talk) -> None:
    lab.on("*", text="It is so.\nFinal answer: yes")
    Path("notes.md").write_text("the notes")
    Path("more").mkdir()
    Path("more/a.py").write_text("x = 1")
    lines = ["/file notes.md", "/dir more *.py", "/files", "What?", "And?", "/files clear", "Now?", "/file"]
    done = talk(*lines, args=("-m", "lab:alpha", "-p", "single"))
    assert done.code == 0, done.err
    assert "files: notes.md (9 bytes), more/a.py (5 bytes)" in done.err
    assert "say which one: /file PATH" in done.err
    first, second, third = map(asked, lab.log)
    for text in (first, second):
        assert "1| the notes" in text
        assert "1| x = 1" in text
    assert "the notes" not in third
