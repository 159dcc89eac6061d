"""The queue of workers: created once in a schema of its own, each job fetched once."""

from __future__ import annotations

import asyncio
import sys

import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url

from pnyx.errors import ConfigError, StoreError
from pnyx.store import Database
from pnyx.store.queue import Job, Queue, _parameters, _server


async def open_queues(url: str, count: int) -> list[Queue]:
    return list(await asyncio.gather(*(Queue.open(url) for _ in range(count))))


async def test_several_processes_create_one_queue_in_a_schema_of_its_own(postgres_url: str) -> None:
    queues = await open_queues(postgres_url, 4)
    database = await Database.open(postgres_url)
    schemas = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'pnyx\\_queue\\_%'"
    public = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public' AND tablename LIKE 'procrastinate%'"
    assert await database.read(lambda c: c.execute(text(schemas)).scalar_one()) == 1
    assert await database.read(lambda c: c.execute(text(public)).scalar_one()) == 0
    await database.close()
    for queue in queues:
        await queue.close()


async def test_a_job_is_queued_once_fetched_once_and_put_back(postgres_url: str) -> None:
    one, other = await open_queues(postgres_url, 2)
    await asyncio.gather(*(queue.defer("r1", "me") for queue in (one, other, one)))
    assert await one.queued_runs(["r1", "r2"]) == {"r1": True}
    job = await one.fetch()
    assert isinstance(job, Job)
    assert (job.run_id, await other.fetch()) == ("r1", None)
    assert (await one.owns(job), await other.owns(job), await one.queued_runs(["r1"])) == (
        True,
        False,
        {"r1": False},
    )
    await one.put_back_strays({job.id})
    assert await one.owns(job)
    await one.put_back(job, declined=True)
    assert await other.fetch(declined=False) is None
    second = await other.fetch()
    assert second is not None
    assert (second.id, second.tries) == (job.id, 1)
    await one.finish(job)
    await other.finish(second)
    await other.put_back(second)
    assert await one.queued_runs(["r1", "r2"]) == {}
    for queue in (one, other):
        await queue.close()


async def test_jobs_of_a_silent_process_are_put_back_even_if_another_job_waits_for_the_run(
    postgres_url: str,
) -> None:
    silent, other = await open_queues(postgres_url, 2)
    await silent.defer("r1", "me")
    await silent.defer("r2", "me")
    assert [(await silent.fetch()) is not None for _ in range(2)] == [True, True]
    await other.defer("r2", "me")
    await other.beat(60)
    assert await other.queued_runs(["r1", "r2"]) == {"r1": False, "r2": True}
    await asyncio.sleep(0.5)
    await other.beat(0.2)
    assert await other.queued_runs(["r1", "r2"]) == {"r1": True, "r2": True}
    taken = [await other.fetch() for _ in range(3)]
    assert {job.run_id for job in taken if job} == {"r1", "r2"}
    assert taken[2] is None
    assert await other.queued_runs(["r2", "r3"]) == {"r2": False}
    for queue in (silent, other):
        await queue.close()


async def test_a_queue_that_is_not_available_says_what_to_do(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match="needs PostgreSQL: set"):
        await Queue.open("sqlite:///pnyx.db")
    with pytest.raises(ConfigError, match="the URL of the database must have a port"):
        await Queue.open("postgresql://me@host:99999/db")
    with pytest.raises(StoreError, match="label"):
        await Queue.open(f"postgresql://me@{'a' * 80}/db")
    away = make_url(postgres_url).set(port=9).render_as_string(hide_password=False)
    with pytest.raises(StoreError, match="the queue in postgresql") as error:
        await Queue.open(away)
    assert (make_url(postgres_url).password or "none") not in str(error.value)
    monkeypatch.setitem(sys.modules, "procrastinate", None)
    with pytest.raises(ConfigError, match="needs the extra 'worker'"):
        await Queue.open(postgres_url)


def test_a_url_for_asyncpg_becomes_parameters_of_libpq() -> None:
    url = "postgresql+asyncpg://u:p%40@/n?host=/run/pg&ssl=require&prepared_statement_cache_size=0"
    assert _parameters(_server(url)) == {
        **{"user": "u", "password": "p@", "dbname": "n", "host": "/run/pg", "sslmode": "require"},
        "connect_timeout": 5,
        "client_encoding": "utf8",
        **{"keepalives_idle": 5, "keepalives_interval": 5, "keepalives_count": 2, "tcp_user_timeout": 15000},
    }
