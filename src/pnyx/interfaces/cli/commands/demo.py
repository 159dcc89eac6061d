"""The options of `pnyx demo`."""

from __future__ import annotations

import click

from ..terminal.output import streams

__all__ = ["demo"]


@click.command()
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), metavar="N", help="Random seed. Default: a new one."
)
def demo(seed: int | None) -> int:
    """Show what a vote gains: one small model is asked several times, and its answers are counted.

    Downloads the embedded model if it is missing. Then replays a recorded vote of hosted models, marked as a
    recording. Needs no key.
    """
    # Imported here so that help and completion start without what a run needs.
    from ..actions.demo import demo

    return demo(streams(), seed)
