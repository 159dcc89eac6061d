"""`pnyx mcp` as a process: its output, its end, and the runs it leaves."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
from mcp_types import INVALID_REQUEST, PARSE_ERROR

from tests.interfaces.cli.test_signals import wait_for_calls
from tests.interfaces.shell import pnyx, spawn
from tests.support.assistants import HELLO
from tests.support.forked import Process
from tests.support.scripted import ScriptedHost

ASK = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "ask", "arguments": {"question": "Why?", "protocol": "voting"}},
}


def assistant() -> Process:
    return spawn("mcp", stdin=subprocess.PIPE)


def say(process: Process, *messages: dict[str, Any]) -> None:
    assert process.stdin is not None
    for message in messages:
        process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()


@pytest.mark.parametrize("end", ["stdin", "stdin, then SIGTERM", signal.SIGTERM, signal.SIGINT, "stdout"])
def test_the_process_waits_for_its_calls_and_its_run_can_be_resumed(lab: ScriptedHost, end: Any) -> None:
    lab.on("*", text="It is so.\nFinal answer: 42")
    answered = threading.Event()
    lab.on("alpha", until=answered.is_set, call=1, text="It is so.\nFinal answer: 42")
    with assistant() as process:
        say(process, HELLO, {"jsonrpc": "2.0", "method": "notifications/initialized"}, ASK)
        wait_for_calls(lab, 3)
        # The replies of beta and gamma are in the journal.
        deadline = time.monotonic() + 60
        while len([r for r in lab.log if r.completed]) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        time.sleep(0.3)
        began = time.monotonic()
        if end in ("stdin", "stdin, then SIGTERM"):
            assert process.stdin is not None
            process.stdin.close()
            if end != "stdin":
                # As the SDKs do. Until it has noticed that stdin is closed, a signal is the first one anyway.
                time.sleep(1)
                process.send_signal(signal.SIGTERM)
        elif end == "stdout":
            assert process.stdout is not None
            process.stdout.close()
            say(process, {**HELLO, "method": "ping", "id": 3, "params": {}})
        else:
            process.send_signal(end)
        time.sleep(0.3)
        assert process.poll() is None, "it did not wait for the call in flight"
        answered.set()
        process.wait(120)
        err = process.stderr.read() if process.stderr is not None else b""
        out = process.stdout.read() if process.stdout is not None and end != "stdout" else b""
    assert time.monotonic() - began < 60
    assert (process.returncode, err) == (0, b"")
    (run,) = pnyx("runs", "--json").json
    assert (run["status"], run["stop_reason"]) == ("paused", "interrupted")
    if end != "stdout":
        answer = json.loads(out.splitlines()[-1])
        state = answer["result"]["structuredContent"]
        assert (answer["id"], state["run_id"], state["status"]) == (2, run["run_id"], "paused")
    done = pnyx("resume", run["run_id"], "--json").json
    assert (done["run_id"], done["status"]) == (run["run_id"], "consensus")
    assert len({request.sha256 for request in lab.log}) == len(lab.log), "a call was asked again"


def test_stdout_has_messages_only_and_a_bad_line_is_refused(lab: ScriptedHost) -> None:
    with assistant() as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"this is no message\n\xff\xfe\n\n{}\n")
        say(process, HELLO)
        answers = [json.loads(process.stdout.readline()) for _ in range(4)]
        process.stdin.close()
        assert process.stdout.read() == b""
    assert [(answer["id"], answer.get("error", {}).get("code")) for answer in answers] == [
        *[(None, PARSE_ERROR)] * 2,
        (None, INVALID_REQUEST),
        (1, None),
    ]
    assert answers[-1]["result"]["serverInfo"]["name"] == "pnyx"
    assert process.returncode == 0
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)


def test_a_line_that_is_too_long_is_refused(lab: ScriptedHost) -> None:
    with assistant() as process:
        assert process.stdin is not None
        for end in (b'x"}', json.dumps({**HELLO, "id": 2}).encode()):
            process.stdin.write(b" " * (17 << 20) + end + b"\n")
        say(process, HELLO)
        process.stdin.close()
        assert process.stdout is not None
        assert process.stderr is not None
        answers = [json.loads(line) for line in process.stdout]
        assert (process.wait(120), process.stderr.read()) == (0, b"")
    assert [answer["id"] for answer in answers if "result" in answer] == [1]
    assert [answer["error"]["message"] for answer in answers[:2]] == ["a message has at most 16 MiB"] * 2


def test_invalid_settings_are_reported_at_the_start(lab: ScriptedHost) -> None:
    with open("lab.toml", "a") as settings:
        settings.write("[budget]\nrun_eur = 2.0\n")
    with assistant() as process:
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (2, b"")
    assert b"run_eur" in err


def test_a_closed_stdin_is_an_error(lab: ScriptedHost) -> None:
    closed = subprocess.run(
        ["sh", "-c", '"$0" -m pnyx mcp <&-', sys.executable], capture_output=True, timeout=120, check=False
    )
    assert closed.returncode == 2
    assert b"needs stdin and stdout" in closed.stderr


def test_other_commands_do_not_import_mcp(lab: ScriptedHost) -> None:
    probe = (
        "import sys, pnyx.interfaces.cli as cli\n"
        "try: cli.main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print([name for name in ('mcp', 'mcp_types', 'fastapi', 'starlette') if name in sys.modules])"
    )
    for args in (["--help"], ["mcp", "--help"], ["ask", "-q", "Why?"]):
        done = subprocess.run(
            [sys.executable, "-c", probe, *args], capture_output=True, text=True, check=True, timeout=60
        )
        assert done.stdout.endswith("\n[]\n"), args
