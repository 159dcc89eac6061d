"""Lists over HTTP in pages: each page but the last has the address of the next one in `Link`."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from pnyx.interfaces.cli.actions import runs as actions
from pnyx.interfaces.cli.terminal import table
from tests.interfaces.shell import pnyx
from tests.support.scripted import ScriptedHost
from tests.support.serving import open_server

ONCE = {"protocol": "single", "models": ["lab:alpha"], "wait": True}


async def whole_list(client: Any, path: str) -> list[str]:
    ids = []
    while path:
        page = await client.get(path)
        assert len(page.json()) == 1
        ids += [run["run_id"] for run in page.json()]
        path = page.links.get("next", {}).get("url", "")
    return ids


async def test_results_of_a_search_and_turns_of_a_conversation_come_in_pages(lab: ScriptedHost) -> None:
    lab.on("*", text="Renting is cheaper.\nFinal answer: rent")
    async with open_server() as server, server.client() as client:
        first = (await client.post("/v1/runs", json={**ONCE, "question": "Should we rent?"})).json()
        ids = [first["run_id"]]
        for question in ("And in winter?", "And the staff?"):
            turn = {**ONCE, "question": question, "follows": ids[-1]}
            ids.append((await client.post("/v1/runs", json=turn)).json()["run_id"])
        for path in ("/v1/runs?limit=1", "/v1/recall?text=renting&limit=1", "/v1/recall?text=rent+x&limit=1"):
            assert sorted(await whole_list(client, path)) == sorted(ids), path
        assert await whole_list(client, f"/v1/runs/{ids[1]}/conversation?limit=1") == ids


@pytest.mark.parametrize(
    "values", [[], [1, 2], [True], [True, -1], [True, 2**40], [True, 0, 1, 2], "x", None]
)
async def test_a_cursor_of_another_list_is_refused(lab: ScriptedHost, values: Any) -> None:
    lab.on("*", text="Rent.\nFinal answer: rent")
    async with open_server() as server, server.client() as client:
        run = (await client.post("/v1/runs", json={**ONCE, "question": "Should we rent?"})).json()
        cursor = base64.urlsafe_b64encode(json.dumps(values).encode()).decode()
        for path in ("/v1/runs", "/v1/recall", f"/v1/runs/{run['run_id']}/conversation"):
            more = {"text": "rent"} if path == "/v1/recall" else {}
            for wrong in (cursor, "é", "x"):
                refused = await client.get(path, params={"cursor": wrong, **more})
                assert (refused.status_code, refused.json()["error"]["type"]) == (400, "usage_error"), path


@pytest.mark.parametrize("command", [("recall", "rent"), ("runs",)])
def test_a_long_list_is_printed_in_parts(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    lab.on("*", text="Renting.\nFinal answer: rent")
    for n in range(5):
        pnyx("ask", "-p", "single", "-m", "lab:alpha", f"Should we rent number {n}?")
    whole, as_json = pnyx(*command), pnyx(*command, "--json").json
    most = pnyx(*command, "--limit", "3", "--json").json
    assert (len(as_json), most) == (5, as_json[:3])
    for name in ("PAGE", "TOGETHER"):
        monkeypatch.setattr(actions, name, 2)
    monkeypatch.setattr(table, "ALIGNED", 2)
    assert pnyx(*command).out == whole.out
    assert pnyx(*command, "--json").json == as_json
    assert pnyx(*command, "--limit", "3", "--json").json == most
