"""What is made once and remembered: bounded mappings, compiled patterns, results of functions."""
