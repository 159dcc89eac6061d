"""The numbers of all advisory locks of PostgreSQL: one space for a whole database, so each has one use."""

from __future__ import annotations

from enum import IntEnum, unique

__all__ = ["AdvisoryLock"]


@unique
class AdvisoryLock(IntEnum):
    """What a transaction does while it holds the lock."""

    MIGRATE = 7265987
    """Creates or migrates the tables."""
    CONTENTS = 7265988
    """Deletes contents; writers of their uses share it."""
    COST_SUMS = 7265989
    """Sums up the costs of the days that are over."""
    RUNS_AT_ONCE = 7265990
    """Starts a run of a key; a second number is that of the key."""
    QUEUE_SCHEMA = 7265991
    """Creates the schema of the queue."""
    FETCH_JOB = 7265992
    """Chooses whose run is next."""
