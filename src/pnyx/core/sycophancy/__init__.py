"""Detection of praise, agreement and refusal in replies."""
