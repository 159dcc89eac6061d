"""The folders whose project files may set restricted keys; see design/configuration.md."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from .layers import Layer, dotted, read
from .paths import data_dir
from .replace_file import replace_file
from .schema import is_restricted

__all__ = ["PROJECT_FILE", "is_allowed", "is_trusted", "restricted_part", "trust"]

PROJECT_FILE = "pnyx.toml"


def trust(folder: Path, *, env: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Trust the current restricted keys of the folder's project file, and return them.

    Raises `ConfigError` if the file, or the list of trusted folders, cannot be read or written.
    """
    layer = restricted_part(read(folder / PROJECT_FILE, PROJECT_FILE))
    store = _store(env)
    _write(store, _read(store) | {str(folder.resolve()): _digest(layer)})
    return tuple(sorted(map(dotted, layer)))


def is_trusted(folder: Path, *, env: Mapping[str, str] = os.environ) -> bool:
    """Whether the folder's project file may be used in full in its current form. Raises like `trust`."""
    return is_allowed(folder, restricted_part(read(folder / PROJECT_FILE, PROJECT_FILE)), env)


def restricted_part(layer: Layer) -> Layer:
    """Return the keys of a project file that need trust."""
    return {key: value for key, value in layer.items() if is_restricted(key)}


def is_allowed(folder: Path, layer: Layer, env: Mapping[str, str]) -> bool:
    """Whether exactly these restricted keys and values were trusted in this folder."""
    return not layer or _read(_store(env)).get(str(folder.resolve())) == _digest(layer)


def _digest(layer: Layer) -> str:
    values = sorted([key, json.dumps(g.value, sort_keys=True, default=str)] for key, g in layer.items())
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()


def _store(env: Mapping[str, str]) -> Path:
    return data_dir(env) / "trust.json"


def _read(store: Path) -> dict[str, Any]:
    try:
        known = json.loads(store.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as exc:
        raise ConfigError(f"cannot read {store}: {exc.strerror or exc}") from exc
    except (ValueError, RecursionError):
        known = None
    if not isinstance(known, dict):
        raise ConfigError(f"{store} is damaged: remove it, then run `pnyx trust` in your folders again")
    return known


def _write(store: Path, known: Mapping[str, Any]) -> None:
    try:
        store.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(store, json.dumps(known, indent=1, sort_keys=True))
    except OSError as exc:
        raise ConfigError(f"cannot write {store}: {exc.strerror or exc}") from exc
