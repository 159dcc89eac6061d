"""The database of runs: SQLite by default, or PostgreSQL. It is created and migrated when it is opened."""

from .engine import Database

__all__ = ["Database"]
