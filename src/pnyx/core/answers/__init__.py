"""Short answers: extracting them from text, their canonical values, and which of them are the same."""
