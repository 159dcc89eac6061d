"""The limits of a key: the one rule for what the settings say and what is stored with the key."""

from __future__ import annotations

from dataclasses import replace

from pydantic import ValidationError
from sqlalchemy import Connection

from ...config.schema import Settings
from ...config.tables.server import NO_LIMITS, KeyLimits
from ...errors import Unreadable
from ...store import keys
from ..spec import Spec

__all__ = ["effective_limits", "key_limits", "limits_of_keys", "read_limits", "with_key_caps"]


def effective_limits(settings: Settings, owner: str, stored: KeyLimits | None = None) -> KeyLimits:
    """Return the limits of a key. stored: with the key; each limit that `[serve.keys.NAME]` sets wins."""
    configured = settings.serve.keys.get(owner, NO_LIMITS)
    if stored is None:
        return configured
    return stored.model_copy(update={name: getattr(configured, name) for name in configured.model_fields_set})


def read_limits(document: str | None) -> KeyLimits:
    """Return the limits that are stored with a key. Raises `Unreadable`."""
    if document is None:
        return NO_LIMITS
    try:
        return KeyLimits.model_validate_json(document)
    except ValidationError as exc:
        raise Unreadable(
            f"the limits of a key cannot be read; a newer pnyx may have written them: {exc}"
        ) from exc


def key_limits(connection: Connection, settings: Settings, owner: str) -> KeyLimits:
    """Return the limits of a key as they are now."""
    stored = keys.find(connection, owner)
    return effective_limits(settings, owner, None if stored is None else read_limits(stored.limits))


def limits_of_keys(connection: Connection, settings: Settings) -> dict[str, KeyLimits]:
    """Return the limits of every key that has some."""
    stored = {key.name: read_limits(key.limits) for key in keys.stored(connection) if key.limits is not None}
    names = {*settings.serve.keys, *stored}
    return {name: effective_limits(settings, name, stored.get(name)) for name in sorted(names)}


def with_key_caps(connection: Connection, settings: Settings, spec: Spec) -> Spec:
    """Return the spec of a run under the caps that its key has now."""
    return replace(spec, key_day_usd=key_limits(connection, settings, spec.owner).day_usd)
