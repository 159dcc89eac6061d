"""Output on a terminal: live view, plain lines, progress, line input."""
