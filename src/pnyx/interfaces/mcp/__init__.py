"""The Model Context Protocol: tools for assistants, over stdin and stdout or as a route of the server."""
