"""Links that show one run: what they show, when they end, and what nobody gets with them."""

from __future__ import annotations

import asyncio
import hmac
import json
import math
import re
import threading
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.events import UnknownEvent, from_json
from pnyx.errors import UsageError
from pnyx.interfaces.access import shares as links
from pnyx.interfaces.access.keys import LOCAL, hash_key
from pnyx.interfaces.access.shares import DAY_S, LONGEST_S, new_token, shown
from pnyx.interfaces.http import key_log
from pnyx.interfaces.http.shares import SHARED
from pnyx.interfaces.service.follow import wait_for_result
from pnyx.store.schema import shares as table
from pnyx.times import now
from tests.interfaces.shell import pnyx
from tests.support.scripted import ScriptedHost
from tests.support.serving import ServerHandle, events_of

VOTE = {"question": "Why is it so?", "protocol": "voting", "wait": True}
SECRET = "the file that only the panel reads"
WITH_FILE = {**VOTE, "files": [{"name": "plan.md", "content": SECRET}]}


async def ask(server: ServerHandle, body: dict[str, Any] = VOTE, key: str | None = None) -> str:
    async with server.client(*([key] if key else [])) as client:
        answer = await client.post("/v1/runs", json=body)
    assert answer.status_code in (200, 202), answer.text
    run: str = answer.json()["run_id"]
    return run


async def share(server: ServerHandle, run: str, **body: Any) -> dict[str, Any]:
    async with server.client() as client:
        answer = await client.post(f"/v1/runs/{run}/shares", json=body)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def status(server: ServerHandle, token: str, path: str = "/v1/shared", method: str = "GET") -> int:
    async with server.client(token) as client:
        code: int = (await client.request(method, path)).status_code
    return code


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read links again for each request, without waiting for it."""
    monkeypatch.setattr(links, "FRESH_S", 0.0)


async def test_a_link_shows_its_run_without_prompts_files_and_other_runs(
    server: ServerHandle, lab: ScriptedHost
) -> None:
    first = await ask(server, {**VOTE, "question": "What came before?"})
    run = await ask(server, {**WITH_FILE, "follows": first})
    assert any(SECRET in request.text and "What came before?" in request.text for request in lab.log)
    made = await share(server, run)
    async with server.client(made["token"]) as client:
        page = await client.get("/v1/shared")
        body = page.json()
        assert (body["run"]["run_id"], body["run"]["final_answer"]) == (run, "42")
        assert body["protocol"]["name"] == "voting"
        assert page.headers["x-robots-tag"] == "noindex, nofollow"
        assert page.headers["referrer-policy"] == "no-referrer"
        glance = (await client.get("/v1/shared/overview")).json()
        async with client.stream("GET", "/v1/shared/events") as stream:
            events = [event async for event in events_of(stream)]
        text = (await client.get("/v1/shared/export?format=md")).text
    assert glance["panel"]
    assert events[-1]["type"] == "run_finished"
    assert [event["seq"] for event in events] == [*range(1, len(events) + 1)]
    assert any(event["type"] == "call_finished" and "It is so." in event["text"] for event in events)
    assert "Why is it so?" in text
    for seen in (json.dumps(body), json.dumps(events), text):
        assert SECRET not in seen
        assert "What came before?" not in seen
        assert first not in seen
        assert made["token"] not in seen


async def test_the_events_of_a_shared_run_come_in_pages_too(server: ServerHandle) -> None:
    token = (await share(server, await ask(server, WITH_FILE)))["token"]
    async with server.client(token) as client:
        async with client.stream("GET", "/v1/shared/events") as stream:
            whole = [event async for event in events_of(stream)]
        paged: list[dict[str, Any]] = []
        following = "/v1/shared/events?limit=4"
        while following:
            async with client.stream("GET", following) as page:
                found = [event async for event in events_of(page)]
            assert len(found) <= 4
            assert page.headers["referrer-policy"] == "no-referrer"
            paged += found
            following = page.links.get("next", {}).get("url", "")
    assert paged == whole
    assert SECRET not in json.dumps(paged)


@pytest.mark.parametrize("path", sorted(SHARED))
async def test_a_link_to_a_deleted_run_says_so(
    server: ServerHandle, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """Before, its holder was sent to `pnyx runs`."""
    monkeypatch.setattr(links, "FRESH_S", 600.0)
    run = await ask(server)
    made = await share(server, run)
    async with server.client(made["token"]) as client:
        assert (await client.get("/v1/shared")).status_code == 200
        await server.service.delete(run)
        ended = await client.get(path)
        assert ended.status_code == 410
        assert "this link has ended: its run was deleted" in ended.text
        forget(monkeypatch)
        assert (await client.get(path)).status_code == 401  # the link is gone with its run


async def test_a_token_opens_nothing_else(server: ServerHandle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_log, "FREE", 1000)  # so many wrong keys would be answered late
    shared, other = await ask(server), await ask(server)
    token = (await share(server, shared))["token"]
    paths = server.app.openapi()["paths"]
    assert {path for path in paths if path.startswith("/v1/shared")} == SHARED
    async with server.client(token) as client:
        for path in paths:
            for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
                for run in (shared, other) if "{run_id}" in path else ("",):
                    code = (await client.request(method, path.replace("{run_id}", run))).status_code
                    if path in SHARED:
                        assert code == (200 if method == "GET" else 405), (method, path)
                    elif path != "/health":
                        assert code == 401, (method, path)
        for path in (
            f"/v1/shared/{other}",
            f"/v1/shared/%2e%2e/runs/{other}",
            "/v1/shared/",
            "//v1/shared",
            "/v1/SHARED",
            "/v1/shared/events/",
            "/mcp",
        ):
            assert (await client.get(path)).status_code == 401, path
        for query in (f"run_id={other}", f"id={other}", f"run={other}", f"token={token}"):
            assert (await client.get(f"/v1/shared?{query}")).json()["run"]["run_id"] == shared
    async with server.client(None) as client:  # only where keys are
        assert (await client.get("/v1/shared", params={"token": token})).status_code == 401
        assert (await client.get("/v1/shared", headers={"x-api-key": token})).status_code == 401


async def test_keys_open_no_link_and_see_only_links_to_their_own_runs(server: ServerHandle) -> None:
    ada, bob = await server.key("ada"), await server.key("bob")
    run = await ask(server, key=ada)
    async with server.client(ada) as client:
        made = (await client.post(f"/v1/runs/{run}/shares")).json()
        assert (await client.get("/v1/shared")).status_code == 401
        assert [one["id"] for one in (await client.get("/v1/shares")).json()] == [made["id"]]
    async with server.client(bob) as client:
        assert (await client.post(f"/v1/runs/{run}/shares")).status_code == 404
        assert (await client.get(f"/v1/runs/{run}/shares")).status_code == 404
        assert (await client.delete(f"/v1/runs/{run}/shares")).status_code == 404
        assert (await client.delete(f"/v1/runs/{run}/shares/{made['id']}")).status_code == 404
        assert (await client.get("/v1/shares")).json() == []
    assert await status(server, made["token"]) == 200


async def test_a_link_says_that_it_has_expired_or_was_revoked(
    server: ServerHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget(monkeypatch)
    run = await ask(server)
    short, kept, gone = [await share(server, run, expires_s=s) for s in (0.05, DAY_S, 2 * DAY_S)]
    async with server.client() as client:
        listed = (await client.delete(f"/v1/runs/{run}/shares/{gone['id']}")).json()
        again = await client.delete(f"/v1/runs/{run}/shares/nothing")
    await asyncio.sleep(0.06)
    assert {one["id"]: one["state"] for one in listed}[gone["id"]] == "revoked"
    assert again.status_code == 404
    assert not [one for one in listed if "token" in one]
    for made, word in ((short, "has expired on"), (gone, "was revoked")):
        async with server.client(made["token"]) as client:
            for path in SHARED:
                answer = await client.get(path)
                assert answer.status_code == 410
                assert answer.json()["error"]["type"] == "link_ended"
                assert word in answer.json()["error"]["message"]
    assert await status(server, kept["token"]) == 200
    async with server.client() as client:
        states = [one["state"] for one in (await client.delete(f"/v1/runs/{run}/shares")).json()]
    assert states == ["revoked"] * 3
    assert await status(server, kept["token"]) == 410


async def test_a_link_ends_with_the_key_of_the_owner(
    server: ServerHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget(monkeypatch)
    ada = await server.key("ada")
    run = await ask(server, key=ada)
    async with server.client(ada) as client:
        token = (await client.post(f"/v1/runs/{run}/shares")).json()["token"]
    assert await status(server, token) == 200
    await server.service.keys.remove("ada")
    assert await status(server, token) == 410


async def test_a_running_run_is_followed_until_its_link_is_revoked(
    server: ServerHandle, lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget(monkeypatch)
    held = threading.Event()
    lab.on("*", text="So it is, and so it was. " * 40, drip=(2000, 0.05), hurry=held.is_set)
    run = await ask(server, {**VOTE, "wait": False, "tokens": True})
    made = await share(server, run)
    seen: list[dict[str, Any]] = []
    async with server.client(made["token"]) as client:
        async with client.stream("GET", "/v1/shared/events?tokens=true") as stream:
            async for event in events_of(stream):
                seen.append(event)
                if event.get("type") == "token" and len(seen) > 10:
                    await server.service.shares.revoke(run)
        assert seen[-1]["error"]["type"] == "link_ended"
        assert (await client.get("/v1/shared/events")).status_code == 410
    held.set()
    result = await wait_for_result(server.service, run, LOCAL)  # reading and leaving changed nothing
    assert result.status == "decided"


async def test_a_revoked_link_is_refused_when_it_is_read_again(
    server: ServerHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "FRESH_S", 0.4)
    made = await share(server, await ask(server))
    assert await status(server, made["token"]) == 200
    await server.service.shares.revoke(made["run_id"])
    start = time.monotonic()
    while await status(server, made["token"]) == 200:  # noqa: ASYNC110 (the server forgets by its clock)
        await asyncio.sleep(0.05)
    assert time.monotonic() - start < 0.4 + 30


async def test_only_hashes_are_stored_and_compared_in_constant_time(
    server: ServerHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await share(server, await ask(server))
    token = made["token"]
    rows = await server.runner.database.read(lambda c: c.execute(table.select()).all())
    secret = token.rpartition(f"{made['id']}_")[2]
    assert secret not in str(rows)
    assert hash_key(token) in str(rows)
    compared: list[str] = []

    def compare(one: str, other: str) -> bool:
        compared.append(one)
        return hmac.compare_digest(one, other)

    monkeypatch.setattr(links, "hmac", type("Hmac", (), {"compare_digest": staticmethod(compare)}))
    unknown = token.replace(made["id"], "0" * 12)
    for wrong in (token[:-1] + ("A" if token[-1] != "A" else "B"), unknown, "pnyx_share_", "x"):
        assert await status(server, wrong) == 401
        assert compared[-1] == hash_key(wrong)
    assert len(compared) == 4


def test_tokens_have_256_random_bits_and_never_repeat() -> None:
    tokens = {new_token() for _ in range(1000)}
    secrets = {token.rpartition(f"{id}_")[2] for id, token in tokens}
    assert len(secrets) == 1000
    assert len({id for id, _ in tokens}) == 1000
    for secret in secrets:
        assert math.log2(64) * len(secret) >= 256
        assert re.fullmatch(r"[\w-]+", secret)
    assert len({secret[n] for secret in secrets for n in range(40)}) == 64  # every character, everywhere


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_link_is_valid_for_a_year_at_most(seconds: float) -> None:
    before = now()
    if 0 < seconds <= LONGEST_S:
        assert links.expiry(seconds, before) >= before
    else:
        with pytest.raises(UsageError, match="at most 366 days"):
            links.expiry(seconds, before)


@pytest.mark.parametrize("body", [{"expires_s": 0}, {"expires_s": -1}, {"expires_s": 1e9}, {"days": 3}])
async def test_other_times_are_refused(server: ServerHandle, body: dict[str, Any]) -> None:
    run = await ask(server)
    async with server.client() as client:
        assert (await client.post(f"/v1/runs/{run}/shares", json=body)).status_code == 422
        assert (await client.get(f"/v1/runs/{run}/shares")).json() == []


def test_an_event_of_a_newer_version_is_not_shown() -> None:
    event = from_json({"type": "from_the_future", "seq": 3, "prompt": SECRET})
    assert isinstance(event, UnknownEvent)
    assert shown(event) is None


async def test_the_command_line_makes_lists_and_revokes_links(
    server: ServerHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget(monkeypatch)
    run = await ask(server)

    async def command(*args: str) -> Any:
        return await asyncio.to_thread(pnyx, "share", *args)

    made = await command(run[:8], "--expires", "12h", "--url", "https://pnyx.example/")
    assert made.code == 0
    address, _, token = made.out.strip().rpartition("/")
    assert address == "https://pnyx.example/#/shared"
    assert f"revoke it with: pnyx share {run} --revoke" in made.err
    assert await status(server, token) == 200
    other = (await command(run, "--json")).json
    assert other["url"] == f"http://127.0.0.1:8642/#/shared/{other['token']}"
    listed = (await command("--list", "--json")).json
    assert {one["id"]: one["state"] for one in listed}[other["id"]] == "valid"
    assert other["token"] not in json.dumps(listed)
    table = (await command(run, "--list")).out.splitlines()
    assert table[0].split() == ["link", "run", "state", "until"]
    assert len(table) == 3
    assert "revoked 1 link" in (await command(run, "--revoke", "--link", other["id"])).err
    assert await status(server, other["token"]) == 410
    assert await status(server, token) == 200
    assert "revoked 1 link" in (await command(run, "--revoke")).err
    assert await status(server, token) == 410
    assert "no link was in force" in (await command(run, "--revoke")).err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "name the run"),
        (("nothing",), "no run 'nothing'"),
        (("x", "--expires", "7"), "is no duration"),
        (("x", "--expires", "400d"), "at most 366 days"),
        (("x", "--expires", "-1d"), "is no duration"),
        (("x", "--expires", "0d"), "is not above zero"),
        (("x", "--list", "--revoke"), "exclude each other"),
        (("x", "--link", "y"), "goes with --revoke"),
    ],
)
def test_what_the_command_refuses(lab: ScriptedHost, args: tuple[str, ...], message: str) -> None:
    refused = pnyx("share", *args)
    assert (refused.code, refused.out) == (2, "")
    assert message in refused.err
