"""How much of the database an owner's runs take."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from .schema import content_uses, contents, events, runs

__all__ = ["stored_bytes"]


def stored_bytes(connection: Connection, owner: str) -> int:
    """Return the bytes of the events of an owner's runs, and of the contents that they use, each once.

    No content is read for it: both databases have the length of a value beside it.
    """
    own = select(runs.c.id).where(runs.c.owner == owner)
    size = func.length(events.c.body) + func.coalesce(func.length(events.c.packed), 0)
    of_events = connection.execute(select(func.sum(size)).where(events.c.run_id.in_(own))).scalar_one()
    used = select(content_uses.c.content_id).where(content_uses.c.run_id.in_(own)).distinct()
    total = select(func.sum(func.length(contents.c.content))).where(contents.c.id.in_(used))
    return int(of_events or 0) + int(connection.execute(total).scalar_one() or 0)
