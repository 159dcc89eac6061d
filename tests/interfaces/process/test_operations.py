"""What operators see of a server: its log."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

from pnyx.telemetry.log import JsonLog
from tests.interfaces.conftest import CONFIG, KEY
from tests.interfaces.shell import pnyx, spawn
from tests.support.scripted import ScriptedHost
from tests.support.serving import open_server

QUESTION = "Does the heron eat the eel?"
REPLY = "It waits for it.\n\nFinal answer: yes"


async def test_a_request_and_its_run_share_an_id_and_no_line_has_their_texts(lab: ScriptedHost) -> None:
    lab.on("*", text=REPLY)
    written: list[str] = []
    log = JsonLog("debug", write=written.append)
    async with open_server(log=log) as server:
        body = {"question": QUESTION, "protocol": "voting", "wait": True}
        async with server.client(await server.key("ada")) as client:
            response = await client.post("/v1/runs", json=body)
            missing = await client.get(f"/v1/runs/{QUESTION}")
    log.close()
    lines = [json.loads(line) for line in written]
    request_id = response.headers["x-request-id"]
    of_run = [line for line in lines if line.get("run_id") == response.json()["run_id"]]
    assert [of_run[0]["event"], of_run[1]["event"]] == ["run_started", "run_opened"]
    assert {line["request_id"] for line in of_run} == {request_id}
    assert {line["owner"] for line in of_run} == {"ada"}
    assert sum(line["event"] == "call_finished" for line in of_run) >= 3
    served = {line["request_id"]: line for line in lines if line["event"] == "http_request"}
    assert served[request_id] | {"time": "", "elapsed_s": 0} == {
        **{"time": "", "level": "info", "event": "http_request", "method": "POST", "route": "/v1/runs"},
        **{"status": 200, "elapsed_s": 0, "request_id": request_id, "owner": "ada"},
    }
    refused = served[missing.headers["x-request-id"]]
    assert (refused["status"], refused["route"]) == (404, "/v1/runs/{run_id}")
    for text in ("heron", "waits for it", "pnyx_ada-key", KEY):
        assert text not in "".join(written)


def test_everything_that_a_server_writes_is_json_and_no_key_is_in_it(
    lab: ScriptedHost, tmp_path: Path, monkeypatch: Any
) -> None:
    with spawn("serve", "--port", "0", "--log-format", "json") as process:
        assert process.stderr is not None
        written: list[bytes] = []
        while b"web page" not in b"".join(written[-1:]):
            written.append(process.stderr.readline())
        process.send_signal(signal.SIGTERM)
        written += process.communicate(timeout=120)[1].splitlines()
    lines = [json.loads(line) for line in written]
    assert all({"time", "level", "event"} <= line.keys() for line in lines)
    assert any("pnyx serve --new-key NAME" in line.get("message", "") for line in lines)
    assert not re.search(r"pnyx_[\w-]{20}", json.dumps(lines))


def test_a_server_that_cannot_start_says_so_in_its_log(
    lab: ScriptedHost, tmp_path: Path, monkeypatch: Any
) -> None:
    (tmp_path / "lab.toml").write_text(CONFIG.format(url=lab.openai) + '[telemetry]\nlog_format = "json"\n')
    done = pnyx("serve", "--host", "0.0.0.0", "--port", "0")
    assert done.code == 2
    (line,) = map(json.loads, done.err.splitlines())
    assert (line["event"], line["error_type"]) == ("stopped", "ConfigError")
    assert "pnyx serve --new-key NAME" in line["message"]
