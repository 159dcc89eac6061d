"""Set up the assistants on this machine: their configuration files, and the command that asks the panel."""
