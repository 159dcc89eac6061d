"""The queue beside the runs: made once, out of the way, and its jobs handed out once."""

from __future__ import annotations

import asyncio
import sys

import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url

from pnyx.errors import ConfigError, StoreError
from pnyx.store import Database
from pnyx.store.queue import Job, Queue, _parameters, _server


async def opened(url: str, count: int) -> list[Queue]:
    return list(await asyncio.gather(*(Queue.open(url) for _ in range(count))))


async def test_several_that_come_at_once_make_one_queue_out_of_the_way_of_the_runs(postgres_url: str) -> None:
    queues = await opened(postgres_url, 4)
    database = await Database.open(postgres_url)
    schemas = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'pnyx\\_queue\\_%'"
    public = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public' AND tablename LIKE 'procrastinate%'"
    assert await database.read(lambda c: c.execute(text(schemas)).scalar_one()) == 1
    assert await database.read(lambda c: c.execute(text(public)).scalar_one()) == 0
    await database.close()
    for queue in queues:
        await queue.close()


async def test_a_run_is_named_once_handed_out_once_and_put_back(postgres_url: str) -> None:
    one, other = await opened(postgres_url, 2)
    await asyncio.gather(*(queue.defer("r1") for queue in (one, other, one)))
    assert await one.named() == {"r1": True}
    job = await one.fetch()
    assert isinstance(job, Job)
    assert (job.run_id, await other.fetch()) == ("r1", None)
    assert (await one.owns(job), await other.owns(job), await one.named()) == (True, False, {"r1": False})
    await one.strays({job.id})
    assert await one.owns(job)
    await one.again(job, left=True)
    assert await other.fetch(left=False) is None
    again = await other.fetch()
    assert again is not None
    assert (again.id, again.tries) == (job.id, 1)
    await one.finish(job)
    await other.finish(again)
    await other.again(again)
    assert await one.named() == {}
    for queue in (one, other):
        await queue.close()


async def test_what_a_silent_process_had_is_put_back_also_where_another_job_names_the_run(
    postgres_url: str,
) -> None:
    silent, other = await opened(postgres_url, 2)
    await silent.defer("r1")
    await silent.defer("r2")
    assert [(await silent.fetch()) is not None for _ in range(2)] == [True, True]
    await other.defer("r2")
    await other.beat(60)
    assert await other.named() == {"r1": False, "r2": True}
    await asyncio.sleep(0.5)
    await other.beat(0.2)
    assert await other.named() == {"r1": True, "r2": True}
    taken = [await other.fetch() for _ in range(3)]
    assert {job.run_id for job in taken if job} == {"r1", "r2"}
    assert taken[2] is None
    for queue in (silent, other):
        await queue.close()


async def test_a_queue_that_cannot_be_had_says_what_to_do(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match="needs PostgreSQL: set"):
        await Queue.open("sqlite:///pnyx.db")
    with pytest.raises(ConfigError, match="the URL of the database must have a port"):
        await Queue.open("postgresql://me@host:99999/db")
    with pytest.raises(StoreError, match="label"):
        await Queue.open(f"postgresql://me@{'a' * 80}/db")
    away = make_url(postgres_url).set(port=9).render_as_string(hide_password=False)
    with pytest.raises(StoreError, match="the queue in postgresql") as told:
        await Queue.open(away)
    assert (make_url(postgres_url).password or "none") not in str(told.value)
    monkeypatch.setitem(sys.modules, "procrastinate", None)
    with pytest.raises(ConfigError, match=r"pip install 'pnyx\[worker\]'"):
        await Queue.open(postgres_url)


def test_a_url_for_asyncpg_is_told_to_libpq() -> None:
    url = "postgresql+asyncpg://u:p%40@/n?host=/run/pg&ssl=require&prepared_statement_cache_size=0"
    assert _parameters(_server(url)) == {
        **{"user": "u", "password": "p@", "dbname": "n", "host": "/run/pg", "sslmode": "require"},
        "connect_timeout": 5,
    }
