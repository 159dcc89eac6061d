"""What operators see of the runs of a process: logs, traces and metrics."""
