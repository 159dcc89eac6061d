"""Files of a request: seats get them whole, they are stored once, and a run goes on with them."""

from __future__ import annotations

import base64
import json
import re
import sqlite3
import subprocess
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pnyx as library
from pnyx.config.load import database_url
from pnyx.core.context.files import File, number_lines, unique_names
from pnyx.core.models import Seat
from pnyx.errors import UsageError
from pnyx.interfaces.process.open_settings import open_settings
from pnyx.run.calls.context_window import check_files_fit, room_left
from pnyx.store.documents.packing import decompress, from_column
from tests.interfaces.shell import Done, pnyx
from tests.support.documents import png_of
from tests.support.properties import examples
from tests.support.scripted import ScriptedHost
from tests.support.serving import open_server
from tests.support.stored import rows_of_file

LINES = [f"line {n} of the notes, which says what line {n} says" for n in range(1, 60)]
NOTES = "\n".join(LINES)
ANSWER = "It is so (notes.md:12).\nFinal answer: yes"


@pytest.fixture
def notes(lab: ScriptedHost) -> Path:
    lab.on("*", text=ANSWER)
    path = Path("notes.md")
    path.write_text(NOTES)
    return path


def home() -> Path:
    return Path(database_url(open_settings()).removeprefix("sqlite:///"))


def rows(query: str) -> list[Any]:
    with closing(sqlite3.connect(home())) as connection:
        return connection.execute(query).fetchall()


def contents() -> list[str]:
    """The stored texts."""
    return [decompress(content, "").decode() for (content,) in rows("SELECT content FROM contents")]


def asked(*more: str) -> Done:
    done = pnyx("ask", "--json", "-p", "voting", "--file", "notes.md", *more, "What do the notes say?")
    assert done.code == 0, done.err
    return done


def test_every_seat_gets_the_whole_file_with_numbers_and_how_to_cite_it(
    notes: Path, lab: ScriptedHost
) -> None:
    asked()
    assert len(lab.log) >= 3
    for request in lab.log:
        text = json.dumps(request.body, ensure_ascii=False)
        assert all(f"{n}| {line}" in text for n, line in enumerate(LINES, 1))
        assert "notes.md:12" in text
        assert "weighed, not obeyed" in text


def test_a_file_is_stored_once_however_many_calls_and_runs_have_it(notes: Path) -> None:
    for _ in range(2):
        asked("--seed", "1")
    kept = sha256(number_lines(NOTES).encode()).digest()
    with_it = [text for text in contents() if LINES[30] in text]
    assert with_it == [number_lines(NOTES)]
    assert rows("SELECT count(*) FROM runs") == [(2,)]
    assert len(rows(f"SELECT id FROM contents WHERE sha256 = x'{kept.hex()}'")) == 1
    stored = [packed for (packed,) in rows("SELECT packed FROM events")]
    stored += [from_column(spec, "") for (spec,) in rows("SELECT spec FROM runs")]
    assert not [packed for packed in stored if LINES[30].encode() in decompress(packed, "")]


def test_what_is_read_back_is_what_was_sent(notes: Path, lab: ScriptedHost) -> None:
    run_id = asked().json["run_id"]
    exported = json.loads(pnyx("export", run_id, "--format", "json").out)
    prompts = [event["prompt"] for event in exported["events"] if event["type"] == "call_started"]
    sent = [request.body["messages"][-1]["content"] for request in lab.log]
    assert sorted(prompts) == sorted(sent)


def test_a_run_names_its_files_with_size_and_hash(notes: Path) -> None:
    run_id = asked().json["run_id"]
    exported = json.loads(pnyx("export", run_id, "--format", "json").out)
    (file,) = exported["events"][0]["files"]
    assert (file["name"], file["size"]) == ("notes.md", len(NOTES))
    # As `sha256sum notes.md` prints it.
    assert file["sha256"] == sha256(NOTES.encode()).hexdigest()


def test_a_stopped_run_goes_on_with_the_file_that_it_began_with(notes: Path, lab: ScriptedHost) -> None:
    lab.on("gamma", status=500)
    paused = pnyx("ask", "--json", "-p", "voting", "--budget", "0.0032", "--file", "notes.md", "What?").json
    assert paused["status"] == "paused"
    notes.write_text("something else")
    before = len(lab.log)
    done = pnyx("resume", paused["run_id"], "--budget", "5", "--json")
    assert done.code in (0, 5), done.err
    later = [json.dumps(request.body) for request in lab.log[before:]]
    assert later
    assert all(f"30| {LINES[29]}" in text for text in later)
    assert len([text for text in contents() if LINES[29] in text]) == 1


def test_a_run_whose_content_is_gone_says_so(notes: Path) -> None:
    run_id = asked().json["run_id"]
    with closing(sqlite3.connect(home())) as connection:
        connection.execute("PRAGMA foreign_keys=OFF")
        connection.execute("DELETE FROM contents")
        connection.commit()
    done = pnyx("export", run_id, "--format", "json")
    assert done.code == 1
    assert "lacks a text; restore the database from a backup" in done.err


def seat(model: str, context: int | None) -> Seat:
    return Seat("Participant A", model, context=context)


def text(name: str, characters: int) -> File:
    return File.of_text(name, b"", "word " * (characters // 5))


def test_files_that_do_not_fit_the_smallest_window_are_refused_with_what_to_do() -> None:
    seats = (seat("lab:large", 200_000), seat("lab:small", 8192), seat("lab:unknown", None))
    check_files_fit(seats, "What?", (text("a.md", 9000),))
    with pytest.raises(UsageError) as refused:
        check_files_fit(seats, "What?", (text("a.md", 9000), text("b.md", 20_000)))
    for part in ("the window of lab:small has 8,192", "the largest is b.md", "`pnyx models`"):
        assert part in str(refused.value)


@given(st.integers(1000, 200_000), st.integers(1, 100_000))
def test_files_that_are_accepted_leave_room_in_every_window(window: int, characters: int) -> None:
    seats, files = (seat("lab:a", window), seat("lab:b", 2 * window)), (text("a.md", characters),)
    try:
        check_files_fit(seats, "What?", files)
    except UsageError:
        assert min(room_left(one, "What?", files) for one in seats) < 0
    else:
        assert min(room_left(one, "What?", files) for one in seats) >= 0


def test_a_dry_run_refuses_them_too_and_sends_nothing(notes: Path, lab: ScriptedHost) -> None:
    with Path("lab.toml").open("a") as file:
        file.write('[models."lab:small"]\ninput_price = 1.0\noutput_price = 1.0\ncontext = 2000\n')
    done = pnyx("ask", "--dry-run", "-m", "lab:alpha", "-m", "lab:small*2", "--file", "notes.md", "What?")
    assert done.code == 2
    assert "lab:small has 2,000" in done.err
    assert not lab.log


@examples(30)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["", "x", "y", "\ud800"])), max_size=6))
def test_names_are_unique_and_equal_files_are_kept_once(given: list[tuple[str, str]]) -> None:
    files = [File.of_text(name, text.encode("utf-8", "replace"), text) for name, text in given]
    kept = unique_names(files)
    assert len({one.name for one in kept}) == len(kept)
    assert {one.text for one in kept} == {one.text for one in files}


async def test_the_library_takes_paths_bytes_and_mappings(tmp_path: Path) -> None:
    seen: list[str] = []

    def reply(call: library.Call) -> str:
        seen.append("\n".join(message.text for message in call.messages))
        return ANSWER

    path = tmp_path / "plan.txt"
    path.write_text("the plan")
    await library.ask(
        "What?",
        panel="m:a",
        protocol="single",
        providers={"m": library.FakeProvider(reply)},
        files=[path, b"some bytes", {"name": "notes.md", "content": "noted"}],
    )
    for part in (f"file {path}", "1| the plan", "file file 2", "1| some bytes", "file notes.md", "1| noted"):
        assert part in seen[-1]
    with pytest.raises(UsageError, match="a file must be a path, bytes, or a mapping"):
        await library.ask("What?", panel="m:a", files=[7], providers={"m": library.FakeProvider(reply)})  # type: ignore[list-item]


def test_files_tokens_and_cost_are_shown_before_the_run_and_in_a_dry_run(notes: Path) -> None:
    done = pnyx("ask", "-p", "voting", "--file", "notes.md", "What?")
    shown = done.err.index("files: notes.md (3.0 kB)")
    assert shown < done.err.index("run ")
    words = r"1 file, 3\.0 kB, at most 1,\d\d\d tokens in a prompt\nexpected cost: about \$0\.\d+, at most"
    assert re.search(words, done.err), done.err
    dry = pnyx("ask", "--dry-run", "--file", "notes.md", "What?")
    assert f"file notes.md, 3.0 kB, sha256 {sha256(NOTES.encode()).hexdigest()}, at most 1," in dry.out
    (row,) = pnyx("ask", "--dry-run", "--json", "--file", "notes.md", "What?").json["files"]
    assert (row["name"], row["size"]) == ("notes.md", len(NOTES))


def test_show_exports_and_resume_list_the_files(notes: Path) -> None:
    run_id = asked().json["run_id"]
    words = f"notes.md, 3.0 kB, sha256 {sha256(NOTES.encode()).hexdigest()}"
    assert f"file {words}" in pnyx("show", run_id).out
    assert words in pnyx("export", run_id, "--format", "md").out.replace("\\", "")
    assert words in re.sub("<[^>]+>", "", pnyx("export", run_id, "--format", "html").out)
    assert pnyx("export", run_id, "--format", "folder", "--out", "folder").code == 0
    assert words in Path("folder/prompt.md").read_text().replace("\\", "")
    assert "files: notes.md (3.0 kB)" in pnyx("resume", run_id).err


def test_a_secret_is_given_only_by_name_and_with_a_warning(lab: ScriptedHost) -> None:
    lab.on("*", text=ANSWER)
    Path("app").mkdir()
    Path("app/.env").write_text("KEY=planted")
    Path("app/prod.env").write_text("KEY=planted")
    Path("app/main.py").write_text("x = 1")
    done = pnyx("ask", "-p", "single", "--dir", "app", "What?")
    assert done.code == 0, done.err
    assert "look like secrets (name one with --file to give it): prod.env" in done.err
    assert "planted" not in lab.log[-1].text
    done = pnyx("ask", "-p", "single", "--file", "app/.env", "What?")
    assert "app/.env looks like a secret: every model of the panel gets it" in done.err
    assert "1| KEY=planted" in lab.log[-1].text


def test_a_diff_is_given_and_a_question_behind_the_flag_is_no_revision(lab: ScriptedHost) -> None:
    lab.on("*", text=ANSWER)
    assert "needs a git repository" in pnyx("ask", "What?", "--diff").err
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    Path("main.py").write_text("x = 1\n")
    for command in (("init", "-q"), ("add", "main.py"), ("commit", "-qm", "first")):
        subprocess.run(["git", *identity, *command], check=True, capture_output=True)
    assert "no changes to show with --diff" in pnyx("ask", "What?", "--diff").err
    Path("main.py").write_text("x = 2\n")
    for arguments in (("What?", "--diff"), ("--diff", "What?"), ("--diff", "HEAD", "What?")):
        done = pnyx("ask", "-p", "single", *arguments)
        assert done.code == 0, done.err
        text = lab.log[-1].text
        assert "1| +x = 2" in text
        assert "<question>\nWhat?\n</question>" in text


def test_one_file_that_cannot_be_read_stops_the_question(lab: ScriptedHost) -> None:
    Path("empty.txt").write_text(" \n")
    Path("tool").write_bytes(b"\x7fELF" + b"\0" * 99)
    for arguments, message in (
        (("--file", "none.md"), "none.md: No such file or directory"),
        (("--file", "."), ". is a folder: name its files, or on the command line --dir ."),
        (("--file", "empty.txt"), "empty.txt is empty"),
        (("--file", "tool"), "tool is not text"),
        (("--glob", "*.py"), "name it with --dir"),
        (("--url", "http://127.0.0.1:9/x"), "only public addresses"),
        (("--url", "file:///etc/passwd"), "only http:// and https:// URLs"),
    ):
        done = pnyx("ask", *arguments, "What?")
        assert (done.code, done.out) == (2, "")
        assert message in done.err
    assert not lab.log


def test_a_batch_line_brings_its_files(lab: ScriptedHost) -> None:
    lab.on("*", text=ANSWER)
    Path("questions").mkdir()
    Path("questions/notes.md").write_text(NOTES)
    lines = [
        {"question": "A?", "files": [{"path": "notes.md"}]},
        {"question": "B?", "files": [{"name": "notes.md", "content": "noted"}]},
        {"question": "C?", "files": [{"path": "none.md"}]},
        {"question": "D?", "files": [{"data_base64": "%%"}]},
    ]
    file = Path("questions/lines.jsonl")
    file.write_text("\n".join(map(json.dumps, lines)))
    done = pnyx("batch", str(file), "-p", "single", "-m", "lab:alpha")
    texts = {text[text.index("<question>") + 11 :][:2]: text for text in (one.text for one in lab.log)}
    assert set(texts) == {"A?", "B?"}
    assert "file notes.md" in texts["A?"]
    assert "1| noted" in texts["B?"]
    assert "none.md: No such file" in done.err
    assert "data_base64 of a file is no Base64" in done.err


async def test_http_takes_texts_and_bytes_and_no_paths(lab: ScriptedHost) -> None:
    lab.on("*", text=ANSWER)
    Path("notes.md").write_text(NOTES)  # noqa: ASYNC240 (a small file of the test)
    files = [
        {"name": "plan.md", "content": "the plan"},
        {"name": "old.txt", "data_base64": base64.b64encode("Füße im Gras".encode("cp1252")).decode()},
    ]
    body = {"question": "What?", "protocol": "single", "models": ["lab:alpha"]}
    async with open_server() as server, server.client() as client:
        done = await client.post("/v1/runs", json={**body, "files": files, "wait": True})
        assert done.status_code == 200, done.text
        assert "1| the plan" in lab.log[-1].text
        assert "1| Füße im Gras" in lab.log[-1].text
        exported = (await client.get(f"/v1/runs/{done.json()['run_id']}/export")).json()
        assert [one["name"] for one in exported["events"][0]["files"]] == ["plan.md", "old.txt"]
        planned = (await client.post("/v1/plan", json={**body, "files": files})).json()
        assert [one["note"] for one in planned["files"]] == [None, "windows-1252"]
        for file, message in (
            ({"path": "notes.md"}, "paths are not read here"),
            ({"name": "a"}, "exactly one of content"),
            ({"url": "http://127.0.0.1:9/"}, "only public addresses"),
            ({"data_base64": "AAAA"}, "is not text"),
        ):
            refused = await client.post("/v1/runs", json={**body, "files": [file]})
            assert refused.status_code == 400, refused.text
            assert message in refused.json()["error"]["message"]


async def test_two_runs_of_one_name_have_the_same_files(lab: ScriptedHost) -> None:
    lab.on("*", text=ANSWER)
    body = {"question": "What?", "protocol": "single", "models": ["lab:alpha"]}
    headers = {"Idempotency-Key": "one"}
    async with open_server() as server, server.client() as client:
        answers = [
            await client.post(
                "/v1/runs", json={**body, "files": [{"name": "a", "content": text}]}, headers=headers
            )
            for text in ("first", "first", "second")
        ]
    assert answers[0].json()["run_id"] == answers[1].json()["run_id"]
    assert answers[2].status_code == 409


def test_an_image_is_stored_once_counted_and_sent_again_on_a_resume(lab: ScriptedHost) -> None:
    lab.on("*", text=ANSWER)
    settings = Path("lab.toml").read_text()
    picture = png_of(640, 480)
    Path("plan.png").write_bytes(picture)
    done = pnyx("ask", "-p", "voting", "--file", "plan.png", "What is it?")
    assert done.code == 2
    assert "no model of the panel reads images (plan.png)" in done.err
    assert 'images = true in [models."lab:alpha"]' in done.err
    assert not lab.log
    Path("lab.toml").write_text(settings.replace("output_price", "images = true\noutput_price"))
    asked = ("ask", "-p", "voting", "--file", "plan.png", "--json", "What is it?")
    paused = pnyx(*asked, "--budget", "0.0025")
    assert "plan.png (378 bytes, 640 x 480)" in paused.err, paused.err
    assert paused.json["status"] == "paused", paused.json
    before = len(lab.log)
    Path("plan.png").unlink()
    done = pnyx("resume", paused.json["run_id"], "--budget", "5", "--json")
    assert done.code == 0, done.err
    data = base64.b64encode(picture).decode()
    sent = [json.dumps(request.body["messages"]) for request in lab.log]
    assert len(sent) > before
    assert all(data in text for text in sent)
    assert contents().count(data) == 1
    stored = [body for *_, body in rows_of_file(home())]
    assert not [body for body in stored if data in body]
    reserved = [json.loads(body).get("reserved_usd") for body in stored]
    # The tokens of the image at the lowest price of the panel, 0.5 USD a million.
    assert all(one > 800 * 0.5 / 1e6 for one in reserved if one)
