"""Numbers and what is counted or measured: quantities with units, ordinals, bounds, ranges and dates."""
