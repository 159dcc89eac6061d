"""Suggestions for a model reference that names no provider, or is written as elsewhere."""

from __future__ import annotations

from ..config.schema import Settings
from ..similar import closest, nearest
from .installed import KINDS

__all__ = ["suggest_reference"]

ALIKE = 0.75
"""The least similarity of a name to one that is suggested for it, 0 to 1."""


def suggest_reference(ref: str, settings: Settings | None) -> str:
    """Return "; did you mean …?" for a wrong model reference, or an example of a right one.

    It looks in the settings first, then among the models of the vendors.
    """
    name = ref.strip().partition("*")[0].removesuffix(":")
    if settings is not None:
        if name in settings.panels:
            return f'; {name} is a saved panel: use "panel": "{name}"'
        known = {one.partition(":")[2]: one for one in (*settings.models, *settings.panel.seats)}
        if found := closest(name, known, ALIKE):
            return f"; did you mean {known[found].partition('*')[0]}?"
    provider, slash, rest = name.partition("/")
    if slash and rest and KINDS.find(provider) is not None and provider != "openrouter":
        return f"; did you mean {provider}:{rest}?"
    if name in (providers := (*(settings.providers if settings else ()), *KINDS.names())):
        return f"; name a model of it, such as {name}:MODEL"
    if hosted := _of_a_vendor(name):
        return f"; did you mean {hosted}?"
    return nearest(name, providers, 0.85) or f", such as openai:MODEL or ollama:{name or 'MODEL'}"


def _of_a_vendor(name: str) -> str | None:
    """Return the reference of the vendor's model with this name, or one like it."""
    # The snapshot takes 0.3 s to load.
    from .prices import model_ids

    by_name: dict[str, str] = {}
    for kind in KINDS.loaded():
        if kind.prices is not None and kind.name != "openrouter":
            for model in model_ids(kind.prices, name):
                by_name.setdefault(model, f"{kind.name}:{model}")
    if name in by_name:
        return by_name[name]
    found = closest(name, by_name, ALIKE)
    return by_name[found] if found else None
