"""Alembic migrations; they travel in the wheel and run by themselves when a database is opened."""
