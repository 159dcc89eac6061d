"""The settings files as layers. What a project file may set only in a trusted folder: `project_rules`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ..errors import ConfigError
from ..phrases import first_of
from .layers import Key, Layer, dotted, read
from .paths import config_dir, expand_path
from .project_rules import Usual, is_restricted, needs_trust
from .trust import PROJECT_FILE, untrusted

__all__ = ["absolute", "read_files"]

RENAMED: Mapping[Key, Key] = {
    ("tools", "code_execution", "timeout"): ("tools", "code_execution", "timeout_s"),
}
"""Names of keys that other programs use -> ours."""


def read_files(
    env: Mapping[str, str],
    cwd: Path,
    environment: Layer,
    usual: Usual,
    problems: list[str],
    others: list[str],
) -> Iterator[Layer]:
    """Yield the user file, then the file of $PNYX_CONFIG or the project file.

    environment, usual: what a project file is compared with, see `project_rules`. problems: gets what is
    wrong with files that are not, or not wholly, among the layers; others: the rest.
    """
    user, named, project = config_dir(env) / "config.toml", env.get("PNYX_CONFIG"), cwd / PROJECT_FILE
    found = [(user, str(user))] if os.path.lexists(user) else []
    if named:
        try:
            found.append((cwd / expand_path(named), named))
        except ValueError as exc:
            problems.append(f"$PNYX_CONFIG {exc}")
    elif os.path.lexists(project):
        found.append((project, PROJECT_FILE))
    own: Layer = {}
    for path, shown in found:
        try:
            if path == project and not path.is_file():
                raise ConfigError(f"{PROJECT_FILE} is not a file that can be read")
            layer = read(path, shown)
            if path == project and not named:
                refused = untrusted(cwd, needs_trust(layer, own | environment, usual), env)
                left_out = {key for key in refused if is_restricted(key)}
                if refused:
                    (problems if left_out else others).append(_needs_trust(refused))
                layer = {key: value for key, value in layer.items() if key not in left_out}
            own |= layer
            yield absolute(_renamed(layer), path.parent)
        except ConfigError as exc:
            problems.append(f"$PNYX_CONFIG: {exc}" if shown == named and not path.is_file() else str(exc))


def _needs_trust(refused: Layer) -> str:
    shown = first_of(sorted(map(dotted, refused)))
    return (
        f"{PROJECT_FILE} sets {shown}, which a project may do only in a folder you trust: "
        "read the file, then run `pnyx trust`"
    )


def _renamed(layer: Layer) -> Layer:
    """Return the layer with other names of keys replaced by their own; a key that is set counts."""
    known = {RENAMED.get(key, key): value for key, value in layer.items() if key in RENAMED}
    return known | {key: value for key, value in layer.items() if key not in RENAMED}


def absolute(layer: Layer, folder: Path) -> Layer:
    """Make a bare path in storage.url absolute: it starts in the folder of the file that sets it."""
    url = layer.get(("storage", "url"))
    if url and isinstance(url.value, str) and url.value and "://" not in url.value:
        # An impossible path stays as it is; the schema refuses it.
        with suppress(ValueError):
            path = folder / expand_path(url.value)
            layer[("storage", "url")] = replace(url, value=str(path.absolute()))
    return layer
