"""`pnyx protocols`, `config`, `trust`, `doctor`: their flags."""

from __future__ import annotations

import click

from ..options import json_option
from ..terminal.output import streams

__all__ = ["config", "doctor", "protocols", "trust"]


@click.command()
@json_option
def protocols(as_json: bool) -> int:
    """List the protocols with their options, presets and number of calls.

    Options are set with --option KEY=VALUE, or in the table of the protocol's name in the settings.
    """
    # Help and completion need not wait for the protocols' pages.
    from ..actions.listing import list_protocols

    return list_protocols(streams(), as_json)


@click.group()
def config() -> None:
    """Show and check the settings: flags over environment over project file over user file."""


@config.command("show")
@json_option
def config_show(as_json: bool) -> int:
    """Print every setting in force, and where it was given. Secrets are masked."""
    # Help and completion need not wait for what reads settings.
    from ..actions.listing import show_config

    return show_config(streams(), as_json)


@config.command("path")
@json_option
def config_path(as_json: bool) -> int:
    """Print which files and folders pnyx uses, and whether they are there."""
    # Help and completion need not wait for what reads settings.
    from ..actions.listing import show_paths

    return show_paths(streams(), as_json)


@config.command("check")
def config_check() -> int:
    """Check all settings, and exit 2 with every problem found."""
    # Help and completion need not wait for what reads settings.
    from ..actions.listing import check_config

    return check_config(streams())


@click.command()
def trust() -> int:
    """Allow what the pnyx.toml of the working directory sets now: hosts, keys, prices, budgets, storage.

    Read the file first. When those parts of it change, it has to be trusted again.
    """
    # Help and completion need not wait for what reads settings.
    from ..actions.listing import trust_folder

    return trust_folder(streams())


@click.command()
@json_option
def doctor(as_json: bool) -> int:
    """Check settings, database, keys, hosts and models; say what to do about each that fails.

    Hosts of the panel and of configured providers are asked, with their keys, which models they have; no
    model is asked anything. Exits 0 when a question could be asked.
    """
    # Help and completion need not wait for what is examined.
    from ..actions.doctor import examine

    return examine(streams(), as_json)
