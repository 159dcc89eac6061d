"""Whose run is next: the keys share the workers by start-time fair queueing, within a limit for each.

Every key has a queue of its own in procrastinate, and a virtual time at which its next run starts. The queue
with the earliest one is served, and its time advances by one over its weight. A key that was idle starts at
the time of the last run that was started, so it neither waits for the others' backlogs nor makes up for the
time that it was away. One choice costs a look at each key with jobs, however many jobs it has.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["DECLINED", "TABLES", "WAITING", "Share", "choose", "owner_of", "queue_of"]

WAITING, DECLINED = "run", "left"
"""Kinds of queues: jobs for any worker, and jobs that one worker declined and leaves to others."""
TABLES = "CREATE TABLE pnyx_shares (owner text PRIMARY KEY, starts_at double precision NOT NULL);"
"""owner: of a key, and "" for the start of the last run that was started. starts_at: in virtual time.

It is no loss if it is lost: then all keys start at 0.
"""
LOCK = 7265989
"""Advisory lock of PostgreSQL, held by a transaction while it chooses a run and takes it."""


@dataclass(frozen=True, slots=True)
class Share:
    """A key's share of the workers. weight: runs that it starts for each one of a key of weight 1, while both
    wait. most: its most running runs, over all workers; None: no limit.
    """

    weight: float = 1.0
    most: int | None = None


def queue_of(owner: str, kind: str = WAITING) -> str:
    """Return the name of an owner's queue."""
    return f"{kind}:{owner}"


def owner_of(queue: str) -> str:
    """Return the owner of a queue."""
    return queue.partition(":")[2]


async def choose(connection: Any, kinds: Sequence[str], shares: Mapping[str, Share]) -> list[str]:
    """Return the names of the queues to take the next run from; none if no run may start.

    connection: of psycopg, in a transaction in which the job is then taken: another one chooses after its
    end, and so sees that it runs. shares: of owners that have another than `Share()`.
    """
    await connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
    limits = {owner: share.most for owner, share in shares.items() if share.most is not None}
    found = await (
        await connection.execute(_CHOOSE, {"kinds": list(kinds), "limits": json.dumps(limits)})
    ).fetchone()
    if found is None:
        return []
    owner, queues, start = found
    then = start + 1 / shares.get(owner, Share()).weight
    await connection.execute(_ADVANCE, {"owner": owner, "start": start, "then": then})
    return list(queues)


_CHOOSE = """
    WITH RECURSIVE queues AS (
        -- One step of an index for each queue: `SELECT DISTINCT` would read every job.
        (SELECT queue_name AS name FROM procrastinate_jobs ORDER BY queue_name LIMIT 1)
        UNION ALL
        SELECT (
            SELECT queue_name FROM procrastinate_jobs WHERE queue_name > name ORDER BY queue_name LIMIT 1
        )
        FROM queues WHERE name IS NOT NULL
    ),
    owners AS (
        SELECT substr(name, strpos(name, ':') + 1) AS owner, array_agg(name) AS names
        FROM queues
        WHERE split_part(name, ':', 1) = ANY (%(kinds)s) AND EXISTS (
            SELECT FROM procrastinate_jobs
            WHERE queue_name = name AND status = 'todo' AND (scheduled_at IS NULL OR scheduled_at <= now())
        )
        GROUP BY 1
    ),
    last AS (SELECT COALESCE(MAX(starts_at), 0) AS start FROM pnyx_shares WHERE owner = '')
    SELECT owners.owner, names, GREATEST(COALESCE(starts_at, 0), last.start) AS start
    FROM owners CROSS JOIN last LEFT JOIN pnyx_shares ON pnyx_shares.owner = owners.owner
    WHERE NOT jsonb_exists(%(limits)s::jsonb, owners.owner) OR (
        -- Runs and not jobs: the job of a worker that is gone stays for a while beside the new one.
        SELECT count(DISTINCT queueing_lock) FROM procrastinate_jobs AS doing
        WHERE status = 'doing' AND queue_name IN ('run:' || owners.owner, 'left:' || owners.owner)
        AND NOT EXISTS (
            SELECT FROM procrastinate_jobs
            WHERE status = 'todo' AND queueing_lock = doing.queueing_lock
        )
    ) < (%(limits)s::jsonb ->> owners.owner)::bigint
    ORDER BY start, COALESCE(starts_at, 0), owners.owner
    LIMIT 1
"""
_ADVANCE = """
    INSERT INTO pnyx_shares (owner, starts_at) VALUES ('', %(start)s), (%(owner)s, %(then)s)
    ON CONFLICT (owner) DO UPDATE SET starts_at = excluded.starts_at
"""
