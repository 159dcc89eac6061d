"""The short answer of a whole reply."""
