"""The interfaces: command line, library, HTTP and MCP, all on one `RunService`."""
