"""Pure code: values, steps, rules and arithmetic. No I/O, clock, randomness or third-party library."""
