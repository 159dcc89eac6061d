"""Evaluations of recorded answers, without a call."""
