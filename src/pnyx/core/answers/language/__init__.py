"""Answers in words: names, yes and no, and what a sentence says of the question's subject."""
