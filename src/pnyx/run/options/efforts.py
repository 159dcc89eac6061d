"""How much models think, as a request says it: for all calls, for a phase, or for a seat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

from ... import protocols
from ...core.models import Seat
from ...core.thinking import EFFORTS, Effort
from ...errors import Problems, UsageError
from ...providers.catalogue import JUDGE, in_order_of_precedence
from ...similar import among
from .request import OPTIONS

__all__ = ["check_effort", "check_thinking_tokens", "named_efforts"]


def check_effort(effort: str | None) -> Effort | None:
    """Raises `UsageError` for what is no level."""
    found = next((level for level in EFFORTS if level == effort), None)
    if found is None and effort is not None:
        raise UsageError(f"effort must be one of {', '.join(EFFORTS)}, not {effort[:40]!r}")
    return found


def check_thinking_tokens(tokens: object) -> int | None:
    """Raises `UsageError` for what is no number of tokens."""
    if tokens is None or _is_number(tokens):
        return tokens
    low, high = _bounds()
    raise UsageError(f"thinking_tokens must be a whole number from {low} to {high}, not {tokens!r:.40}")


def named_efforts(
    wanted: Mapping[str, Any] | None, seats: Sequence[Seat], names: Mapping[str, Iterable[int]]
) -> dict[str, Any]:
    """Return the fields of a `Spec` for phases and seats with an effort of their own.

    wanted: the name of a phase or of a seat -> a level, or a number of tokens. seats: all that may be called,
    those of the panel first. names: NAME -> the numbers of its seats. Raises `UsageError`.
    """
    problems, levels = Problems(), dict[str, dict[str, Any]]()
    for name, level in (wanted or {}).items():
        with problems:
            levels |= dict.fromkeys(map(str, names.get(name, (name,))), _fields(name, level))
    phases: dict[str, Any] = {}
    of_seats: dict[str, Any] = {}
    labels, refs = [seat.label for seat in seats], [seat.model for seat in seats]
    numbered = sum(label != JUDGE for label in labels)
    for name, places in in_order_of_precedence(levels, labels, refs):
        if places:
            of_seats |= {labels[place]: levels[name] for place in places}
        else:
            phases[name] = levels[name]
    if phases:  # else no protocol needs to be loaded
        known = sorted({phase for protocol in protocols.loaded() for phase in protocol.phases.names})
        for name in sorted({*phases} - {*known}):
            with problems:
                there = f"phases are {', '.join(known)}; seats are 1 to {numbered}, or a model"
                raise UsageError(
                    f"there is no phase and no seat {name[:40]!r} for an effort{among(name, known, there)}"
                )
    problems.check()
    return {"efforts_of_phases": phases, "efforts_of_seats": of_seats}


def _fields(name: str, level: object) -> dict[str, Any]:
    """The fields of `Thinking` for a level, or for a number of tokens, which flags have as text."""
    if isinstance(level, str) and level.isdecimal() and len(level) <= len(str(_bounds()[1])):
        level = int(level)
    if _is_number(level):
        return {"tokens": level}
    if level in EFFORTS:
        return {"effort": level}
    low, high = _bounds()
    raise UsageError(
        f"efforts.{name[:40]} must be one of {', '.join(EFFORTS)}, or a number of tokens from {low} to "
        f"{high}, not {level!r:.40}"
    )


def _is_number(value: object) -> TypeGuard[int]:
    low, high = _bounds()
    return type(value) is int and low <= value <= high


def _bounds() -> tuple[int, int]:
    option = OPTIONS["thinking_tokens"]
    return option.low or 0, option.high or 0
