"""The Model Context Protocol: tools for assistants, over stdio or as a route of the HTTP server."""
