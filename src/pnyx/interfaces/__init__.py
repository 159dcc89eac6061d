"""The doors. Each reads a run's events and its result, and stores nothing."""
