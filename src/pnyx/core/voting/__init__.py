"""Counts of votes, and when further votes are unlikely to change who leads."""
