"""Saved panels: what a request leaves open is filled in from `[panels.NAME]`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...config.schema import Settings
from .request import RunRequest

__all__ = ["with_saved_panel"]


def with_saved_panel(request: RunRequest, settings: Settings) -> RunRequest:
    """Return the request with what it leaves open as the saved panel has it that it names, if it names one.

    Options of a protocol, its preset and its judge apply only to the protocol that they are saved for; a
    requested preset replaces saved options, and other seats the saved roles. Raises `NotFound`.
    """
    if not isinstance(request.panel, str):
        return request  # none, or of a type that `resolve` reports
    saved = settings.saved_panel(request.panel)
    filled: dict[str, Any] = {
        "protocol": request.protocol or saved.protocol,
        "models": request.models or saved.seats,
        "effort": request.effort or saved.effort,
        "budget_usd": saved.budget if request.budget_usd is None else request.budget_usd,
        "panel": None,
    }
    if not (request.models or request.cast or request.roles):
        filled |= {"roles": saved.roles} if isinstance(saved.roles, Mapping) else {"cast": saved.roles}
    if request.protocol in (None, saved.protocol or settings.run.protocol):
        filled |= {"judge": request.judge or saved.judge}
        if request.preset is None:
            options = {**saved.options, **(request.options or {})}
            filled |= {"preset": saved.preset, "options": options}
    return replace(request, **filled)
