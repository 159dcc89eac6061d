"""The evaluations of this machine over HTTP: who sees them, and which names are none."""

from __future__ import annotations

import json
import os
from dataclasses import replace

from pnyx.config.paths import data_dir
from pnyx.evaluate.report.document import document
from tests.evaluate.logs import log
from tests.support.scripted import ScriptedHost
from tests.support.serving import open_server

LOG = log({"lab:alpha": "++x", "lab:beta": "+xx"}, {"voting": "+++"}, planned=3)


async def test_stored_evaluations_are_those_of_the_machines_user(lab: ScriptedHost) -> None:
    names = ["eval-00000001", "eval-0000000a"]
    for at, name in enumerate([*names, "eval-0000000b", "eval-other"]):
        file = data_dir() / "eval" / name / "log.jsonl"
        file.parent.mkdir(parents=True)
        replace(LOG, dataset=f"/data/{name}.jsonl").write(file)
        os.utime(file, (1_800_000_000 - at, 1_800_000_000 - at))
    (data_dir() / "eval" / "eval-0000000b" / "log.jsonl").write_text("no log")
    async with open_server() as server:
        key = await server.key("ada")
        async with server.client() as client:
            found = (await client.get("/v1/evaluations")).json()
            assert [one["id"] for one in found] == names
            assert found[0]["arms"] == ["lab:alpha", "lab:beta", "voting"]
            assert (found[0]["dataset"], found[0]["questions"]) == ("/data/eval-00000001.jsonl", 3)
            report = (await client.get(f"/v1/evaluations/{names[1]}")).json()
            assert report == json.loads(
                json.dumps(document(replace(LOG, dataset="/data/eval-0000000a.jsonl")))
            )
            lines = (await client.get(f"/v1/evaluations/{names[0]}/log")).text
            assert lines == (data_dir() / "eval" / names[0] / "log.jsonl").read_text()
            for id in ("eval-0000000c", "eval-other", "..%2Feval-00000001", "eval-00000001%2F..", "report"):
                assert (await client.get(f"/v1/evaluations/{id}/log")).status_code == 404, id
            assert (await client.get("/v1/evaluations/eval-0000000b")).status_code == 400
        async with server.client(key) as other:
            assert (await other.get("/v1/evaluations")).json() == []
            assert (await other.get(f"/v1/evaluations/{names[0]}")).status_code == 404
            assert (await other.get(f"/v1/evaluations/{names[0]}/log")).status_code == 404
