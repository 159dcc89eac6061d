"""The options of `pnyx keys`."""

from __future__ import annotations

import click

from ..options import json_option
from ..terminal.output import streams

__all__ = ["keys"]


@click.group()
def keys() -> None:
    """Store API keys in the keyring of the system, so that no shell has to export them.

    NAME is a provider, such as openai, or the variable of a key, such as OPENAI_API_KEY. A variable that is
    set in the environment takes precedence over the keyring.
    """


@keys.command("set")
@click.argument("name", metavar="NAME")
def set_(name: str) -> int:
    """Store the key of NAME. It is asked for, and not shown; without a terminal, it is read from stdin."""
    # Imported here so that help and completion start without the settings.
    from ..actions.keys import set_key

    return set_key(streams(), name)


@keys.command("list")
@json_option
def list_(as_json: bool) -> int:
    """List the keys that providers use, and where each comes from. No key is printed."""
    # Imported here so that help and completion start without the settings.
    from ..actions.keys import list_keys

    return list_keys(streams(), as_json)


@keys.command()
@click.argument("name", metavar="NAME")
def remove(name: str) -> int:
    """Remove the key of NAME from the keyring."""
    # Imported here so that help and completion start without the settings.
    from ..actions.keys import remove_key

    return remove_key(streams(), name)
