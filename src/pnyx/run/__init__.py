"""Running protocols: drive, journal, budget, limits, runner. Knows no door; doors consume its events."""
