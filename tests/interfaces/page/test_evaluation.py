"""The page that opens the files of an evaluation: its report, its log by arm and by question."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import expect

from pnyx.evaluate.report.document import document
from tests.evaluate.logs import log
from tests.interfaces.page.states import problems
from tests.interfaces.shell import pnyx
from tests.support.browsing import Serve, Tab

LOG = log(
    {"lab:alpha": "+++++++x..", "lab:beta": "++++xxxx++", "lab:gamma": "xx++++++x+"},
    {"voting": "++++++++x+", "consensus": "+++++++++!"},
    change=lambda row: {"vote_only": row.correct and row.id != "q008"} if row.arm == "consensus" else {},
)

DROP = """([place, name, text]) => {
    const files = new DataTransfer();
    files.items.add(new File([text], name));
    document.querySelector(place).dispatchEvent(new DragEvent("drop", {dataTransfer: files, bubbles: true}));
}"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    LOG.write(tmp_path / "log.jsonl")
    return tmp_path / "log.jsonl"


def post(server: Serve, body: Any) -> httpx2.Response:
    headers = {"Authorization": f"Bearer {server.key}"}
    return httpx2.post(f"{server.url}/v1/evaluations/report", json=body, headers=headers, trust_env=False)


def test_a_log_shows_arms_and_questions(tab: Tab, file: Path) -> None:
    page = tab.page
    page.get_by_role("link", name="Evaluation").click()
    page.get_by_label("Open a file").set_input_files(file)
    expect(page.get_by_role("heading", name="made")).to_be_visible()
    report = json.loads(json.dumps(document(LOG)))
    arms = page.get_by_role("group", name="Figures by arm").locator("tbody tr")
    for row, arm in zip(arms.all(), report["arms"], strict=True):
        words = row.inner_text()
        assert words.startswith(arm["name"])
        assert f"{arm['right']} of {arm['n']}" in words
        assert f"{100 * arm['accuracy']['low']:.1f} % to {100 * arm['accuracy']['high']:.1f} %" in words
    expect(page.locator(".accuracies circle")).to_have_count(len(report["arms"]))
    expect(page.get_by_text("consensus: the vote before it was right on 8 of 10")).to_be_visible()
    for sentence in report["verdict"]:
        expect(page.get_by_text(sentence)).to_be_visible()
    questions = page.get_by_role("group", name="Answers by question").locator("tbody tr")
    expect(questions).to_have_count(10)
    assert questions.nth(9).locator(".wrong").count() == 2
    page.get_by_label("Questions shown").select_option("differ")
    expect(questions).to_have_count(8)
    assert problems(tab) == []


@pytest.fixture
def stored(server: Serve) -> Iterator[list[str]]:
    """Two evaluations on the server's machine, and what is none; the names of the two, newest first."""
    names = ["eval-00000001", "eval-0000000a"]
    for at, name in enumerate([*names, "eval-0000000b", "eval-other"]):
        folder = server.evaluations / name
        folder.mkdir(parents=True)
        changed = replace(LOG, dataset=f"/data/{name}.jsonl", rows=LOG.rows[at:])
        changed.write(folder / "log.jsonl")
        os.utime(folder / "log.jsonl", (1_800_000_000 - at, 1_800_000_000 - at))
    (server.evaluations / "eval-0000000b" / "log.jsonl").write_text("no log")
    yield names
    shutil.rmtree(server.evaluations)


def test_stored_evaluations_are_listed_opened_and_compared(tab: Tab, stored: list[str]) -> None:
    page = tab.page
    page.get_by_role("link", name="Evaluation").click()
    rows = page.get_by_role("group", name="Stored evaluations").locator("tbody tr")
    expect(rows).to_have_count(2)
    assert [row.locator("small").inner_text() for row in rows.all()] == stored
    rows.first.get_by_role("link").click()
    arms = len(document(LOG)["arms"])
    expect(page.locator(".accuracies circle")).to_have_count(arms)
    expect(page.get_by_role("group", name="Answers by question").locator("tbody tr")).to_have_count(10)
    assert page.url.endswith(f"#/evaluation/{stored[0]}")
    for name in reversed(stored):
        page.get_by_label(f"mark {name}").check()
    page.get_by_role("button", name="Compare two").click()
    table = page.get_by_role("group", name="Two evaluations by arm").locator("tbody tr")
    expect(table).to_have_count(arms)
    expect(table.first).to_contain_text("not shown")
    assert problems(tab) == []
    page.go_back()
    expect(page.get_by_role("group", name="Answers by question")).to_be_visible()


def test_a_report_is_dropped_and_another_file_is_refused(tab: Tab) -> None:
    page = tab.page
    page.get_by_role("link", name="Evaluation").click()
    expect(page.get_by_text("Drop a file")).to_be_visible()
    page.evaluate(DROP, [".evaluation", "notes.txt", "nothing of the kind"])
    expect(page.get_by_role("alert")).to_contain_text("neither a report nor a log")
    page.evaluate(DROP, [".evaluation", "report.json", json.dumps(document(LOG))])
    expect(page.get_by_role("heading", name="made")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.get_by_role("group", name="Answers by question")).to_have_count(0)


def test_the_report_over_http_is_the_one_of_the_command(server: Serve, file: Path) -> None:
    answer = post(server, {"log": file.read_text()})
    assert (answer.status_code, answer.json()) == (200, pnyx("eval", "--replay", str(file), "--json").json)


@pytest.mark.parametrize(
    ("body", "status", "word"),
    [
        ({"log": "not a log"}, 400, "the log, line 1"),
        ({"log": json.dumps({"pnyx_eval": 2})}, 400, "does not read"),
        ({"log": "\n"}, 400, "is empty"),
        ({"log": ""}, 422, "log"),
        ({}, 422, "log"),
    ],
)
def test_what_is_no_log_is_refused(server: Serve, body: Any, status: int, word: str) -> None:
    answer = post(server, body)
    assert answer.status_code == status
    assert word in answer.json()["error"]["message"]
