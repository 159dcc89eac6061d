"""Short answers: extracting them from text, their values, and which of them are the same."""
