"""The folders of pnyx, by the XDG rules on every system. The functions for folders raise `ConfigError`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ..errors import ConfigError

__all__ = ["config_dir", "data_dir", "expand_path", "models_dir"]


def config_dir(env: Mapping[str, str] = os.environ) -> Path:
    """Return `$XDG_CONFIG_HOME/pnyx`, or `~/.config/pnyx`."""
    return _base(env, "XDG_CONFIG_HOME", ".config")


def data_dir(env: Mapping[str, str] = os.environ) -> Path:
    """Return `$XDG_DATA_HOME/pnyx`, or `~/.local/share/pnyx`: the database and `trust.json`."""
    return _base(env, "XDG_DATA_HOME", ".local/share")


def models_dir(env: Mapping[str, str] = os.environ) -> Path:
    """Return `$PNYX_MODELS`, or `models` in the cache folder: downloaded model files."""
    folder = env.get("PNYX_MODELS")
    try:
        return expand_path(folder) if folder else _base(env, "XDG_CACHE_HOME", ".cache") / "models"
    except ValueError as exc:
        raise ConfigError(f"$PNYX_MODELS {exc}") from exc


def expand_path(path: str) -> Path:
    """Return the path with `~` or `~user` replaced by the home folder.

    Raises `ValueError` for an impossible path, with a message that continues the name of the setting:
    "must not ...".
    """
    if "\0" in path:
        raise ValueError("must not contain a NUL character")
    try:
        return Path(path).expanduser()
    except RuntimeError as exc:
        raise ValueError("must not begin with ~ and the name of a user without a home folder") from exc


def _base(env: Mapping[str, str], variable: str, below_home: str) -> Path:
    base = Path(env.get(variable, ""))
    # By the XDG rules, a relative path in the variable is ignored.
    if not base.is_absolute():
        try:
            base = Path(env.get("HOME") or Path.home()) / below_home
        except RuntimeError as exc:
            raise ConfigError("this user has no home folder: set HOME") from exc
    return base / "pnyx"
