"""Long runs over HTTP: pages of events, without prompts, while others are answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from functools import partial
from typing import Any

import httpx2
import pytest
from sqlalchemy import Connection

from pnyx.core.events import CallFinished, CallStarted, Event, to_json
from pnyx.interfaces.access.keys import LOCAL
from pnyx.interfaces.records import overviews
from pnyx.interfaces.views.overview import overview
from pnyx.run.options.request import RunRequest
from pnyx.store.records import entries
from pnyx.store.records import runs as store
from tests.interfaces.shell import pnyx
from tests.support.scripted import ScriptedHost
from tests.support.serving import ServerHandle, events_of

CALLS = 300
PROMPT = "Evidence decides what holds. " * 300


async def long_run(server: ServerHandle) -> str:
    """A finished run with 600 events more, whose prompts are 2.6 MB."""
    async with server.client() as client:
        body = {"question": "Why?", "protocol": "voting", "wait": True}
        run_id = str((await client.post("/v1/runs", json=body)).json()["run_id"])

    await server.runner.database.write(lambda connection: add_calls(connection, run_id, CALLS))
    return run_id


def add_calls(connection: Connection, run_id: str, count: int, prompt: str = PROMPT) -> None:
    row = store.find(connection, run_id)
    batch: list[Event] = []
    of = {"fingerprint": "f", "model": "lab:alpha", "attempt": 1, "time": row.created_at}
    for n in range(count):
        call: dict[str, Any] = of | {"seat": "Participant A", "key": f"/9.{n}"}
        batch.append(CallStarted(prompt_id="p", prompt_sha256="s", prompt=prompt, **call))
        batch.append(CallFinished(text=f"Reply {n}. " * 30, **call))
    store.append(connection, run_id, row.epoch, batch)


async def pages(client: httpx2.AsyncClient, path: str) -> AsyncIterator[list[dict[str, object]]]:
    """The pages of a list of events, by their links."""
    following: str | None = path
    while following is not None:
        async with client.stream("GET", following) as response:
            assert response.status_code == 200
            yield [event async for event in events_of(response)]
        link = response.headers.get("link")
        following = None if link is None else link.partition(">")[0].removeprefix("<")


async def test_the_overview_of_a_long_run_is_read_once_until_it_has_more_events(
    server: ServerHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id, read = await long_run(server), list[int]()

    def note(events: list[Event]) -> dict[str, Any]:
        read.append(len(events))
        return overview(events)

    monkeypatch.setattr(overviews, "overview", note)
    async with server.client() as client:
        first, second = [(await client.get(f"/v1/runs/{run_id}/overview")).json() for _ in range(2)]
        await server.runner.database.write(lambda c: add_calls(c, run_id, 1))
        third = (await client.get(f"/v1/runs/{run_id}/overview")).json()
        assert (await client.delete(f"/v1/runs/{run_id}")).status_code == 204
        assert (await client.get(f"/v1/runs/{run_id}/overview")).status_code == 404
    assert first == second != third
    assert len(read) == 2


async def test_events_come_in_pages_and_without_prompts(server: ServerHandle) -> None:
    run_id = await long_run(server)
    async with server.client() as client:
        async with client.stream("GET", f"/v1/runs/{run_id}/events") as response:
            whole = [event async for event in events_of(response)]
        assert [event["seq"] for event in whole] == list(range(1, len(whole) + 1))
        prompts = [event["prompt"] for event in whole if event["type"] == "call_started"]
        assert prompts.count(PROMPT) == CALLS
        paged = [page async for page in pages(client, f"/v1/runs/{run_id}/events?limit=200")]
        assert [len(page) for page in paged] == [200, 200, 200, len(whole) - 600]
        assert [event for page in paged for event in page] == whole
        path = f"/v1/runs/{run_id}/events?limit=250&prompts=omit&after=3"
        lean = [event async for page in pages(client, path) for event in page]
        plain = [event | {"prompt": "", "system": ""} if "prompt" in event else event for event in whole]
        assert lean == plain[3:]
        async with client.stream("GET", f"/v1/runs/{run_id}/events?prompts=omit") as response:
            assert [event async for event in events_of(response)] == plain
        lengths = []
        for coding in ("identity", "gzip"):
            headers = {"Accept-Encoding": coding}
            page = await client.get(f"/v1/runs/{run_id}/events?limit=300", headers=headers)
            exported = await client.get(f"/v1/runs/{run_id}/export", headers=headers)
            assert exported.headers.get("content-encoding", "identity") == coding
            assert page.headers.get("content-encoding", "identity") == coding
            lengths.append((int(page.headers["content-length"]), page.text, exported.json()))
        assert lengths[0][1:] == lengths[1][1:]
        assert lengths[1][0] < lengths[0][0] / 10
        wrong = await client.get(f"/v1/runs/{run_id}/events?prompts=no")
        assert wrong.status_code == 422


async def test_pages_of_events_are_bounded_by_their_texts_too(
    server: ServerHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entries, "PAGE_CHARS", 5 * len(PROMPT))
    run_id = await long_run(server)
    async with server.client() as client:
        seen: list[object] = []
        async for page in pages(client, f"/v1/runs/{run_id}/events?limit=500&after=500"):
            chars = sum(len(one) for event in page for one in event.values() if isinstance(one, str))
            assert chars <= 5 * len(PROMPT) or len(page) == 1
            seen += [event["seq"] for event in page]
        assert len(seen) > 100
        assert seen == list(range(501, 501 + len(seen)))
        async with client.stream("GET", f"/v1/runs/{run_id}/events?after=500") as response:
            assert [event["seq"] async for event in events_of(response)] == seen


def chars_of(events: Iterable[Event]) -> int:
    return sum(len(one) for event in events for one in to_json(event).values() if isinstance(one, str))


async def test_a_follower_has_few_long_texts_in_memory(
    server: ServerHandle, lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    most, read = entries.FOLLOWED_CHARS, list[list[Event]]()
    followed: list[object] = []
    lab.on("alpha", until=lambda: bool(followed))  # so that the run is under way

    def log(*args: Any, **options: Any) -> list[Event]:
        read.append(entries.log(*args, **options))
        return read[-1]

    async with server.client() as client:
        body = {"question": "Why?", "protocol": "voting"}
        run_id = (await client.post("/v1/runs", json=body)).json()["run_id"]
        monkeypatch.setattr(store, "log", log)
        for _ in ("under way", "finished"):
            texts = partial(add_calls, run_id=run_id, count=20, prompt=PROMPT * 10)
            await server.runner.database.write(texts)
            read.clear()
            async with client.stream("GET", f"/v1/runs/{run_id}/events") as response:
                async for event in events_of(response):
                    if event["seq"] >= 40:
                        followed.append(event)
            pages = [page for page in read if page]
            assert all(chars_of(page) <= most * 1.1 or len(page) == 1 for page in pages)
            assert max(map(len, pages)) > 1
            assert sum(map(chars_of, pages)) > 4 * most


async def test_others_are_answered_while_a_long_run_is_read(
    server: ServerHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = await long_run(server)
    sizes: list[int] = []
    answered: list[int] = []

    def log(*args: Any, **options: Any) -> list[Event]:
        found = entries.log(*args, **options)
        sizes.append(len(found))
        return found

    async def ask_health(client: httpx2.AsyncClient) -> None:
        while True:
            answered.append((await client.get("/health")).status_code)

    monkeypatch.setattr(store, "log", log)
    async with server.client() as client, server.client() as other:
        asking = asyncio.create_task(ask_health(other))
        async with client.stream("GET", f"/v1/runs/{run_id}/events") as response:
            received = len([event async for event in events_of(response)])
        asking.cancel()
    assert sum(sizes) == received > 2 * CALLS
    assert max(sizes) <= entries.PAGE
    assert len(answered) >= len(sizes)
    assert set(answered) == {200}


async def test_the_state_of_a_run_is_read_without_its_events(server: ServerHandle) -> None:
    run_id = await long_run(server)

    def unread(*_: object, **__: object) -> None:
        raise AssertionError("events were read")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "log", unread)
        async with server.client() as client:
            state = (await client.get(f"/v1/runs/{run_id}")).json()
        assert state["run_id"] == run_id
        done = await asyncio.to_thread(pnyx, "status", run_id, "--json")
        assert json.loads(done.out)["run_id"] == run_id


async def test_a_question_that_follows_a_run_reads_none_of_its_events(
    server: ServerHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with server.client() as client:
        first = (
            await client.post("/v1/runs", json={"question": "Why?", "protocol": "voting", "wait": True})
        ).json()

        def read(*args: object, **options: object) -> entries.Page:
            raise AssertionError("events were read")

        with monkeypatch.context() as patch:
            patch.setattr(store, "log", read)
            spec = await server.service.resolve_next(RunRequest(question="And?"), LOCAL, first["run_id"])
        assert spec.conversation == first["run_id"]
        assert any(first["answer"] in material.text for material in spec.context)


@pytest.mark.parametrize("answered", ["42", None])
async def test_an_event_source_stops_after_the_last_event(
    server: ServerHandle, lab: ScriptedHost, answered: str | None
) -> None:
    """It connects again whenever a stream ends, with the last id, until the status is 204."""
    if answered is None:
        lab.on("*", status=400)
    async with server.client() as client:
        run = (
            await client.post("/v1/runs", json={"question": "Why?", "protocol": "voting", "wait": True})
        ).json()["run_id"]
        token = (await client.post(f"/v1/runs/{run}/shares", json={})).json()["token"]
        async with server.client(token) as guest:
            for reader, path in ((client, f"/v1/runs/{run}/events"), (guest, "/v1/shared/events")):
                seen, statuses = list[str](), list[int]()
                while not statuses or statuses[-1] == 200:
                    headers = {"Last-Event-ID": seen[-1]} if seen else {}
                    async with reader.stream("GET", path, headers=headers) as stream:
                        statuses.append(stream.status_code)
                        assert stream.headers["content-type"].startswith("text/event-stream")
                        seen += [event["id"] async for event in events_of(stream)]
                assert statuses == [200, 204]
                assert seen == [str(n) for n in range(1, len(seen) + 1)]
                page = await reader.get(path, params={"after": seen[-1], "limit": 5})
                assert (page.status_code, page.text) == (200, "")
