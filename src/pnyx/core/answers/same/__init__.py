"""Which short answers are the same, and the groups that they form."""
