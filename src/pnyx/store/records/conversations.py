"""Conversations: the runs that follow one another."""

from __future__ import annotations

from sqlalchemy import Connection, update

from ..schema import runs

__all__ = ["begin_conversation"]


def begin_conversation(connection: Connection, run_id: str) -> str:
    """Make a run the first turn of a conversation, which has the run's id, and return it."""
    connection.execute(
        update(runs).where(runs.c.id == run_id, runs.c.conversation.is_(None)).values(conversation=run_id)
    )
    return run_id
