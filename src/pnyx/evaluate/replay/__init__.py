"""Evaluate recorded answers, without a call."""
