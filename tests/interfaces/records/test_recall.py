"""`pnyx recall` and `GET /v1/recall`: find earlier runs by their words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.interfaces.shell import pnyx, screen, spawn
from tests.support.scripted import ScriptedHost
from tests.support.serving import open_server

HOSTILE = "\x1b[2J Renting is \u202echeaper [bold]today[/bold] <b>everywhere</b>.\nFinal answer: rent"
SINGLE = ("ask", "-p", "single", "-m", "lab:alpha", "--json")


@pytest.fixture
def run(lab: ScriptedHost) -> Any:
    """The result object of a finished run whose answer is `HOSTILE`."""
    lab.on("*", text=HOSTILE)
    return pnyx(*SINGLE, "Should we buy servers?").json


def test_a_run_is_found_and_shown_as_runs_shows_it(run: Any, lab: ScriptedHost) -> None:
    lab.on("*", text="Nothing of that.\nFinal answer: no")
    pnyx(*SINGLE, "And now?")
    done = pnyx("recall", "cheap rents")
    assert (done.code, done.err) == (
        0,
        "no run contains all of these words; these runs contain some of them\n",
    )
    done = pnyx("recall", "rented server")
    assert (done.code, done.err) == (0, "")
    head, line, snippet = done.out.splitlines()
    assert head.split() == ["run", "when", "(UTC)", "status", "protocol", "question"]
    started_at = pnyx("export", run["run_id"], "--format", "json").json["events"][0]["time"]
    shown = [run["run_id"], *started_at[:16].split("T"), "single", "single"]
    assert line.split()[:5] == shown
    assert line.endswith("Should we buy servers?")
    expected = "\u241b[2J Renting is \ufffdcheaper [bold]today[/bold] <b>everywhere</b>. Final answer: rent"
    assert snippet == f"    {expected}"
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out


def test_for_programs_it_is_a_list_of_result_objects_with_snippets(run: Any) -> None:
    (found,) = pnyx("recall", "renting", "--json").json
    snippet, began = found.pop("snippet"), found.pop("created_at")
    assert began == pnyx("export", run["run_id"], "--format", "json").json["events"][0]["time"]
    assert found.pop("all_words") is True
    assert found == run
    assert snippet.startswith("\x1b[2J Renting is \u202echeaper [bold]today")


def test_on_a_terminal_the_words_are_highlighted(run: Any) -> None:
    with screen("recall", "renting everywhere") as tty:
        assert tty.end() == 0
    assert "\x1b[1;33mRenting\x1b[0m is \ufffdcheaper [bold]today[/bold]" in tty.text
    assert "<b>\x1b[1;33meverywhere\x1b[0m</b>" in tty.text
    lines = tty.text.replace("\x1b[1;33m", "").replace("\x1b[0m", "").splitlines()
    assert max(map(len, lines)) <= 100
    with screen("recall", "--plain", "renting") as tty:
        assert tty.end() == 0
    assert "Renting is" in tty.text
    assert "\x1b" not in tty.text


def test_nothing_found_says_so(run: Any) -> None:
    done = pnyx("recall", "weather")
    assert (done.code, done.out, done.err) == (0, "", "no run contains any of these words\n")
    assert pnyx("recall", "weather", "--json").json == []


@pytest.mark.parametrize("text", ["", '" "', "🎉", "?!"])
def test_a_text_without_a_word_is_a_usage_error(lab: ScriptedHost, text: str) -> None:
    done = pnyx("recall", text)
    assert (done.code, done.out) == (2, "")
    assert done.err == "pnyx: the search text has no word; enter at least one word of letters or digits\n"


def test_the_limit_is_obeyed(run: Any, lab: ScriptedHost) -> None:
    second = pnyx(*SINGLE, "Should we buy servers? Which servers?").json
    found = pnyx("recall", "servers buy", "--json").json
    assert {one["run_id"] for one in found} == {run["run_id"], second["run_id"]}
    assert [one["run_id"] for one in pnyx("recall", "servers buy", "--limit", "1", "--json").json] == [
        found[0]["run_id"]
    ]


def test_a_failed_run_is_found_by_its_question(lab: ScriptedHost) -> None:
    lab.on("*", status=401)
    failed = pnyx("ask", "--json", "Why is it so?").json
    assert failed["status"] == "failed"
    assert [one["run_id"] for one in pnyx("recall", "why so", "--json").json] == [failed["run_id"]]


def test_a_paused_run_is_found_and_after_a_resume_by_its_new_answer(lab: ScriptedHost) -> None:
    replies = iter(["The mountains are better."])
    lab.on("*", text=lambda _: next(replies, "It floods there."))
    paused = pnyx("ask", "--budget", "0.003", "--json", "Whither?").json
    assert paused["status"] == "paused"
    (found,) = pnyx("recall", "mountain", "--json").json
    assert (found["run_id"], found["status"]) == (paused["run_id"], "paused")
    lab.on("*", text="The seaside it is, after all.")
    resumed = pnyx("resume", paused["run_id"], "--budget", "1", "--json").json
    assert "seaside" in resumed["answer"]
    found = pnyx("recall", "seaside whither", "--json").json
    assert [one["run_id"] for one in found] == [resumed["run_id"]]
    assert pnyx("recall", "mountains", "--json").json == []


def test_another_process_finds_it(run: Any) -> None:
    out, err = spawn("recall", "rent").communicate(timeout=60)
    assert (run["run_id"] in out.decode(), err) == (True, b"")


async def test_over_http_every_key_finds_its_own_runs(lab: ScriptedHost) -> None:
    lab.on("*", text=HOSTILE)
    once = {"question": "Should we buy?", "protocol": "single", "models": ["lab:alpha"], "wait": True}
    async with open_server() as server:
        async with (
            server.client(await server.key("ada")) as ada,
            server.client(await server.key("ben")) as ben,
        ):
            mine = (await ada.post("/v1/runs", json=once)).json()
            (found,) = (await ada.get("/v1/recall", params={"text": "renting buy"})).json()
            assert found.pop("snippet").startswith("\x1b[2J Renting is")
            assert (found.pop("created_at")[:2], found.pop("all_words")) == ("20", True)
            assert found == mine
            assert (await ben.get("/v1/recall", params={"text": "renting"})).json() == []
            await ada.post("/v1/runs", json=once)
            both = await ada.get("/v1/recall", params={"text": "renting"})
            one = await ada.get("/v1/recall", params={"text": "renting", "limit": 1})
            assert (len(both.json()), len(one.json())) == (2, 1)
            refused = await ada.get("/v1/recall", params={"text": "🎉"})
            assert (refused.status_code, refused.json()["error"]["type"]) == (400, "usage_error")
            faults: list[dict[str, str]] = [{}, {"text": "x", "limit": "0"}, {"text": "x" * 1001}]
            for wrong in faults:
                assert (await ada.get("/v1/recall", params=wrong)).status_code == 422
        async with server.client() as client:
            described = (await client.get("/openapi.json")).json()
    answer = described["paths"]["/v1/recall"]["get"]["responses"]["200"]["content"]["application/json"]
    name = answer["schema"]["items"]["$ref"].rpartition("/")[2]
    assert "snippet" in described["components"]["schemas"][name]["required"]
