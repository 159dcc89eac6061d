"""What a process has beside its runs: the settings, open files, the signals that end it, metrics."""
