"""Parsers of structured replies: verdicts, ballots, plans, positions, JSON objects."""
