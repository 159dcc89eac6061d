"""One short answer: its label or envelope, what the question says about its form, and its parse."""
