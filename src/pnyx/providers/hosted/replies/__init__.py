"""What a host's documents say: text, thoughts, tool calls, why it ended, usage, and errors inside a reply."""
