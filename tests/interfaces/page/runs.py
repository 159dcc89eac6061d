"""Runs as the page receives them, for its tests. `python -m tests.interfaces.page.runs` records them."""

from __future__ import annotations

import json
import tempfile
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.interfaces.conftest import CONFIG
from tests.support.browsing import Serve, serving
from tests.support.scripted import ScriptedHost
from tests.support.sources import ROOT

__all__ = ["FOLDER", "main"]

FOLDER = ROOT / "web" / "tests" / "runs"
SETTINGS = "retries = 1\n[tools]\nenabled = true\n[tools.code_execution]\nenabled = true\n"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as home, ScriptedHost() as host:
        settings = CONFIG.format(url=host.openai).replace("retries = 0\n", SETTINGS)
        with serving(Path(home), settings) as server:
            _save("consensus", _consensus(server, host))
            _save("dropped", _dropped(server, host))
            _save("paused", _paused(server, host))
            _save("decompose", _decompose(server, host))
            _save("tools", _tools(server, host))


def _consensus(server: Serve, host: ScriptedHost) -> list[Any]:
    """Two rounds, streamed text, a request that fails once, and a challenge that starts with praise."""
    host.on("*", text="Measure first; then decide.\n\nFinal answer: yes", drip=(260, 0.01))
    host.on("beta", text="Great point! I fully agree with this excellent proposal.")
    host.on("gamma", call=1, status=500, headers={"Retry-After": "0"})
    return _run(server, question="Why?", protocol="consensus", options={"rounds": 2})


def _dropped(server: Serve, host: ScriptedHost) -> list[Any]:
    """A seat whose host refuses its requests."""
    host.on("*", text="It is so.\nFinal answer: 42")
    host.on("gamma", status=400, message="no such model")
    return _run(server, question="Why?", protocol="voting")


def _paused(server: Serve, host: ScriptedHost) -> list[Any]:
    """A run out of budget that ends with a larger one."""
    host.on("*", text="It is so.\nFinal answer: 42")
    before = _run(server, question="Why?", protocol="consensus", budget_usd=0.003)
    run = before[0]["run_id"]
    _post(server, f"/v1/runs/{run}/resume", {"budget_usd": 1.0, "tokens": True})
    return before + _events(server, run, before[-2]["seq"])


def _decompose(server: Serve, host: ScriptedHost) -> list[Any]:
    """Nested protocols in parallel."""
    plan: dict[str, Any] = {
        "subtasks": [{"label": n, "question": f"Part {n}?", "needs": []} for n in ("one", "two")]
    }
    host.on("*", text=lambda r: json.dumps(plan) if "subtask" in r.text[:2000].lower() else "So.")
    return _run(server, question="Why?", protocol="decompose")


def _tools(server: Serve, host: ScriptedHost) -> list[Any]:
    host.on("*", text="It is 4.\nFinal answer: 4")
    called = len(host.requests("alpha"))
    host.on("alpha", call=called + 1, tool_calls=(("run_python", {"code": "print(2 + 2)"}),))
    return _run(server, question="What is 2 + 2?", protocol="voting", models=["lab:alpha"] * 2)


def _run(server: Serve, **body: Any) -> list[Any]:
    run = _post(server, "/v1/runs", {**body, "seed": 1, "tokens": True})
    return _events(server, run["run_id"], 0)


def _events(server: Serve, run: str, after: int) -> list[Any]:
    with _open(server, f"/v1/runs/{run}/events?tokens=true&after={after}") as reply:
        return [json.loads(line[5:]) for line in reply if line.startswith(b"data:")]


def _post(server: Serve, path: str, body: Mapping[str, Any]) -> Any:
    with _open(server, path, json.dumps(body).encode()) as reply:
        return json.load(reply)


def _open(server: Serve, path: str, data: bytes | None = None) -> Any:
    headers = {"Authorization": f"Bearer {server.key}", "Content-Type": "application/json"}
    return urllib.request.urlopen(urllib.request.Request(server.url + path, data, headers), timeout=120)


def _save(name: str, events: list[dict[str, Any]]) -> None:
    # The page shows no prompts, and they are most of the data.
    lines = (json.dumps(event | ({"prompt": ""} if "prompt" in event else {})) for event in events)
    (FOLDER / f"{name}.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
