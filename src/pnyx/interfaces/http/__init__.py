"""HTTP: REST with server-sent events, OpenAI's chat completions, the web page, and MCP at /mcp."""
