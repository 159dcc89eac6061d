"""The budget of a run: what calls may cost, what runs are expected to cost, and who waits for room."""
