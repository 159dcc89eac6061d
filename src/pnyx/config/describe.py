"""The effective settings with their origins, secrets masked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from .credentials import database_secrets
from .layers import Key, dotted
from .load import DATABASE, MASK
from .schema import SECTIONS, TABLES, Settings

__all__ = ["Setting", "describe"]


@dataclass(frozen=True, slots=True)
class Setting:
    """One effective value for `pnyx config show`; secrets are masked."""

    key: str
    value: Any
    origin: str


def describe(settings: Settings) -> tuple[Setting, ...]:
    """Return every effective value with its origin; of providers, models and protocols only what is set."""

    def walk(table: BaseModel | Mapping[str, Any], prefix: Key) -> Iterator[Setting]:
        items = table.items() if isinstance(table, Mapping) else iter(table)
        for name, value in items:
            key = (*prefix, name)
            if isinstance(value, BaseModel | Mapping):
                yield from walk(value, key)
            elif prefix in TABLES or key in settings._set:
                yield Setting(dotted(key), _masked(key, value), settings.origin(*key))

    sections = {name: getattr(settings, name) for name in SECTIONS}
    return tuple(walk(sections | dict(settings.protocols), ()))


def _masked(key: Key, value: Any) -> Any:
    if key == DATABASE and value is not None:
        for secret in database_secrets(value):
            value = value.replace(secret, MASK)
    return value
