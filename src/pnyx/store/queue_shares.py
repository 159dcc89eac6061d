"""Whose run is next: the keys share the workers by start-time fair queueing, within a limit for each.

Every key has a queue of its own in procrastinate, and a virtual time at which its next run starts. The queue
with the earliest one is served, and its time advances by one over its weight. A key that was idle starts at
the time of the last run that was started, so it neither waits for the others' backlogs nor makes up for the
time that it was away. One choice costs a look at each key with jobs, however many jobs it has.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .advisory_locks import AdvisoryLock

__all__ = ["DECLINED", "FETCH", "WAITING", "Share", "definitions", "fetch_arguments", "owner_of", "queue_of"]

WAITING, DECLINED = "run", "left"
"""Kinds of queues: jobs for any worker, and jobs that one worker declined and leaves to others."""
FETCH = "SELECT * FROM pnyx_fetch(%(kinds)s::text[], %(limits)s::jsonb, %(weights)s::jsonb, %(worker_id)s)"
"""Chooses a run and takes its job, in one statement; see `definitions`."""


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


def fetch_arguments(shares: Mapping[str, Share]) -> dict[str, Any]:
    """Return the limits and weights of owners as arguments of `FETCH`, in JSON."""
    return {
        "limits": json.dumps({name: one.most for name, one in shares.items() if one.most is not None}),
        "weights": json.dumps({name: one.weight for name, one in shares.items()}),
    }


def definitions(fetch_job: str) -> str:
    """Return the SQL that creates what is needed beside procrastinate's tables.

    fetch_job: procrastinate's own query that takes the next job of some queues.
    """
    query = fetch_job.strip(";\n ").replace("%(queues)s", "chosen.names")
    definitions = _DEFINITIONS.replace("{lock}", str(AdvisoryLock.FETCH_JOB))
    return definitions.replace("{fetch_job}", query.replace("%(worker_id)s", "worker"))


# A function, so that no process holds the lock while it waits for its turn on a busy machine. Each of its
# statements sees what was committed before it, so the counts are those after all earlier choices.
# pnyx_shares has the start of the last run that was started as owner ''; its loss is harmless.
_DEFINITIONS = """
CREATE TABLE pnyx_shares (owner text PRIMARY KEY, starts_at double precision NOT NULL);

CREATE FUNCTION pnyx_fetch(kinds text[], limits jsonb, weights jsonb, worker bigint)
RETURNS TABLE (id bigint, queue_name text, args jsonb, attempts integer)
LANGUAGE plpgsql AS $pnyx$
#variable_conflict use_column
DECLARE
    chosen record;
BEGIN
    PERFORM pg_advisory_xact_lock({lock});
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
        WHERE split_part(name, ':', 1) = ANY (kinds) AND EXISTS (
            SELECT FROM procrastinate_jobs
            WHERE queue_name = name AND status = 'todo' AND (scheduled_at IS NULL OR scheduled_at <= now())
        )
        GROUP BY 1
    ),
    last AS (SELECT COALESCE(MAX(starts_at), 0) AS start FROM pnyx_shares WHERE owner = '')
    SELECT owners.owner, names, GREATEST(COALESCE(starts_at, 0), last.start) AS start
    INTO chosen
    FROM owners CROSS JOIN last LEFT JOIN pnyx_shares ON pnyx_shares.owner = owners.owner
    WHERE NOT jsonb_exists(limits, owners.owner) OR (
        -- Runs and not jobs: the job of a worker that is gone stays for a while beside the new one.
        SELECT count(DISTINCT queueing_lock) FROM procrastinate_jobs AS doing
        WHERE status = 'doing' AND queue_name IN ('run:' || owners.owner, 'left:' || owners.owner)
        AND NOT EXISTS (
            SELECT FROM procrastinate_jobs
            WHERE status = 'todo' AND queueing_lock = doing.queueing_lock
        )
    ) < (limits ->> owners.owner)::bigint
    ORDER BY start, COALESCE(starts_at, 0), owners.owner
    LIMIT 1;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    INSERT INTO pnyx_shares (owner, starts_at) VALUES
        ('', chosen.start),
        (chosen.owner, chosen.start + 1 / COALESCE((weights ->> chosen.owner)::double precision, 1))
    ON CONFLICT (owner) DO UPDATE SET starts_at = excluded.starts_at;
    RETURN QUERY SELECT taken.id::bigint, taken.queue_name::text, taken.args, taken.attempts
        FROM ({fetch_job}) AS taken WHERE taken.id IS NOT NULL;
END
$pnyx$;
"""
