"""The council protocol."""
