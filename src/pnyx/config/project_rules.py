"""What a project file sets only in a trusted folder, because it could reach what the user has not set up, or
cost more; see design/configuration.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import inf
from typing import Any, TypeAlias

from ..core.caching.regex import regex
from ..core.thinking import EFFORTS
from .layers import Key, Layer, Value
from .schema import SECTIONS, RunSettings
from .tables.panels import RESTRICTED_KEYS, split_seat

__all__ = ["RESTRICTED", "Usual", "can_need_trust", "is_restricted", "needs_trust"]

RESTRICTED = frozenset(SECTIONS) - {"panel", "panels", "run"}
"""Sections of which every key needs trust: all except the harmless ones."""
SEATS = 10
"""Seats that a panel of a project may have, if no panel of the user has more."""
UNLIMITED = frozenset({"seed", "temperature"})
"""Numbers of `[run]` that are no limits."""

Usual: TypeAlias = Callable[[str, str], Any]
"""Returns the default of an option, from the names of its protocol and of itself; None if it is unknown."""

_BY_NAME = regex(r"embedded:[A-Za-z0-9_][A-Za-z0-9_.-]*")
"""A model in the user's folder of models. With a folder in its name it would be any file."""


def is_restricted(key: Key) -> bool:
    """Whether every value of the key needs trust."""
    section, *rest = key
    return section in RESTRICTED or (section == "panels" and not RESTRICTED_KEYS.isdisjoint(rest[1:2]))


def can_need_trust(key: Key) -> bool:
    """Whether there are values of the key that need trust."""
    return is_restricted(key) or _is_limit(key) or _names_models(key) or _is_choice(key)


def needs_trust(project: Layer, own: Layer, usual: Usual) -> Layer:
    """Return the keys of a project file that need trust.

    Those are all keys of `RESTRICTED` sections, instructions and budgets of panels, models that the user has
    not named and model files, more seats than in a panel of the user, limits above the user's own, efforts
    above them, presets but `quick`, and options of protocols that are neither numbers nor as usual.
    own: what the user has set elsewhere. usual: for limits that the user has not set.
    """
    mine = dict(_panels(own))
    models = {ref for refs in mine.values() for ref, _ in refs} | _named_models(own)
    seats = max(SEATS, *(sum(count for _, count in refs) for refs in mine.values()), 0)
    theirs = dict(_panels(project))

    def protocol_of(panel: str) -> Any:
        places = (("panels", panel, "protocol"), ("run", "protocol"))
        found = (layer[key].value for key in places for layer in (project, own) if key in layer)
        return next(found, RunSettings().protocol)

    def is_foreign(key: Key) -> bool:
        refs = theirs[key]
        return sum(count for _, count in refs) > seats or any(
            ref not in models and not _BY_NAME.fullmatch(ref) for ref, _ in refs
        )

    def needs(key: Key, value: Any) -> bool:
        if _is_choice(key):
            return _is_dearer(key, value, own)
        if _is_limit(key):
            default = _default(key, protocol_of, usual)
            return _is_above(value, own.get(key), default) or (
                (key[0] != "run" or isinstance(value, bool)) and _is_other(value, own.get(key), default)
            )
        return is_restricted(key) or (key in theirs and is_foreign(key))

    return {key: value for key, value in project.items() if needs(key, value.value)}


def _panels(layer: Layer) -> Iterator[tuple[Key, list[tuple[str, int]]]]:
    """Yield key -> its models, each with a number of seats: 0 for a judge."""
    for key, value in layer.items():
        if _names_models(key):
            refs = _texts(value.value if key[-1] == "seats" else [value.value])
            yield key, [(ref, count if key[-1] == "seats" else 0) for ref, count in map(split_seat, refs)]


def _names_models(key: Key) -> bool:
    return key == ("panel", "seats") or (key[0] == "panels" and key[2:] in (("seats",), ("judge",)))


def _texts(values: Any) -> Iterable[str]:
    # The schema refuses everything else.
    return [v for v in values if isinstance(v, str)] if isinstance(values, list | tuple) else []


def _named_models(layer: Layer) -> set[str]:
    return {key[1] for key in layer if key[0] == "models" and len(key) > 1}


def _is_limit(key: Key) -> bool:
    """Whether more of its number may cost more."""
    section, *rest = key
    if section == "run":
        return bool(rest) and rest[-1] not in UNLIMITED
    if section == "panels":
        return rest[1:2] == ["options"]
    return section not in SECTIONS


def _is_choice(key: Key) -> bool:
    """Whether the key is an effort or a preset: a word for numbers that may cost more."""
    return key[-1] == "reasoning_effort" if key[0] == "run" else _is_of_panel(key, "effort", "preset")


def _is_of_panel(key: Key, *names: str) -> bool:
    return key[0] == "panels" and len(key) == 3 and key[2] in names


def _is_dearer(key: Key, value: Any, own: Layer) -> bool:
    """Whether an effort is above the user's own, or a preset is another one than the user's or `quick`.

    Without an effort of the user, hosts decide, and only `none` is certain to cost no more.
    """
    if _is_of_panel(key, "preset"):
        return value not in ("quick", own[key].value if key in own else None)
    mine = next((own[one].value for one in (key, ("run", "reasoning_effort")) if one in own), EFFORTS[0])
    allowed = EFFORTS[: EFFORTS.index(mine) + 1] if mine in EFFORTS else EFFORTS[:1]
    return value not in allowed


def _default(key: Key, protocol_of: Callable[[str], Any], usual: Usual) -> Any:
    section, *rest = key
    if section == "run" and rest[0] in RunSettings.model_fields:
        return getattr(RunSettings(), rest[0]) if len(rest) == 1 else None
    if section == "run":
        return inf  # an unknown name is refused as such
    protocol, option = (protocol_of(rest[0]), rest[2:]) if section == "panels" else (section, rest)
    return usual(protocol, option[0]) if isinstance(protocol, str) and len(option) == 1 else None


def _is_above(value: Any, own: Value | None, default: Any) -> bool:
    """Whether a number is larger than the user's own, or than the default. Other values are no limits."""
    number = _number(value)
    limit = _number(default if own is None else own.value)
    return number is not None and not (limit is not None and number <= limit)


def _is_other(value: Any, own: Value | None, default: Any) -> bool:
    """Whether an option that is no number is neither the user's own nor the default: it may cost more."""
    if _number(value) is not None or default is None:
        return False
    return bool(value != default and (own is None or value != own.value))


def _number(value: Any) -> float | None:
    """The number that a value is read as; also a text, which an option accepts."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None
