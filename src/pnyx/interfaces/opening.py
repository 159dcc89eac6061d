"""What every door opens first: the settings in force, checked against the installed protocols."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import protocols
from ..config import check_protocols, load
from ..settings import Settings

__all__ = ["open_settings"]


def open_settings(overrides: Mapping[str, Any] = {}) -> Settings:
    """The settings, `overrides` on top. Raises `ConfigError` with every problem found."""
    settings = load(overrides=overrides)
    check_protocols(settings, {name: protocols.get(name) for name in settings.protocols})
    return settings
