"""The rows of runs and events, and what is stored with them: labels, leases, outcomes, links, search."""
