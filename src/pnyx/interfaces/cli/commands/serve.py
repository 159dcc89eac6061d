"""The options of `pnyx serve`."""

from __future__ import annotations

from typing import Any

import click

from ....extras import need

__all__ = ["serve"]


@click.command()
@click.option(
    "--host", metavar="ADDRESS", help="Address to listen on. Default: 127.0.0.1, this machine only."
)
@click.option(
    "--port", type=click.IntRange(0, 65535), metavar="N", help="Port; 0 picks a free one. Default: 8642."
)
@click.option(
    "--queue", is_flag=True, default=None, help="Queue runs for `pnyx worker`; requires PostgreSQL."
)
@click.option("--new-key", metavar="NAME", help="Create an API key for NAME, print it and exit.")
@click.option("--change-key", metavar="NAME", help="Change --limit or --expires of NAME's API key and exit.")
@click.option("--rotate-key", metavar="NAME", help="Replace NAME's API key, print the new one and exit.")
@click.option("--revoke-key", metavar="NAME", help="Revoke NAME's API key and exit.")
@click.option(
    "--limit",
    "limits",
    metavar="NAME=VALUE",
    multiple=True,
    help="With --new-key or --change-key: a limit, such as runs_at_once=4; =unlimited removes it.",
)
@click.option(
    "--expires",
    metavar="WHEN",
    help="With --new-key or --change-key: when the key ends: 30d, 2027-01-31, now or never.",
)
@click.option(
    "--keep-old",
    metavar="DURATION",
    help="With --rotate-key: how long the old key stays valid, such as 1h. Default: it ends at once.",
)
@click.option(
    "--keys",
    "show_keys",
    is_flag=False,
    flag_value="list",
    type=click.Choice(["list", "audit"]),
    help="List the API keys with their limits, or print what keys were used for (audit), and exit.",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    help="What stderr has: text, or one JSON object a line. Default: text.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print only errors.")
def serve(**options: Any) -> int:
    """Start the web page and the HTTP API: REST with server-sent events, and APIs for the clients of
    OpenAI and Anthropic.

    Every request requires an API key. If no key has been created with --new-key, the server creates one that
    is valid until it stops, and prints it with a link to the page on stderr. Each key sees only its own
    runs. Ctrl-C or SIGTERM stops the server within 10 seconds and pauses its runs.
    """
    need("serve", "pnyx serve")
    # Imported here so that help and completion start without a web server.
    from ..actions.serve import serve

    return serve(**options)
