"""Honest comparison with the best single model, plurality and the oracle, with intervals."""
