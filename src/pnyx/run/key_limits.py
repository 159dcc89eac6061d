"""The limits of a key: the one rule for what the settings say and what is stored with the key."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection

from ..config.schema import Settings
from ..config.server_settings import NO_LIMITS, KeyLimits
from .spec import Spec

__all__ = ["effective_limits", "key_limits", "with_key_caps"]


def effective_limits(settings: Settings, owner: str, stored: KeyLimits | None = None) -> KeyLimits:
    """Return the limits of a key. stored: with the key; each limit that `[serve.keys.NAME]` sets wins."""
    configured = settings.serve.keys.get(owner, NO_LIMITS)
    if stored is None:
        return configured
    return stored.model_copy(update={name: getattr(configured, name) for name in configured.model_fields_set})


def key_limits(connection: Connection, settings: Settings, owner: str) -> KeyLimits:
    """Return the limits of a key as they are now."""
    return effective_limits(settings, owner)


def with_key_caps(connection: Connection, settings: Settings, spec: Spec) -> Spec:
    """Return the spec of a run under the caps that its key has now."""
    return replace(spec, key_day_usd=key_limits(connection, settings, spec.owner).day_usd)
