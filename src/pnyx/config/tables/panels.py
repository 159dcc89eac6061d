"""The settings of panels: the seats of a run that names none, and saved panels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from ...core.caching.regex import regex
from ...core.models import MOST
from ...core.thinking import Effort
from .base import Table

__all__ = ["RESTRICTED_KEYS", "PanelName", "PanelSettings", "SavedPanel", "split_seat"]

RESTRICTED_KEYS = frozenset({"roles", "budget"})
"""Keys of a saved panel that a project file may set only in a trusted folder: instructions, and money."""
_NAME = regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_COUNT = regex(r"[1-9][0-9]{0,8}")

Seats = Annotated[tuple[str, ...], Field(strict=False)]
"""TOML has only lists, which strict typing would refuse for a tuple."""


def split_seat(spec: str) -> tuple[str, int]:
    """Return the model of "provider:model*N", and N: 1 if there is none, 0 if it is no count of seats."""
    ref, star, times = spec.strip().partition("*")
    return ref, (int(times) if _COUNT.fullmatch(times) else 0) if star else 1


def _name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError("must be a name of letters, digits, _, - and .")
    return name


def _roles(value: Any) -> Any:
    texts = isinstance(value, Mapping) and all(isinstance(role, str) for role in value.values())
    if not (isinstance(value, str) or texts):
        raise ValueError("must be diverse or redteam, or a table of seats and their roles")
    return value


PanelName = Annotated[str, AfterValidator(_name)]


class PanelSettings(Table):
    """seats: "provider:model", or "provider:model*N" for N seats; empty: the default panel."""

    seats: Seats = ()


class SavedPanel(Table):
    """A panel that `-P NAME` selects. Options of a request take precedence, key by key.

    seats: as in `PanelSettings`; empty: the configured panel. preset, options: of the protocol. judge: the
    model that closes. roles: a name for all seats, or seat -> role. budget: USD for one run.
    """

    seats: Seats = ()
    protocol: Annotated[str, Field(min_length=1)] | None = None
    preset: str | None = None
    options: Mapping[str, str | int | float | bool] = Field(default_factory=dict)
    judge: Annotated[str, Field(min_length=1)] | None = None
    roles: Annotated[str | Mapping[str, str], BeforeValidator(_roles)] = Field(default_factory=dict)
    effort: Effort | None = None
    budget: Annotated[float, Field(gt=0, le=MOST)] | None = None
