"""How texts mark notation and quotations."""
