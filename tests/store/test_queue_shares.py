"""Keys share the workers: by weight while they wait, whoever came first, and within a limit for each."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Sequence

import psycopg
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import make_url

from pnyx.store.advisory_locks import AdvisoryLock
from pnyx.store.queue import Job, Queue
from pnyx.store.queue_shares import Share
from tests.support.postgres import PostgresServer
from tests.support.properties import examples

OWNERS = ("ann", "ben", "cyd")
STEPS = st.one_of(
    st.tuples(st.just("defer"), st.sampled_from(OWNERS)),
    st.tuples(st.just("fetch"), st.integers(0, 1)),
    st.tuples(st.just("finish"), st.integers(0, 9)),
)
SHARES = st.builds(
    Share, weight=st.sampled_from([0.5, 1.0, 2.0, 4.0]), most=st.one_of(st.none(), st.integers(1, 3))
)


async def defer(queue: Queue, owner: str, count: int, first: int = 0) -> None:
    for n in range(first, first + count):
        await queue.defer(f"{owner}{n}", owner)


async def owners(queue: Queue, count: int, shares: dict[str, Share] | None = None) -> list[str]:
    jobs = [await queue.fetch(shares=shares) for _ in range(count)]
    return [job.owner for job in jobs if job is not None]


async def test_one_run_behind_another_keys_backlog_is_next_but_one(postgres_url: str) -> None:
    queue = await Queue.open(postgres_url)
    await defer(queue, "many", 60)
    assert await owners(queue, 10) == ["many"] * 10
    await defer(queue, "one", 1)
    assert "one" in await owners(queue, 2)
    # A key that was away for long has not saved up turns meanwhile.
    await owners(queue, 10)
    await defer(queue, "one", 20, first=1)
    assert Counter(await owners(queue, 10)) == {"many": 5, "one": 5}
    await queue.close()


async def test_a_key_of_more_weight_starts_more_runs_and_the_others_still_start_some(
    postgres_url: str,
) -> None:
    queue = await Queue.open(postgres_url)
    for owner in ("urgent", "usual"):
        await defer(queue, owner, 30)
    started = await owners(queue, 24, {"urgent": Share(weight=3)})
    assert Counter(started) == {"urgent": 18, "usual": 6}
    assert "usual" in started[:4]
    await queue.close()


async def test_a_limit_holds_over_all_workers_at_once_and_blocks_no_other_key(postgres_url: str) -> None:
    queues = [await Queue.open(postgres_url) for _ in range(3)]
    shares = {"bound": Share(most=2)}
    await defer(queues[0], "bound", 9)
    await defer(queues[0], "free", 3)
    found = await asyncio.gather(*(queue.fetch(shares=shares) for queue in queues for _ in range(4)))
    jobs = [job for job in found if job is not None]
    assert Counter(job.owner for job in jobs) == {"bound": 2, "free": 3}
    assert await queues[0].fetch(shares=shares) is None
    (done, _) = [job for job in jobs if job.owner == "bound"]
    await queues[0].finish(done)
    following = await queues[1].fetch(shares=shares)
    assert following is not None
    assert (following.owner, await queues[2].fetch(shares=shares)) == ("bound", None)
    for queue in queues:
        await queue.close()


async def test_the_job_of_a_worker_that_is_gone_does_not_count_beside_the_new_one(postgres_url: str) -> None:
    gone, other = [await Queue.open(postgres_url) for _ in range(2)]
    shares = {"bound": Share(most=1)}
    await defer(gone, "bound", 1)
    assert await gone.fetch(shares=shares) is not None
    await defer(other, "bound", 1)
    job = await other.fetch(shares=shares)
    assert job is not None
    await defer(other, "bound", 1, first=1)
    assert await other.fetch(shares=shares) is None
    for queue in (gone, other):
        await queue.close()


async def test_workers_take_runs_while_others_hold_the_locks_of_all_other_work(postgres_url: str) -> None:
    url = make_url(postgres_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(url) as connection:
        for lock in set(AdvisoryLock) - {AdvisoryLock.QUEUE_SCHEMA, AdvisoryLock.FETCH_JOB}:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (int(lock),))
        async with asyncio.timeout(20):
            queue = await Queue.open(postgres_url)
            await defer(queue, "one", 1)
            assert await owners(queue, 1) == ["one"]
    await queue.close()


@given(st.lists(STEPS, max_size=40), st.fixed_dictionaries(dict.fromkeys(OWNERS, SHARES)))
@examples(6)
def test_in_any_order_of_arrivals_and_ends_keys_start_by_weight_and_keep_their_limits(
    postgres: PostgresServer, steps: Sequence[tuple[str, object]], shares: dict[str, Share]
) -> None:
    with postgres.database() as url:
        asyncio.run(_perform(url, steps, shares))


async def _perform(url: str, steps: Sequence[tuple[str, object]], shares: dict[str, Share]) -> None:
    queues = [await Queue.open(url) for _ in range(2)]
    waiting: dict[str, deque[str]] = defaultdict(deque)
    running: list[Job] = []
    served: dict[tuple[str, str], Counter[str]] = {}
    names = (f"r{n}" for n in range(len(steps)))

    def may_start() -> set[str]:
        counts = Counter(job.owner for job in running)
        return {o for o, runs in waiting.items() if runs and counts[o] < (shares[o].most or len(steps))}

    for action, what in steps:
        match action, what:
            case "defer", str(owner):
                waiting[owner].append(next(names))
                await queues[0].defer(waiting[owner][-1], owner)
            case "finish", int(number) if running:
                job = running.pop(number % len(running))
                await queues[0].finish(job)
            case "fetch", int(number):
                able = may_start()
                fetched = await queues[number].fetch(shares=shares)
                assert (fetched is not None) == bool(able)
                # Pairs of which one has nothing to start start to count again.
                served = {pair: count for pair, count in served.items() if able.issuperset(pair)}
                if fetched is None:
                    continue
                assert fetched.owner in able
                assert fetched.run_id == waiting[fetched.owner].popleft()
                running.append(fetched)
                for one in able:
                    for other in able - {one}:
                        served.setdefault((one, other), Counter())[fetched.owner] += 1
                for (one, other), count in served.items():
                    turns = {o: count[o] / shares[o].weight for o in (one, other)}
                    apart = 1 / shares[one].weight + 1 / shares[other].weight
                    assert abs(turns[one] - turns[other]) <= apart + 1e-6
    for queue in queues:
        await queue.close()
