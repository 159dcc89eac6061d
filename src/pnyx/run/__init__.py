"""Runs protocols: request, spec, runner, handle, journal, budget, limits. Interfaces read its events."""
