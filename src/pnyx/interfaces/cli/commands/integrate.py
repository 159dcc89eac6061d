"""The options of `pnyx integrate`."""

from __future__ import annotations

import click

from ..options import json_option
from ..terminal.output import streams

__all__ = ["integrate"]


@click.command()
@click.argument("name", required=False)
@click.option(
    "--write", is_flag=True, help="Write it into the assistant's files; a changed file is copied first."
)
@click.option("--project", is_flag=True, help="For this folder's project instead of all projects.")
@json_option
def integrate(name: str | None, write: bool, project: bool, as_json: bool) -> int:
    """Let an assistant or editor ask the panel: print what belongs in its settings, or write it there.

    Without NAME, list the assistants, and whether they are set up. What else is in a file stays, with its
    comments. No key is written: an entry refers to environment variables.
    """
    # Imported here so that help and completion start without the settings.
    from ..actions.integrate import integrate_assistant, list_assistants

    if name is None:
        return list_assistants(streams(), write, project, as_json)
    return integrate_assistant(streams(), name, write, project, as_json)
