"""Whether an answer to a question of a dataset is right."""
