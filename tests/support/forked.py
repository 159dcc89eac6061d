"""`pnyx` in processes that start at once: forked from one that has loaded the slow imports."""

from __future__ import annotations

import multiprocessing
import os
import sys
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from pnyx.interfaces.cli import main

__all__ = ["start"]

_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(
    [
        *(
            "pnyx.evaluate.execution.run",
            "pnyx.interfaces.cli.actions.eval",
            "pnyx.providers.hosted.provider",
        ),
        *("pnyx.protocols.voting", "pnyx.protocols.deliberate", "pydantic_ai.models.openai"),
        # Modules that pnyx, and Inspect in its first evaluation, import on demand.
        *("acp", "alembic.command", "anthropic", "fsspec.implementations.local", "genai_prices.data"),
        *("linkify_it", "markdown_it", "numpy", "sqlalchemy.dialects.sqlite"),
    ]
)


def start(args: tuple[str, ...], out: Path, err: Path) -> ForkServerProcess:
    """Start the command in this folder and environment, with output in files; end it with `join`."""
    process = _SERVER.Process(target=_run, args=(args, out, err, Path.cwd(), dict(os.environ)))
    process.start()
    return process


def _run(args: tuple[str, ...], out: Path, err: Path, folder: Path, environment: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    with out.open("w") as sys.stdout, err.open("w") as sys.stderr:
        main(args)
