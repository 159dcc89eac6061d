"""The folders pnyx keeps things in, by the XDG rules on every system. Each raises `ConfigError`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ..errors import ConfigError

__all__ = ["cache_dir", "config_dir", "data_dir", "expanded", "models_dir"]


def config_dir(env: Mapping[str, str] = os.environ) -> Path:
    """`$XDG_CONFIG_HOME/pnyx`, else `~/.config/pnyx`."""
    return _base(env, "XDG_CONFIG_HOME", ".config")


def data_dir(env: Mapping[str, str] = os.environ) -> Path:
    """`$XDG_DATA_HOME/pnyx`, else `~/.local/share/pnyx`: the database and what is trusted."""
    return _base(env, "XDG_DATA_HOME", ".local/share")


def cache_dir(env: Mapping[str, str] = os.environ) -> Path:
    """`$XDG_CACHE_HOME/pnyx`, else `~/.cache/pnyx`: what can be had again."""
    return _base(env, "XDG_CACHE_HOME", ".cache")


def models_dir(env: Mapping[str, str] = os.environ) -> Path:
    """`$PNYX_MODELS`, else `models` in the cache folder: fetched model files."""
    named = env.get("PNYX_MODELS")
    try:
        return expanded(named) if named else cache_dir(env) / "models"
    except ValueError as exc:
        raise ConfigError(f"$PNYX_MODELS {exc}") from exc


def expanded(path: str) -> Path:
    """The path, its `~` or `~user` filled in.

    Raises `ValueError` for what no path can be, which goes on after the name of what holds it: "must be ...".
    """
    if "\0" in path:
        raise ValueError("must be without NUL")
    try:
        return Path(path).expanduser()
    except RuntimeError as exc:
        raise ValueError("must not begin with ~ and a name that has no home folder here") from exc


def _base(env: Mapping[str, str], variable: str, below_home: str) -> Path:
    base = Path(env.get(variable, ""))
    # The XDG rules say that a relative path here is to be ignored.
    if not base.is_absolute():
        try:
            base = Path(env.get("HOME") or Path.home()) / below_home
        except RuntimeError as exc:
            raise ConfigError("this user has no home folder: set HOME") from exc
    return base / "pnyx"
