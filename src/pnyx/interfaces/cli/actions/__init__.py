"""The actions of the commands."""
