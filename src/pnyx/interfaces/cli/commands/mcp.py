"""The command `pnyx mcp`."""

from __future__ import annotations

import click

from ....extras import need

__all__ = ["mcp"]


@click.command()
def mcp() -> int:
    """Offer your panel to an assistant: a Model Context Protocol server on stdin and stdout.

    The assistant starts and stops it. Stopping it pauses running runs; continue them with `pnyx resume ID`.
    `pnyx serve` offers the same tools over HTTP, at /mcp.
    """
    need("mcp", "pnyx mcp")
    # Imported here so that help and completion start without the MCP server.
    from ...mcp.stdio import serve_stdio
    from ...process.open_settings import open_settings
    from ..terminal.log_output import Messages, run_logged
    from ..terminal.output import streams

    settings = open_settings()

    async def serve(messages: Messages) -> int:
        await serve_stdio(settings, messages.log)
        return 0

    return run_logged(streams(), settings, serve)
