"""The folders whose project files may set what needs trust; see design/configuration.md."""

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
from .project_rules import can_need_trust
from .replace_file import replace_file

__all__ = ["PROJECT_FILE", "trust", "untrusted"]

PROJECT_FILE = "pnyx.toml"


def trust(folder: Path, *, env: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Trust what the folder's project file sets now. Returns its keys that can need trust.

    Raises `ConfigError` if the file, or the list of trusted folders, cannot be read or written.
    """
    if not (folder / PROJECT_FILE).exists():
        raise ConfigError(f"there is no {PROJECT_FILE} in {folder}; run pnyx trust in the folder that has it")
    layer = read(folder / PROJECT_FILE, PROJECT_FILE)
    store = _store(env)
    _write(store, _read(store) | {str(folder.resolve()): _digests(layer)})
    return tuple(sorted(dotted(key) for key in layer if can_need_trust(key)))


def untrusted(folder: Path, layer: Layer, env: Mapping[str, str]) -> Layer:
    """Return the keys of `layer` that were not trusted in this folder with their present values."""
    if not layer:
        return {}
    trusted = _read(_store(env)).get(str(folder.resolve()))
    # 0.1 stored one digest for all keys. Such an entry no longer counts.
    known = trusted if isinstance(trusted, dict) else {}
    digests = _digests(layer)
    return {key: value for key, value in layer.items() if known.get(dotted(key)) != digests[dotted(key)]}


def _digests(layer: Layer) -> dict[str, str]:
    """Return key -> SHA-256 of its value."""
    texts = {
        dotted(key): json.dumps(given.value, sort_keys=True, default=str) for key, given in layer.items()
    }
    return {key: hashlib.sha256(text.encode()).hexdigest() for key, text in texts.items()}


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
