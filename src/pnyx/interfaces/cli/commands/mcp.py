"""`pnyx mcp`."""

from __future__ import annotations

import asyncio

import click

__all__ = ["mcp"]


@click.command()
def mcp() -> int:
    """Serve this user's panel to an assistant: the Model Context Protocol on stdin and stdout.

    The client starts it and ends it. Runs under way are then saved, and `pnyx resume` goes on with them.
    `pnyx serve` offers the same over HTTP, at /mcp.
    """
    # Only this command waits for what they import.
    from ...mcp.stdio import serve_stdio
    from ...open_settings import open_settings

    asyncio.run(serve_stdio(open_settings()))
    return 0
