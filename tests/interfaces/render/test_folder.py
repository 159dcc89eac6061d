"""The folder of artifacts: written while the run goes on, whole at every moment, and exported the same."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pnyx.protocols import names
from tests.interfaces.cli.test_signals import run_of, wait_for_calls
from tests.interfaces.conftest import KEY
from tests.interfaces.council_runs import council, exported, member, state, tree
from tests.interfaces.shell import pnyx, spawn
from tests.support.script import Request
from tests.support.scripted import ScriptedHost
from tests.support.search_service import SearchService

ROOT = Path(__file__).parents[3]


def test_a_council_leaves_the_files_that_its_page_names_and_an_export_gives_the_same_bytes(
    lab: ScriptedHost,
) -> None:
    lab.on("*", text=member)
    done = council()
    assert done.code == 0, done.err
    seats, round = ("participant-a", "participant-b", "participant-c"), range(1, 3)
    said = {
        f"round-{n:03}/{seat}.{what}.md"
        for n in round
        for seat in seats
        for what in ("proposal", "review", "rebuttal", "vote")
    }
    closing = {"participant-b.synthesis.md", *(f"{seat}.confirm.md" for seat in seats)}
    kept = tree("kept")
    assert kept.keys() == {"prompt.md", "state.json", "final.md", *said, *closing}
    assert kept == exported(done.json["run_id"])
    assert b"> beta's first draft." in kept["round-001/participant-b.proposal.md"]
    assert b"> How many?" in kept["prompt.md"]
    assert state()["result"] == done.json


def test_the_last_page_has_answer_decision_tally_borda_dissent_and_cost_by_model(lab: ScriptedHost) -> None:
    lab.on("*", text=member)
    council()
    final = Path("kept/final.md").read_text()
    assert "# Answer\n\n> The merged text.\n> Final answer: 42\n" in final
    assert "- settled by: majority\n- shipped: synthesis\n" in final
    assert "endorsements → Participant B, by plurality; 2 of 3 live seats are a majority\n" in final
    assert "| for | votes | Borda points |" in final
    assert "| Participant B | 1 | 6 |" in final
    assert "| Participant B | 3, its own among them |\n" in final
    assert "- Participant C: FINALIZE: Participant B\n" in final
    assert "### Participant C (lab:gamma)\n\n> REJECT: too long\n" in final
    assert "| lab:gamma |" in final


@pytest.mark.parametrize("protocol", sorted(names()))
def test_every_protocol_is_kept_as_it_is_exported(lab: ScriptedHost, protocol: str) -> None:
    done = pnyx("ask", "-p", protocol, "--artifacts", "kept", "--json", "How many are there?")
    assert done.json["answer"], done.err
    kept = tree("kept")
    assert kept == exported(done.json["run_id"])
    assert sum(path.endswith(".md") for path in kept) > 2
    told = sum(text.count(b"\n# ") + text.startswith(b"# ") for p, text in kept.items() if ".md" in p)
    answered = done.json["usage"]["calls"] - sum(path.endswith(".failed") for path in kept)
    assert told >= answered + 2


def test_runs_inside_a_run_have_folders_of_their_own(lab: ScriptedHost) -> None:
    plan = {"subtasks": [{"label": f"../{n}", "question": f"What is {n}?", "needs": []} for n in "ab"]}
    lab.on("*", text=lambda request: json.dumps(plan) if "subtask" in request.text else "It is so.")
    done = pnyx("ask", "-p", "decompose", "--artifacts", "kept", "--json", "What are a and b?")
    assert done.json["detail"]["decomposed"], done.err
    kept = tree("kept")
    folders = {path.rpartition("/")[0] for path in kept}
    assert folders == {"", "round-001", "consensus-1/round-001", "consensus-2/round-001"}
    assert kept == exported(done.json["run_id"])


def test_a_paused_run_says_so_and_a_resume_brings_its_folder_up_to_date(lab: ScriptedHost) -> None:
    lab.on("*", text=member)
    paused = council("--budget", "0.03")
    assert (paused.code, state()["status"], state()["result"]) == (4, "paused", paused.json)
    run_id = paused.json["run_id"]
    assert tree("kept") == exported(run_id)
    assert "final.md" not in tree("kept")
    done = pnyx("resume", run_id[:6], "--budget", "5", "--artifacts", "kept", "--json")
    assert (done.code, state()["result"]) == (0, done.json), done.err
    assert tree("kept") == exported(run_id)


def test_a_run_that_is_over_is_written_by_a_resume_too(lab: ScriptedHost) -> None:
    run_id = pnyx("ask", "--json", "Why?").json["run_id"]
    assert pnyx("resume", run_id, "--artifacts", "kept").code == 0
    assert tree("kept") == exported(run_id)


@pytest.mark.parametrize("kill_at", ["4-", "9+", "15-"])
def test_killed_and_resumed_the_folder_is_the_same_as_the_export(lab: ScriptedHost, kill_at: str) -> None:
    lab.on("*", text=member)
    command = [sys.executable, "-m", "tests.support.kill_at_commit", kill_at, "ask", "-p", "council"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    killed = subprocess.run(
        [*command, "--artifacts", "kept", "How many?"], env=environment, capture_output=True, timeout=60
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
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
    """Looks at every file of the folder again and again, until the block ends; raises what `look` raised."""
    over, wrong = threading.Event(), []

    def read() -> None:
        try:
            while not over.is_set():
                for path in Path("kept").rglob("*"):
                    if path.suffix in (".md", ".json"):
                        look(path)
        except BaseException as exc:
            wrong.append(exc)

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    if wrong:
        raise wrong[0]


def test_a_reader_never_sees_half_a_file_or_a_final_state_without_its_page(lab: ScriptedHost) -> None:
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


def test_a_seat_that_fails_leaves_the_reason_for_each_phase_it_missed(lab: ScriptedHost) -> None:
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
    assert kept[f"{b}.review.failed"] == "round 1, reviewing: Participant B (lab:beta)\nsaid nothing\n"
    assert tree("kept") == exported(done.json["run_id"])


def test_the_turns_of_a_tool_are_in_the_file_of_the_reply_and_the_last_page_lists_them(
    lab: ScriptedHost,
) -> None:
    Path("notes.txt").write_text("Seven is prime.")
    lab.on("*", text=member)
    lab.on("alpha", call=1, tool_calls=(("read_file", {"path": "notes.txt"}),))
    done = council("--quick", "--tools")
    (path,) = (p for p, text in tree("kept").items() if b"Seven is prime." in text and ".proposal." in p)
    headings = [line for line in tree("kept")[path].decode().splitlines() if line.startswith("# ")]
    who = r"# Round 1 · proposing · Participant \w \(lab:alpha\)"
    for heading, told in zip(
        headings, ["wants read", "read\\\\_file\\(path=notes.txt\\)", "tokens"], strict=True
    ):
        assert re.match(rf"{who}.*{told}", heading)
    assert "read\\_file(path=notes.txt)" in Path("kept/final.md").read_text().partition("## Tools used")[2]
    assert tree("kept") == exported(done.json["run_id"])


def test_a_run_that_fails_says_so_on_its_last_page(lab: ScriptedHost) -> None:
    lab.on("*", status=401)
    assert council().code == 3
    assert Path("kept/final.md").read_text().startswith("# Answer\n\nNone. ")
    assert state()["status"] == "failed"


def test_what_was_said_is_inert_and_secrets_are_masked(lab: ScriptedHost) -> None:
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


def test_sources_are_listed_and_which_are_cited(lab: ScriptedHost, tmp_path: Path) -> None:
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


def test_a_folder_that_holds_anything_else_is_refused_before_any_call(lab: ScriptedHost) -> None:
    Path("kept").mkdir()
    Path("kept/thesis.md").write_text("my own")
    done = council()
    assert (done.code, done.out) == (2, "")
    assert done.err == "pnyx: kept holds something else; name a folder that is empty or new\n"
    assert lab.log == []
    assert tree("kept") == {"thesis.md": b"my own"}
    Path("kept/state.json").write_text('{"run_id": ["no"]}')
    assert council().code == 2
    assert pnyx("runs", "--json").json == []


def test_another_runs_folder_is_refused_for_asking_resuming_forking_and_exporting(lab: ScriptedHost) -> None:
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
        assert f"kept holds the artifacts of run {first}; " in done.err
    assert (tree("kept"), len(lab.log)) == (before, sent)
    assert pnyx("export", first, "--format", "folder", "--out", "kept").code == 0
    assert tree("kept") == before


@pytest.mark.parametrize("path", ["lab.toml", "lab.toml/below", "/dev/null/below", "/proc/kept"])
def test_a_folder_that_cannot_be_had_is_refused_before_any_call(lab: ScriptedHost, path: str) -> None:
    done = pnyx("ask", "--artifacts", path, "Why?")
    assert done.code == 2
    assert done.err.startswith(f"pnyx: cannot write {path}: ")
    assert lab.log == []


def test_a_dry_run_makes_no_folder(lab: ScriptedHost) -> None:
    assert pnyx("ask", "--dry-run", "--artifacts", "kept", "Why?").code == 0
    assert not Path("kept").exists()


def test_a_folder_that_is_removed_costs_one_warning_and_not_the_run(lab: ScriptedHost) -> None:
    def text(request: Request) -> str:
        shutil.rmtree("kept", ignore_errors=True)
        return member(request)

    lab.on("*", text=text)
    done = council()
    assert (done.code, done.json["status"]) == (0, "majority")
    assert done.err.count("kept is not complete: No such file or directory; ") == 1
    assert not Path("kept").exists()
    assert "final.md" in exported(done.json["run_id"])


def test_what_could_not_be_written_for_a_while_is_written_when_it_can_be(lab: ScriptedHost) -> None:
    def text(request: Request) -> str:
        if "you review those of the others" in request.text and Path("kept").exists():
            Path("kept").rename("away")
        if "A proposal that more than half" in request.text and Path("away").exists():
            Path("away").rename("kept")
        return member(request)

    lab.on("*", text=text)
    done = council("--quick")
    assert "not complete" not in done.err
    assert tree("kept") == exported(done.json["run_id"])


def test_one_file_that_cannot_be_written_keeps_no_other_from_being_written(lab: ScriptedHost) -> None:
    def text(request: Request) -> str:
        Path("kept/final.md/in-the-way").mkdir(parents=True, exist_ok=True)
        return member(request)

    lab.on("*", text=text)
    done = council("--quick")
    assert done.err.count("kept is not complete: ") == 1
    assert tree("kept").keys() == exported(done.json["run_id"]).keys() - {"final.md"}


def test_folders_and_files_are_the_owners_alone(lab: ScriptedHost) -> None:
    assert pnyx("ask", "--artifacts", "deep/kept", "Why?").code == 0
    root = Path("deep/kept")
    assert {p.stat().st_mode & 0o777 for p in (root, *root.rglob("*")) if p.is_dir()} == {0o700}
    assert {p.stat().st_mode & 0o777 for p in root.rglob("*") if p.is_file()} == {0o600}


def test_an_export_goes_to_a_folder_named_after_the_run(lab: ScriptedHost) -> None:
    run_id = pnyx("ask", "--artifacts", "kept", "--json", "Why?").json["run_id"]
    done = pnyx("export", run_id[:5], "--format", "folder")
    assert (done.code, done.out, done.err) == (0, "", f"written to pnyx-{run_id}\n")
    assert tree(f"pnyx-{run_id}") == tree("kept")


def test_a_reader_of_stdout_that_leaves_leaves_a_folder_that_tells_of_the_pause(lab: ScriptedHost) -> None:
    lab.on("alpha", delay=0.3)
    with spawn("ask", "--jsonl", "--artifacts", "kept", "Why?") as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        process.wait(30)
    assert state()["status"] == "paused"
    assert tree("kept") == exported(state()["run_id"])


def test_interrupted_twice_the_folder_tells_of_the_pause(lab: ScriptedHost) -> None:
    lab.on("beta", hang=True)
    with spawn("ask", "--artifacts", "kept", "Why?") as process:
        wait_for_calls(lab, 3)
        process.send_signal(signal.SIGINT)
        threading.Event().wait(0.3)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert state()["status"] == "paused"
    assert tree("kept") == exported(run_of(err))
