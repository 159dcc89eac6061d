"""Compare panels with the best single model, the majority and the oracle, with confidence intervals."""
