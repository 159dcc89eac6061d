"""The options of `pnyx protocols`, `config`, `trust` and `doctor`."""

from __future__ import annotations

import click

from ..options import json_option
from ..terminal.output import streams

__all__ = ["config", "doctor", "protocols", "trust"]


@click.command()
@json_option
def protocols(as_json: bool) -> int:
    """List the protocols with their options, presets and number of calls.

    Set an option with --option KEY=VALUE, or in the settings, in the table named after the protocol.
    """
    # Imported here so that help and completion start without the protocols.
    from ..actions.listing import list_protocols

    return list_protocols(streams(), as_json)


@click.group()
def config() -> None:
    """Show and check the settings. Command-line options override environment variables, these override the
    project file, and it overrides the user file.
    """


@config.command("show")
@json_option
def config_show(as_json: bool) -> int:
    """Print every setting with its value and where it comes from. Secrets are masked."""
    # Imported here so that help and completion start without the settings.
    from ..actions.listing import show_config

    return show_config(streams(), as_json)


@config.command("path")
@json_option
def config_path(as_json: bool) -> int:
    """Print the files and folders that pnyx uses, and whether they exist."""
    # Imported here so that help and completion start without the settings.
    from ..actions.listing import show_paths

    return show_paths(streams(), as_json)


@config.command("check")
def config_check() -> int:
    """Check all settings. Prints every problem and exits with 2 if there is one."""
    # Imported here so that help and completion start without the settings.
    from ..actions.listing import check_config

    return check_config(streams())


@click.command()
def trust() -> int:
    """Allow the pnyx.toml of this folder to set hosts, keys, prices, budgets, storage, models and limits.

    Read the file first. If one of these settings changes, trust it again.
    """
    # Imported here so that help and completion start without the settings.
    from ..actions.listing import trust_folder

    return trust_folder(streams())


@click.command()
@click.option(
    "--full", is_flag=True, help="Compare all stored texts with their checksums; without it, for 10 seconds."
)
@json_option
def doctor(full: bool, as_json: bool) -> int:
    """Check settings, database, API keys, hosts and models, and print a fix for each problem.

    The hosts of the panel and of configured providers are asked for their list of models; no model is
    called. Exits with 0 if pnyx is ready to answer a question.
    """
    # Imported here so that help and completion start without what is checked.
    from ..actions.doctor import examine

    return examine(streams(), full, as_json)
