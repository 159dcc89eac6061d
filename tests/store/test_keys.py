"""The server's keys in both databases: limits, replacement, expiry, and the log of what they did."""

from __future__ import annotations

from functools import partial

import pytest

from pnyx.errors import NotFound, Taken, Unreadable
from pnyx.interfaces.process.open_settings import open_settings
from pnyx.run.options.key_limits import key_limits, limits_of_keys
from pnyx.store import Database, keys
from pnyx.store.keys import KeyUse, StoredKey

THEN, LATER, LAST = (f"2026-11-26T0{n}:00:00.000Z" for n in (1, 2, 3))


async def test_a_key_is_added_changed_replaced_and_removed(database_url: str) -> None:
    database = await Database.open(database_url)
    ada = StoredKey("ada", "1" * 64, THEN, limits='{"runs_at_once": 2}')
    await database.write(lambda c: keys.add(c, ada))
    with pytest.raises(Taken, match="rotate-key ada"):
        await database.write(lambda c: keys.add(c, ada))
    await database.write(lambda c: keys.change(c, "ada", {"expires_at": LAST}))
    await database.write(lambda c: keys.rotate(c, "ada", "2" * 64, LATER))
    (stored,) = await database.read(keys.stored)
    assert stored == StoredKey("ada", "2" * 64, THEN, LAST, ada.limits, "1" * 64, LATER)
    assert stored == await database.read(lambda c: keys.find(c, "ada"))
    assert [stored.hashes(at) for at in (THEN, LATER, LAST)] == [("2" * 64, "1" * 64), ("2" * 64,), ()]
    await database.write(lambda c: keys.remove(c, "ada"))
    assert await database.read(keys.stored) == []
    for work in (
        lambda c: keys.remove(c, "ada"),
        lambda c: keys.change(c, "ada", {"expires_at": None}),
        lambda c: keys.rotate(c, "ada", "3" * 64, LAST),
    ):
        with pytest.raises(NotFound):
            await database.write(work)
    await database.close()


async def test_each_limit_of_the_settings_wins_over_the_stored_one(database_url: str) -> None:
    configured = {"ada": {"runs_at_once": 3}, "eve": {"priority": 2.0}}
    settings = open_settings({"serve": {"keys": configured}})
    database = await Database.open(database_url)
    stored = '{"runs_at_once": 5, "day_usd": 1.5}'
    await database.write(lambda c: keys.add(c, StoredKey("ada", "1" * 64, THEN, limits=stored)))
    await database.write(lambda c: keys.add(c, StoredKey("bob", "2" * 64, THEN, limits=stored)))
    found = await database.read(lambda c: limits_of_keys(c, settings))
    ada = await database.read(lambda c: key_limits(c, settings, "ada"))
    assert {n: (one.runs_at_once, one.day_usd, one.priority) for n, one in found.items()} == {
        "ada": (3, 1.5, 1.0),
        "bob": (5, 1.5, 1.0),
        "eve": (None, None, 2.0),
    }
    assert ada == found["ada"]
    await database.write(lambda c: keys.change(c, "bob", {"limits": '{"of_later": 1}'}))
    with pytest.raises(Unreadable):
        await database.read(lambda c: key_limits(c, settings, "bob"))
    await database.close()


async def test_uses_of_keys_are_kept_in_order_and_bounded(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "MOST_USES", 3)
    database = await Database.open(database_url)
    found = [KeyUse(at, "ada", "::1", "GET", f"/{n}", 200) for n, at in enumerate((THEN, LATER, LAST) * 2)]
    for use in found:
        await database.write(partial(keys.add_uses, found=[use]))
    kept = await database.read(lambda c: keys.uses(c, 10))
    assert [use.at for use in kept] == [LATER, LAST, LAST]
    assert len(await database.read(lambda c: keys.uses(c, 2))) == 2
    await database.close()
