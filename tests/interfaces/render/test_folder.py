"""The folder of artifacts: written during the run, complete at any time, and equal to the export."""

from __future__ import annotations

import json
import re
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pnyx.protocols import names
from tests.faults.trial import interrupt
from tests.interfaces.cli.test_signals import run_of, wait_for_calls
from tests.interfaces.conftest import KEY
from tests.interfaces.council_runs import council, exported, member, state, tree
from tests.interfaces.shell import pnyx, spawn
from tests.support.forked import start
from tests.support.script import Request
from tests.support.scripted import ScriptedHost
from tests.support.search_service import SearchService


def test_a_council_writes_the_files_that_its_documentation_lists_and_the_export_is_equal(
    lab: ScriptedHost,
) -> None:
    lab.on("*", text=member)
    done = council()
    assert done.code == 0, done.err
    seats, round = ("participant-a", "participant-b", "participant-c"), range(1, 3)
    replies = {
        f"round-{n:03}/{seat}.{what}.md"
        for n in round
        for seat in seats
        for what in ("proposal", "review", "rebuttal", "vote")
    }
    closing = {"participant-b.synthesis.md", *(f"{seat}.confirm.md" for seat in seats)}
    kept = tree("kept")
    assert kept.keys() == {"prompt.md", "state.json", "final.md", *replies, *closing}
    assert kept == exported(done.json["run_id"])
    assert b"> beta's first draft." in kept["round-001/participant-b.proposal.md"]
    assert b"> How many?" in kept["prompt.md"]
    assert state()["result"] == done.json


def test_final_md_has_answer_decision_tally_borda_dissent_and_cost_by_model(lab: ScriptedHost) -> None:
    lab.on("*", text=member)
    council()
    final = Path("kept/final.md").read_text()
    assert "# Answer\n\n> The merged text.\n> Final answer: 42\n" in final
    assert "- settled by: majority\n- shipped: synthesis\n" in final
    assert "endorsements → Participant B, by plurality; 2 of 3 live seats are a majority\n" in final
    assert "| for | votes | Borda points |" in final
    assert "| Participant B | 1 | 6 |" in final
    assert "| Participant B | 3, its own included |\n" in final
    assert "- Participant C: FINALIZE: Participant B\n" in final
    assert "### Participant C (lab:gamma)\n\n> REJECT: too long\n" in final
    assert "| lab:gamma |" in final


@pytest.mark.parametrize("protocol", sorted(names()))
def test_the_folder_of_every_protocol_is_equal_to_its_export(lab: ScriptedHost, protocol: str) -> None:
    done = pnyx("ask", "-p", protocol, "--artifacts", "kept", "--json", "How many are there?")
    assert done.json["answer"], done.err
    kept = tree("kept")
    assert kept == exported(done.json["run_id"])
    assert sum(path.endswith(".md") for path in kept) > 2
    headings = sum(text.count(b"\n# ") + text.startswith(b"# ") for p, text in kept.items() if ".md" in p)
    replies = done.json["usage"]["calls"] - sum(path.endswith(".failed") for path in kept)
    assert headings >= replies + 2


def test_inner_protocols_have_their_own_folders(lab: ScriptedHost) -> None:
    plan = {"subtasks": [{"label": f"../{n}", "question": f"What is {n}?", "needs": []} for n in "ab"]}
    lab.on("*", text=lambda request: json.dumps(plan) if "subtask" in request.text else "It is so.")
    done = pnyx("ask", "-p", "decompose", "--artifacts", "kept", "--json", "What are a and b?")
    assert done.json["detail"]["decomposed"], done.err
    kept = tree("kept")
    folders = {path.rpartition("/")[0] for path in kept}
    assert folders == {"", "round-001", "consensus-1/round-001", "consensus-2/round-001"}
    assert kept == exported(done.json["run_id"])


def test_a_paused_run_is_marked_and_a_resume_updates_its_folder(lab: ScriptedHost) -> None:
    lab.on("*", text=member)
    paused = council("--budget", "0.004")
    assert (paused.code, state()["status"], state()["result"]) == (4, "paused", paused.json)
    run_id = paused.json["run_id"]
    assert tree("kept") == exported(run_id)
    assert "final.md" not in tree("kept")
    done = pnyx("resume", run_id[:6], "--budget", "5", "--artifacts", "kept", "--json")
    assert (done.code, state()["result"]) == (0, done.json), done.err
    assert tree("kept") == exported(run_id)


def test_resuming_a_finished_run_writes_its_folder(lab: ScriptedHost) -> None:
    run_id = pnyx("ask", "--json", "Why?").json["run_id"]
    assert pnyx("resume", run_id, "--artifacts", "kept").code == 0
    assert tree("kept") == exported(run_id)


# Replies that arrive together share a commit: 14 were the fewest of 48 runs on a busy machine.
@pytest.mark.parametrize("kill_at", ["4-", "9+", "12-"])
def test_the_folder_of_a_killed_and_resumed_run_is_equal_to_its_export(
    lab: ScriptedHost, kill_at: str
) -> None:
    lab.on("*", text=member)
    command = (kill_at, "ask", "-p", "council", "--artifacts", "kept", "How many?")
    with start(*command, module="tests.support.kill_at_commit") as killed:
        _, err = killed.communicate(timeout=60)
    assert killed.returncode == -signal.SIGKILL, err.decode()
    run_id = state()["run_id"]
    assert (state()["status"], "final.md" in tree("kept")) == ("running", False)
    before = tree("kept")
    Path("kept/.pnyx.tmp").write_text("half a fi")
    done = pnyx("resume", run_id, "--artifacts", "kept", "--json")
    assert done.code == 0, done.err
    assert state()["result"] == done.json
    assert tree("kept") == exported(run_id)
    assert tree("kept").keys() >= before.keys()


@contextmanager
def reader(look: Callable[[Path], None]) -> Iterator[None]:
    """Call `look` on every file of the folder repeatedly until the block ends; raise what it raised."""
    over, errors = threading.Event(), []

    def read() -> None:
        try:
            while not over.is_set():
                for path in Path("kept").rglob("*"):
                    if path.suffix in (".md", ".json"):
                        look(path)
        except BaseException as exc:
            errors.append(exc)

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    if errors:
        raise errors[0]


def test_a_reader_never_sees_half_a_file_or_a_final_state_without_final_md(lab: ScriptedHost) -> None:
    lab.on("*", text=lambda request: member(request) + "\n" + "and so on\n" * 1_000, delay=0.05)
    seen: dict[Path, set[bytes]] = {}

    def look(path: Path) -> None:
        text = path.read_bytes()
        seen.setdefault(path, set()).add(text)
        if path.suffix == ".json" and json.loads(text)["result"]:
            assert Path("kept/final.md").exists()

    with reader(look):
        done = council("--quick")
    assert done.code == 0, done.err
    files = [path for path in Path("kept").rglob("*") if path.is_file()]
    assert max(files, key=lambda path: path.stat().st_mtime_ns).name == "state.json"
    kept = tree("kept")
    statuses = {json.loads(text)["status"] for text in seen[Path("kept/state.json")]}
    assert "running" in statuses
    for path, texts in seen.items():
        if path.suffix == ".md":
            assert texts == {kept[path.relative_to("kept").as_posix()]}


def test_a_failed_seat_has_a_reason_for_each_phase_it_missed(lab: ScriptedHost) -> None:
    lab.on("*", text=member)
    lab.on("gamma", call=2, status=401, message="no such key")
    lab.on("beta", call=2, text=" ")
    done = council("--quick")
    assert done.code == 5, done.err
    seats = {seat["model"]: seat["seat"][-1].lower() for seat in done.json["seats"]}
    c, b = (f"round-001/participant-{seats[model]}" for model in ("lab:gamma", "lab:beta"))
    kept = {path: text.decode() for path, text in tree("kept").items()}
    first = kept[f"{c}.review.failed"]
    assert first.startswith("round 1, reviewing: Participant C (lab:gamma)\nauth: ")
    assert "no such key" in first
    assert kept[f"{c}.vote.failed"].endswith("dropped: was dropped earlier in this run\n")
    assert f"{c}.vote.md" not in kept
    assert kept[f"{b}.review.failed"] == "round 1, reviewing: Participant B (lab:beta)\nempty reply\n"
    assert tree("kept") == exported(done.json["run_id"])


def test_tool_calls_are_in_the_file_of_the_reply_and_listed_in_final_md(
    lab: ScriptedHost,
) -> None:
    Path("notes.txt").write_text("Seven is prime.")
    lab.on("*", text=member)
    lab.on("alpha", call=1, tool_calls=(("read_file", {"path": "notes.txt"}),))
    done = council("--quick", "--tools")
    (path,) = (p for p, text in tree("kept").items() if b"Seven is prime." in text and ".proposal." in p)
    headings = [line for line in tree("kept")[path].decode().splitlines() if line.startswith("# ")]
    seat = r"# Round 1 · proposing · Participant \w \(lab:alpha\)"
    for heading, fact in zip(
        headings, ["calls read", "read\\\\_file\\(path=notes.txt\\)", "tokens"], strict=True
    ):
        assert re.match(rf"{seat}.*{fact}", heading)
    assert "read\\_file(path=notes.txt)" in Path("kept/final.md").read_text().partition("## Tools used")[2]
    assert tree("kept") == exported(done.json["run_id"])


def test_final_md_of_a_failed_run_says_so(lab: ScriptedHost) -> None:
    lab.on("*", status=401)
    assert council().code == 3
    assert Path("kept/final.md").read_text().startswith("# Answer\n\nNone. ")
    assert state()["status"] == "failed"


def test_replies_are_escaped_and_secrets_masked(lab: ScriptedHost) -> None:
    hostile = f"\x1b[2J\u202e<script>alert(1)</script> ![x](http://evil.example/x) {KEY} \ud800"
    lab.on("*", text=lambda request: member(request) + "\n" + hostile)
    lab.on("gamma", call=2, status=500, message=hostile)
    done = council("--role", f"1={hostile[:-2]}", "--quick")
    kept = b"".join(tree("kept").values())
    assert done.code == 5, done.err
    for live in (b"\x1b", "\u202e".encode(), KEY.encode()):
        assert live not in kept
    pages = b"".join(text for path, text in tree("kept").items() if path.endswith(".md"))
    assert b"alert(1)" in pages
    assert b"\n> <script" not in pages
    assert b" <script" not in pages
    assert b" ![x](" not in pages
    assert tree("kept") == exported(done.json["run_id"])


def test_sources_are_listed_and_cited_ones_marked(lab: ScriptedHost, tmp_path: Path) -> None:
    found = [
        {"title": "Owls", "url": "https://owls.example/", "content": "They turn their heads."},
        {"title": "[x](y)", "url": "https://other.example/", "content": "No."},
    ]
    with SearchService(found) as search:
        with (tmp_path / "lab.toml").open("a") as file:
            file.write(f'[tools.web_search]\nbackend = "searxng"\nbase_url = "{search.url}"\n')
        lab.on("*", text="They turn them far [1].")
        done = pnyx("ask", "--ground", "--artifacts", "kept", "--json", "Owls?")
    assert done.code == 0, done.err
    final = Path("kept/final.md").read_text()
    assert "## Sources\n\n- \\[1\\] Owls: https://owls.example/ (cited)\n- \\[2\\] \\[x\\](y): " in final
    assert b"They turn their heads." in tree("kept")["panel.find-sources.md"]
    assert tree("kept") == exported(done.json["run_id"])


def test_a_folder_with_other_files_is_refused_before_any_call(lab: ScriptedHost) -> None:
    Path("kept").mkdir()
    Path("kept/thesis.md").write_text("my own")
    done = council()
    assert (done.code, done.out) == (2, "")
    assert done.err == "pnyx: kept contains other files; choose a new or an empty folder\n"
    assert lab.log == []
    assert tree("kept") == {"thesis.md": b"my own"}
    Path("kept/state.json").write_text('{"run_id": ["no"]}')
    assert council().code == 2
    assert pnyx("runs", "--json").json == []


def test_the_folder_of_another_run_is_refused_by_ask_resume_fork_and_export(lab: ScriptedHost) -> None:
    first = pnyx("ask", "--artifacts", "kept", "--json", "Why?").json["run_id"]
    second = pnyx("ask", "--json", "And now?").json["run_id"]
    before, sent = tree("kept"), len(lab.log)
    for command in (
        ("ask", "--artifacts", "kept", "Why?"),
        ("resume", second, "--artifacts", "kept"),
        ("resume", first, "--fork", "--artifacts", "kept"),
        ("export", second, "--format", "folder", "--out", "kept"),
    ):
        done = pnyx(*command)
        assert done.code == 2, command
        assert f"kept contains the artifacts of run {first}; " in done.err
    assert (tree("kept"), len(lab.log)) == (before, sent)
    assert pnyx("export", first, "--format", "folder", "--out", "kept").code == 0
    assert tree("kept") == before


@pytest.mark.parametrize("path", ["lab.toml", "lab.toml/below", "/dev/null/below", "/proc/kept"])
def test_a_folder_that_cannot_be_created_is_refused_before_any_call(lab: ScriptedHost, path: str) -> None:
    done = pnyx("ask", "--artifacts", path, "Why?")
    assert done.code == 2
    assert done.err.startswith(f"pnyx: cannot write {path}: ")
    assert lab.log == []


def test_a_dry_run_makes_no_folder(lab: ScriptedHost) -> None:
    assert pnyx("ask", "--dry-run", "--artifacts", "kept", "Why?").code == 0
    assert not Path("kept").exists()


def test_removing_the_folder_causes_one_warning_and_does_not_stop_the_run(lab: ScriptedHost) -> None:
    def text(request: Request) -> str:
        shutil.rmtree("kept", ignore_errors=True)
        return member(request)

    lab.on("*", text=text)
    done = council()
    assert (done.code, done.json["status"]) == (0, "majority")
    assert done.err.count("kept is incomplete: No such file or directory. ") == 1
    assert not Path("kept").exists()
    assert "final.md" in exported(done.json["run_id"])


def test_files_that_cannot_be_written_are_written_later(lab: ScriptedHost) -> None:
    def text(request: Request) -> str:
        if "you review those of the others" in request.text and Path("kept").exists():
            Path("kept").rename("away")
        if "A proposal that more than half" in request.text and Path("away").exists():
            Path("away").rename("kept")
        return member(request)

    lab.on("*", text=text)
    done = council("--quick")
    assert "incomplete" not in done.err
    assert tree("kept") == exported(done.json["run_id"])


def test_one_file_that_cannot_be_written_does_not_affect_the_others(lab: ScriptedHost) -> None:
    def text(request: Request) -> str:
        Path("kept/final.md/in-the-way").mkdir(parents=True, exist_ok=True)
        return member(request)

    lab.on("*", text=text)
    done = council("--quick")
    assert done.err.count("kept is incomplete: ") == 1
    assert tree("kept").keys() == exported(done.json["run_id"]).keys() - {"final.md"}


def test_folders_and_files_are_readable_only_by_their_owner(lab: ScriptedHost) -> None:
    assert pnyx("ask", "--artifacts", "deep/kept", "Why?").code == 0
    root = Path("deep/kept")
    assert {p.stat().st_mode & 0o777 for p in (root, *root.rglob("*")) if p.is_dir()} == {0o700}
    assert {p.stat().st_mode & 0o777 for p in root.rglob("*") if p.is_file()} == {0o600}


def test_an_export_is_written_to_a_folder_named_after_the_run(lab: ScriptedHost) -> None:
    run_id = pnyx("ask", "--artifacts", "kept", "--json", "Why?").json["run_id"]
    done = pnyx("export", run_id[:5], "--format", "folder")
    assert (done.code, done.out, done.err) == (0, "", f"saved to pnyx-{run_id}\n")
    assert tree(f"pnyx-{run_id}") == tree("kept")


def test_after_a_closed_pipe_the_folder_says_paused(lab: ScriptedHost) -> None:
    closed = threading.Event()
    lab.on("alpha", until=closed.is_set)
    with spawn("ask", "--jsonl", "--artifacts", "kept", "Why?") as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        closed.set()
        process.wait(120)
    assert state()["status"] == "paused"
    assert tree("kept") == exported(state()["run_id"])


def test_after_two_signals_the_folder_says_paused(lab: ScriptedHost) -> None:
    lab.on("beta", hang=True)
    with spawn("ask", "--artifacts", "kept", "Why?") as process:
        wait_for_calls(lab, 3)
        interrupt(process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert state()["status"] == "paused"
    assert tree("kept") == exported(run_of(err))
