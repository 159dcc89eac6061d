"""Settings: their schema, where they come from, what a folder is trusted with."""
