"""`pnyx serve`: its flags."""

from __future__ import annotations

from typing import Any

import click

__all__ = ["serve"]


@click.command()
@click.option("--host", metavar="ADDRESS", help="Where to listen. Default: 127.0.0.1, this machine only.")
@click.option("--port", type=click.IntRange(0, 65535), metavar="N", help="0 takes a free one. Default: 8642.")
@click.option("--queue", is_flag=True, default=None, help="Leave runs to `pnyx worker`; needs PostgreSQL.")
@click.option("--new-key", "key_for", metavar="NAME", help="Make a key for NAME, print it once, and end.")
@click.option("--revoke-key", metavar="NAME", help="Let NAME's key open nothing any more, and end.")
@click.option("--keys", "list_keys", is_flag=True, help="List whose keys there are, and end.")
@click.option("-q", "--quiet", is_flag=True, help="Only errors.")
def serve(**given: Any) -> int:
    """Serve runs over HTTP: a page, REST with server-sent events, and OpenAI's chat completions.

    Every request needs a key; without a named one, a key is made for as long as the server runs, and printed
    on stderr, also as a link that opens the page. The runs of a key are its own. Ctrl-C or SIGTERM stops
    within 10 seconds, runs saved.
    """
    # Help and completion need not wait for what a server imports.
    from ..actions.serve import serve

    return serve(**given)
