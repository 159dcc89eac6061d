"""Titles, tags, pins and deletion of runs, over every interface."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

import pnyx
from pnyx.errors import NotFound, UsageError
from pnyx.store.records import runs as store
from tests.interfaces.shell import pnyx as command
from tests.interfaces.shell import screen
from tests.support.assistants import over_http
from tests.support.scripted import ScriptedHost
from tests.support.serving import ServerHandle, open_server

VOTE = {"question": "Why?", "protocol": "voting", "wait": True}


@pytest.fixture
async def server(lab: ScriptedHost) -> AsyncIterator[ServerHandle]:
    lab.on("*", text="It is so.\nFinal answer: 42")
    async with open_server() as server:
        yield server


async def test_over_http_a_run_is_labelled_found_by_its_labels_and_deleted(server: ServerHandle) -> None:
    async with server.client() as client:
        first, second = [(await client.post("/v1/runs", json=VOTE)).json() for _ in range(2)]
        path = f"/v1/runs/{first['run_id']}"
        assert (await client.get(path)).json() == first
        labels: dict[str, Any] = {"title": "The reason", "tags": ["b", "a"], "pinned": True}
        changed = await client.patch(path, json=labels)
        labels["tags"] = ["a", "b"]
        assert (changed.status_code, changed.json()) == (200, {**first, **labels})
        assert (await client.patch(path, json={"pinned": False})).json()["title"] == "The reason"
        assert (await client.patch(path, json={"title": None})).json()["title"] is None
        assert (await client.patch(path, json={})).json()["tags"] == ["a", "b"]
        for filters, found in (
            ({"tag": "a"}, [first]), ({"tag": "c"}, []), ({"pinned": True}, []),
            ({}, [second, first]), ({"tag": "b", "status": first["status"]}, [first]),
            ({"protocol": "voting"}, [second, first]), ({"protocol": "council"}, []),
            ({"since": "2026-01-01"}, [second, first]), ({"since": "2999-01-01"}, []),
            ({"since": "2026-01-01", "tag": "a", "protocol": "voting"}, [first]),
        ):  # fmt: skip
            listed = (await client.get("/v1/runs", params=filters)).json()
            assert [run["run_id"] for run in listed] == [run["run_id"] for run in found]
        for wrong in ({"title": "x" * 201}, {"tags": ["a,b"]}, {"tags": "a"}, {"pinned": 1}, {"tag": ["a"]}):
            refused = await client.patch(path, json=wrong)
            assert refused.status_code in (400, 422), wrong
        assert (await client.delete(path)).status_code == 204
        for answer in (await client.get(path), await client.delete(path), await client.patch(path, json={})):
            assert answer.status_code == 404
        (left,) = (await client.get("/v1/runs")).json()
        assert left["run_id"] == second["run_id"]
        costs = (await client.get("/v1/costs")).json()
        assert costs["total"]["calls"] == 2 * first["usage"]["calls"]
        assert costs["total"]["cost_usd"] == pytest.approx(2 * first["usage"]["cost_usd"])


async def test_over_http_the_list_has_pages(server: ServerHandle, monkeypatch: pytest.MonkeyPatch) -> None:
    async with server.client() as client:
        runs = [(await client.post("/v1/runs", json=VOTE)).json()["run_id"] for _ in range(5)]
        found, path, pages = [], "/v1/runs?limit=2&status=", 0
        path += (await client.get(f"/v1/runs/{runs[0]}")).json()["status"]
        while path:
            answer = await client.get(path)
            assert len(answer.json()) <= 2
            found += [run["run_id"] for run in answer.json()]
            path, pages = answer.links.get("next", {}).get("url", ""), pages + 1
        assert (found, pages) == (runs[::-1], 3)
        monkeypatch.setattr(store, "LIST_CHARS", 1)
        answer = await client.get("/v1/runs?limit=5")
        assert [run["run_id"] for run in answer.json()] == runs[4:]
        following = await client.get(answer.links["next"]["url"])
        assert [run["run_id"] for run in following.json()] == runs[3:4]
        for cursor in ("x", "e30=", "WzEsMl0="):
            refused = await client.get("/v1/runs", params={"cursor": cursor})
            assert (refused.status_code, refused.json()["error"]["type"]) == (400, "usage_error")


async def test_over_http_a_run_under_way_is_not_deleted(server: ServerHandle, lab: ScriptedHost) -> None:
    lab.replies = 0
    async with server.client() as client:
        run = (await client.post("/v1/runs", json={**VOTE, "wait": False})).json()["run_id"]
        refused = await client.delete(f"/v1/runs/{run}")
        assert (refused.status_code, refused.json()["error"]["type"]) == (409, "running")
        assert "Cancel it first" in refused.json()["error"]["message"]
        await client.post(f"/v1/runs/{run}/cancel")
        assert (await client.delete(f"/v1/runs/{run}")).status_code == 204


async def test_a_key_labels_and_deletes_only_its_own_runs(server: ServerHandle) -> None:
    ada, ben = await server.key("ada"), await server.key("ben")
    async with server.client(ada) as client:
        run = (await client.post("/v1/runs", json=VOTE)).json()["run_id"]
        await client.patch(f"/v1/runs/{run}", json={"tags": ["a"], "pinned": True})
    async with server.client(ben) as client:
        for answer in (
            await client.patch(f"/v1/runs/{run}", json={"title": "mine"}),
            await client.delete(f"/v1/runs/{run}"),
            await client.delete(f"/v1/runs/{run[:6]}"),
        ):
            assert (answer.status_code, answer.json()["error"]["type"]) == (404, "not_found")
        for filters in ({"tag": "a"}, {"pinned": True}):
            assert (await client.get("/v1/runs", params=filters)).json() == []
    async with over_http(server, ben) as assistant:
        for tool in ("tag", "delete"):
            assert (await assistant.call_tool(tool, {"run_id": run})).is_error
    async with over_http(server, ada) as assistant:
        tagged = await assistant.call_tool("tag", {"run_id": run, "add": ["b"], "title": "One"})
        labels = {"title": "One", "tags": ["a", "b"], "pinned": True}
        assert tagged.structured_content == {"run_id": run, **labels}
        listed = await assistant.call_tool("runs", {"tag": "b"})
        assert [one["title"] for one in (listed.structured_content or {})["runs"]] == ["One"]
        deleted = await assistant.call_tool("delete", {"run_id": run})
        assert deleted.structured_content == {"run_id": run, "deleted": True}
        assert (await assistant.call_tool("runs", {})).structured_content["runs"] == []


async def test_in_python_a_run_is_labelled_and_deleted(lab: ScriptedHost) -> None:
    lab.on("*", text="It is so.\nFinal answer: 42")
    async with pnyx.open_runner() as runner:
        run_id = (await pnyx.ask("Why?", protocol="voting", runner=runner)).run_id
        await pnyx.tag(run_id[:8], "a", "b", title="The reason", pinned=True, runner=runner)
        await pnyx.tag(run_id, remove=["a"], runner=runner)
    (listed,) = (await asyncio.to_thread(command, "runs", "--json")).json
    assert (listed["title"], listed["tags"], listed["pinned"]) == ("The reason", ["b"], True)
    with pytest.raises(UsageError):
        await pnyx.tag(run_id, 3)  # type: ignore[arg-type]
    await pnyx.delete(run_id)
    with pytest.raises(NotFound):
        await pnyx.delete(run_id)


def test_on_the_command_line_a_run_is_labelled_found_and_deleted(lab: ScriptedHost) -> None:
    lab.on("*", text="It is so.\nFinal answer: 42")
    one, two = (command("ask", "-p", "voting", q, "--json").json["run_id"] for q in ("Why?", "How?"))
    assert command("tag", one).out == f"run {one}: no labels\n"
    done = command("tag", one[:6], "work", "2026 plans", "--title", "The \x1b[2J reason", "--pin")
    assert done.out == f"run {one}: The \u241b[2J reason · tags 2026 plans, work · pinned\n"
    assert command("tag", one, "--remove", "2026 plans", "--json").json == {
        "run_id": one, "title": "The \x1b[2J reason", "tags": ["work"], "pinned": True,
    }  # fmt: skip
    for filters in (["--tag", "work"], ["--pinned"]):
        (line,) = command("runs", *filters).out.splitlines()[1:]
        assert line.startswith(one)
        assert line.endswith("The \u241b[2J reason [pinned, work]")
    assert command("runs", "--tag", "x").err == "no runs with the tag x\n"
    assert command("status", one, "--json").json["tags"] == ["work"]
    assert "The \u241b[2J reason" in command("show", one).out
    done = command("delete", one, two, one[:6])
    assert (done.code, done.err) == (0, f"run {one} is deleted\nrun {two} is deleted\n")
    assert command("runs").err == "no runs yet\n"
    assert command("delete", one).code == 2


def test_a_person_is_asked_before_runs_are_deleted(lab: ScriptedHost) -> None:
    lab.on("*", text="It is so.\nFinal answer: 42")
    run = command("ask", "-p", "voting", "Why?", "--json").json["run_id"]
    with screen("delete", run) as tty:
        tty.wait_for("Delete 1 run for good? [y/N]: ")
        tty.type("n\r")
        assert tty.end() == 130
    assert run in command("runs").out
    with screen("delete", "--yes", run) as tty:
        assert tty.end() == 0
    assert command("runs").out == ""
