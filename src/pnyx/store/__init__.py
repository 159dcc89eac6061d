"""Where runs are kept: one database, SQLite by default or PostgreSQL, opened and migrated by itself."""

from .engine import Database

__all__ = ["Database"]
