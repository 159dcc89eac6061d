"""Who may do what: server keys, what each of them may use, and links that show one run."""
