"""The pure part: values, steps, rules and arithmetic. Knows no I/O, clock, randomness or library."""
