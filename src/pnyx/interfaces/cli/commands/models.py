"""`pnyx models` and `pnyx models pull`: their flags."""

from __future__ import annotations

import click

from ..options import json_option
from ..terminal.output import streams

__all__ = ["models"]


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def models(ctx: click.Context, as_json: bool) -> int:
    """List the models that are configured, asked by default, or embedded, with prices and windows.

    Prices are in USD per million tokens. Any other model of a provider can be asked too.
    """
    if ctx.invoked_subcommand is not None:
        return 0
    # Help and completion need not wait for what reads settings and prices.
    from ..actions.listing import list_models

    return list_models(streams(), as_json)


@models.command()
@click.argument("name")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def pull(name: str, quiet: bool) -> int:
    """Fetch the embedded model NAME, check it, and print its path.

    A pull that was stopped goes on where it was; one that is here already is only checked.
    """
    # Help and completion need not wait for what fetches files.
    from ..actions.listing import pull_model

    return pull_model(streams(quiet=quiet), name)
