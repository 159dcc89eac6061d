"""The HTTP door: REST with server-sent events, and OpenAI's chat completions."""
