"""The options of `pnyx models` and `pnyx models pull`."""

from __future__ import annotations

import click

from ..options import complete, json_option
from ..terminal.output import streams

__all__ = ["models"]


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def models(ctx: click.Context, as_json: bool) -> int:
    """List configured, default and embedded models, with prices and context windows.

    Prices are in USD per million tokens. You can use any other model of a provider too.
    """
    if ctx.invoked_subcommand is not None:
        return 0
    # Imported here so that help and completion start without settings and prices.
    from ..actions.listing import list_models

    return list_models(streams(), as_json)


@models.command()
@click.argument("name", shell_complete=complete("complete_weights"))
@click.option("-q", "--quiet", is_flag=True, help="Print no progress.")
def pull(name: str, quiet: bool) -> int:
    """Download the embedded model NAME, verify it, and print its path.

    An interrupted download continues where it stopped. An installed model is only verified.
    """
    # Imported here so that help and completion start without an HTTP client.
    from ..actions.listing import pull_model

    return pull_model(streams(quiet=quiet), name)
