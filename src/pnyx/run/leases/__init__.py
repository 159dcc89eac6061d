"""Which process has a run: its lease, how it is renewed, and the runs of this process."""
