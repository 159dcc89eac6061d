"""Alembic migrations. They are part of the wheel and run automatically when a database is opened."""
