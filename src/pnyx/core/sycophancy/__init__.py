"""Detection of praise, agreement, refusal and objections in replies."""
