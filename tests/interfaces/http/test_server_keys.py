"""Keys of the server over their life: created with limits, changed, replaced, expired, and what they did."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.config.tables.server import KeyLimits
from pnyx.errors import UsageError
from pnyx.interfaces.access import keys
from pnyx.interfaces.access.key_admin import changed_limits, parse_expiry
from pnyx.interfaces.http import key_log
from pnyx.interfaces.http.key_log import FREE, MOST_CLIENTS, MOST_DELAY_S, WINDOW_S, WrongKeys
from pnyx.store import keys as store
from pnyx.store.keys import KeyUse
from pnyx.times import now
from tests.interfaces.shell import Done, pnyx
from tests.support.scripted import ScriptedHost
from tests.support.serving import ServerHandle, open_server

FRESH_S = 0.2
VOTE = {"question": "Why?", "protocol": "voting"}


async def run(*args: str) -> Done:
    return await asyncio.to_thread(pnyx, "serve", *args)


async def created(*args: str) -> str:
    done = await run(*args)
    assert done.code == 0, done.err
    return done.out.strip()


async def status(server: ServerHandle, key: str) -> int:
    async with server.client(key) as client:
        return (await client.get("/v1/runs")).status_code


@pytest.fixture
async def server(lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ServerHandle]:
    monkeypatch.setattr(keys, "FRESH_S", FRESH_S)
    monkeypatch.setattr(key_log, "FLUSH_S", 0.5)
    async with open_server(keys={"bob": {"runs_at_once": 9}}) as server:
        yield server


async def test_limits_are_stored_with_a_key_and_those_of_the_settings_win(
    server: ServerHandle, lab: ScriptedHost
) -> None:
    lab.on("*", hang=True)
    ada = await created("--new-key", "ada", "--limit", "runs_at_once=1", "--limit", "protocols=voting,single")
    bob = await created("--new-key", "bob", "--limit", "runs_at_once=1", "--limit", "sessions=3")
    async with server.client(ada) as client:
        assert (await client.post("/v1/runs", json=VOTE)).status_code == 202
        assert (await client.post("/v1/runs", json=VOTE)).status_code == 429
        refused = await client.post("/v1/runs", json={**VOTE, "protocol": "council"})
        assert refused.status_code == 403
    async with server.client(bob) as client:
        for _ in range(2):
            assert (await client.post("/v1/runs", json=VOTE)).status_code == 202
    assert (await run("--keys")).out.splitlines() == [
        'ada  protocols = ["voting", "single"] (stored); runs_at_once = 1 (stored)',
        "bob  runs_at_once = 1 (stored); sessions = 3 (stored)",
    ]


async def test_a_changed_limit_holds_within_two_seconds(server: ServerHandle, lab: ScriptedHost) -> None:
    ada = await created("--new-key", "ada", "--limit", "requests_per_minute=1")
    assert [await status(server, ada) for _ in range(2)] == [200, 429]
    assert (await run("--change-key", "ada", "--limit", "requests_per_minute=unlimited")).code == 0
    await asyncio.sleep(FRESH_S * 1.2)
    assert [await status(server, ada) for _ in range(3)] == [200, 200, 200]
    assert (await run("--keys")).out == "ada\n"


async def test_what_a_key_may_spend_in_a_day_can_be_stored_with_it(
    server: ServerHandle, lab: ScriptedHost
) -> None:
    ada = await created("--new-key", "ada", "--limit", "day_usd=0.000001")
    async with server.client(ada) as client:
        first = await client.post("/v1/runs", json={**VOTE, "wait": True})
        assert (first.status_code, first.json()["error"]["type"]) == (429, "over_limit")
        assert (await run("--change-key", "ada", "--limit", "day_usd=1")).code == 0
        await asyncio.sleep(FRESH_S * 1.2)
        again = await client.post("/v1/runs", json={**VOTE, "wait": True})
        assert again.json()["status"] not in ("paused", "failed")


async def test_a_key_whose_limits_cannot_be_read_is_refused_and_the_others_go_on(
    server: ServerHandle,
) -> None:
    ada, bob = await server.key("ada"), await server.key("bob")
    await server.service.keys.change("ada", {"limits": '{"of_later": 1}'})
    assert [await status(server, key) for key in (ada, bob)] == [401, 200]
    assert "newer pnyx" in (await run("--keys")).out


async def test_a_replaced_key_is_valid_for_as_long_as_was_said(server: ServerHandle) -> None:
    first = await created("--new-key", "ada")
    assert await status(server, first) == 200
    second = await created("--rotate-key", "ada", "--keep-old", "1h")
    await asyncio.sleep(FRESH_S * 1.2)
    assert [await status(server, key) for key in (first, second)] == [200, 200]
    assert "the key before it is valid until" in (await run("--keys")).out
    third = await created("--rotate-key", "ada")
    await asyncio.sleep(FRESH_S * 1.2)
    assert [await status(server, key) for key in (first, second, third)] == [401, 401, 200]
    assert (await run("--rotate-key", "eve")).code == 2


async def test_a_key_expires(server: ServerHandle) -> None:
    key = await created("--new-key", "ada", "--expires", "1h")
    assert await status(server, key) == 200
    assert (await run("--change-key", "ada", "--expires", "1s")).code == 0
    await asyncio.sleep(1 + FRESH_S)
    assert await status(server, key) == 401
    assert (await run("--keys")).out.startswith("ada  expired ")
    assert (await run("--change-key", "ada", "--expires", "never")).code == 0
    await asyncio.sleep(FRESH_S * 1.2)
    assert await status(server, key) == 200
    assert (await run("--change-key", "ada", "--expires", "now")).code == 0
    await asyncio.sleep(FRESH_S * 1.2)
    assert await status(server, key) == 401


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["--new-key", "ada", "--limit", "runs=4"], "'runs' is no limit"),
        (["--new-key", "ada", "--limit", "runs_at_once=0"], "runs_at_once must be"),
        (["--new-key", "ada", "--limit", "runs_at_once=many"], "runs_at_once must be"),
        (["--new-key", "ada", "--limit", "runs_at_once"], "runs_at_once=VALUE"),
        (["--new-key", "ada", "--limit", "models=none"], "models=unlimited removes the limit"),
        (
            ["--new-key", "ada", "--expires", "soon"],
            "such as 7d; or give a date such as 2027-01-31 (UTC), now or never",
        ),
        (["--new-key", "ada", "--expires", "2020-01-01"], "'2020-01-01' is over"),
        (["--new-key", "ada", "--expires", "now"], "would never be valid"),
        (["--new-key", "ada", "--expires", "2026-99-99"], "is no date"),
        (["--change-key", "ada"], "changes nothing"),
        (["--change-key", "nobody", "--expires", "1d"], "there is no key 'nobody'"),
        (["--new-key", "ada", "--keep-old", "1h"], "--keep-old goes with"),
        (["--limit", "runs_at_once=4"], "go with --new-key"),
        (["--new-key", "ada", "--keys"], "exclude each other"),
    ],
)
def test_mistakes_are_named_and_change_nothing(lab: ScriptedHost, args: list[str], why: str) -> None:
    done = pnyx("serve", *args)
    assert (done.code, done.out) == (2, "")
    assert why in done.err
    keys = pnyx("serve", "--keys")
    assert keys.out == ""
    assert "pnyx serve --new-key NAME" in keys.err


LIMITS = st.fixed_dictionaries(
    {},
    optional={
        "runs_at_once": st.integers(1, 1000),
        "requests_per_minute": st.integers(1, 1000),
        "day_usd": st.floats(0.01, 1000),
        "sessions": st.integers(1, 1000),
        "priority": st.floats(0.01, 100),
        "models": st.lists(st.sampled_from(["openai:*", "lab:alpha", "*"]), min_size=1, max_size=3),
    },
)


@given(LIMITS, LIMITS)
def test_limits_in_words_are_the_limits_that_are_stored(
    before: dict[str, object], more: dict[str, object]
) -> None:
    def words(limits: dict[str, object]) -> list[str]:
        return [f"{k}={','.join(v) if isinstance(v, list) else v}" for k, v in limits.items()]

    stored = changed_limits(changed_limits(None, words(before)), words(more))
    expected = before | more
    assert (stored is None) is (not expected)
    if stored is not None:
        assert KeyLimits.model_validate_json(stored) == KeyLimits.model_validate(expected)
    assert changed_limits(stored, [f"{name}=unlimited" for name in expected]) is None


@given(st.integers(0, 999), st.sampled_from("smhdw"))
def test_a_duration_is_a_time_from_now(count: int, unit: str) -> None:
    seconds = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}[unit]
    found = parse_expiry(f"{count}{unit}")
    assert found is not None
    expected = datetime.now(UTC) + timedelta(seconds=count * seconds)
    assert abs(datetime.fromisoformat(found) - expected) < timedelta(seconds=30)
    assert len(found) == len(now())


@given(st.text(max_size=8).filter(lambda text: text not in ("now", "never")))
def test_no_other_text_is_a_time(text: str) -> None:
    try:
        found = parse_expiry(text)
    except UsageError:
        return
    assert found is not None
    assert datetime.fromisoformat(found).tzinfo is not None


async def test_the_log_of_keys_has_who_when_route_status_and_run(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What waits is written when the server ends, as one row for like requests however slow the machine is.
    monkeypatch.setattr(key_log, "FLUSH_S", 3600.0)
    async with open_server() as server:
        ada = await server.key("ada")
        async with server.client(ada) as client:
            started = (await client.post("/v1/runs", json={**VOTE, "wait": True})).json()["run_id"]
            for _ in range(3):
                assert (await client.get(f"/v1/runs/{started}")).status_code == 200
            await client.post("/v1/runs", json={"question": ""})
        assert await status(server, "pnyx_wrong") == 401
        async with server.client("pnyx_wrong") as client:
            await client.get("/v1/nowhere")
        async with server.client(None) as client:
            await client.get("/health")
    async with open_server() as server:
        uses = await server.service.keys.uses(100)
    assert [(one.name, one.method, one.route, one.status, one.run_id, one.requests) for one in uses] == [
        ("ada", "POST", "/v1/runs", 200, started, 1),
        ("ada", "GET", "/v1/runs/{run_id}", 200, None, 3),
        ("ada", "POST", "/v1/runs", 422, None, 1),
        ("", "GET", "/v1/runs", 401, None, 1),
        ("", "GET", "unmatched", 401, None, 1),
    ]
    assert {one.client for one in uses} == {"127.0.0.1"}
    printed = (await run("--keys", "audit")).out.splitlines()
    assert [line.split()[1] for line in printed] == ["ada", "ada", "ada", "(wrong", "(wrong"]
    assert started in printed[0]
    assert "3 times" in printed[1]
    assert ada not in "".join(printed)


async def test_like_requests_are_written_while_the_server_runs(server: ServerHandle) -> None:
    ada = await server.key("ada")
    for _ in range(3):
        assert await status(server, ada) == 200
    async with asyncio.timeout(60):
        while sum(one.requests for one in await server.service.keys.uses(100)) < 3:  # noqa: ASYNC110 (written in its own time)
            await asyncio.sleep(0.05)
    assert {(one.name, one.route, one.status) for one in await server.service.keys.uses(100)} == {
        ("ada", "/v1/runs", 200)
    }


async def test_the_log_of_keys_is_bounded(server: ServerHandle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MOST_USES", 10)
    times = [f"2026-11-26T00:00:00.{n:03d}Z" for n in range(30)]
    for at in range(0, 30, 5):
        uses = [KeyUse(time, "ada", "::1", "GET", "/", 200) for time in times[at : at + 5]]
        await server.service.keys.add_uses(uses)
    assert [use.at for use in await server.service.keys.uses(100)] == times[-10:]


async def test_wrong_keys_wait_ever_longer_and_right_ones_never(
    server: ServerHandle, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(key_log, "FREE", 2)
    ada = await server.key("ada")
    seconds = []
    for _ in range(4):
        started = time.monotonic()
        assert await status(server, "pnyx_wrong") == 401
        seconds.append(time.monotonic() - started)
    assert seconds[2] >= 0.2
    assert seconds[3] >= 0.4
    assert "more than 2 wrong keys from 127.0.0.1" in caplog.text
    # A right key waits for none of the wrong ones, and while one waits no more than MOST_DELAYED do.
    monkeypatch.setattr(key_log, "MOST_DELAYED", 0)
    assert await status(server, "pnyx_wrong") == 429
    assert await status(server, ada) == 200


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 20)), max_size=80))
def test_the_wait_grows_with_the_wrong_keys_of_an_address_in_a_minute(steps: list[tuple[str, float]]) -> None:
    clock = 0.0
    wrong = WrongKeys(lambda: clock)
    times: dict[str, list[float]] = {"a": [], "b": [], "c": []}
    for client, gap in steps:
        clock += gap
        times[client].append(clock)
        delay = wrong.count(client)
        assert delay is not None
        assert delay <= MOST_DELAY_S
        lately = sum(clock - at < WINDOW_S for at in times[client])
        # A minute has at most those at once that were forgotten in it.
        assert delay == 0 or lately > FREE / 2
        assert delay > 0 or lately <= 2 * FREE


def test_one_that_goes_on_stays_slow_and_is_forgotten_within_minutes_after_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Every minute began with keys that were answered at once, and the next person's first one waited."""
    clock = 0.0
    wrong = WrongKeys(lambda: clock)
    delays = []
    for _ in range(100):
        delays.append(wrong.count("a") or 0.0)
        clock += max(1.0, delays[-1])
    assert all(delay > 0 for delay in delays[FREE + 5 :])
    assert caplog.text.count("wrong keys from a") == 1
    clock += 2 * WINDOW_S
    assert [wrong.count("a") for _ in range(FREE)] == [0.0] * FREE


async def test_keys_and_links_end_by_the_clock_of_the_database(
    server: ServerHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Servers of one database whose machines have wrong clocks ended a key at different times."""
    key = "pnyx_brief-key"
    await server.service.keys.add("brief", keys.hash_key(key), expires_at=now(3600.0))
    monkeypatch.setattr(keys, "FRESH_S", 0.0)
    async with server.client() as client:
        run = (await client.post("/v1/runs", json={"question": "Why?", "wait": True})).json()["run_id"]
        address = f"/v1/runs/{run}/shares"
        token = (await client.post(address, json={"expires_s": 3600})).json()["token"]
        assert await status(server, key) == 200
        monkeypatch.setattr(server.service._database, "_ahead_s", 7200.0)
        assert await status(server, key) == 401
        assert [link["state"] for link in (await client.get(address)).json()] == ["expired"]
    async with server.client(token) as client:
        assert (await client.get("/v1/shared")).status_code == 410


def test_few_addresses_are_remembered() -> None:
    wrong = WrongKeys()
    for n in range(MOST_CLIENTS + 50):
        wrong.count(f"10.0.{n}")
    assert len(wrong._seen._entries) <= MOST_CLIENTS
