"""A protocol as the registry knows it: its script, its options, and what others need to know of it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..errors import UsageError
from .decision import Brief, Decision
from .models import Seat
from .phases import Phases
from .steps import Panel, Step

__all__ = ["Option", "Protocol", "Scope", "Script"]

Script: TypeAlias = Callable[[Brief, Panel], Coroutine[Step[Any], Any, Decision]]


@dataclass(frozen=True, slots=True)
class Option:
    """One setting of a protocol: `[protocol] key = …`, `--option KEY=VALUE`. Bounds are inclusive.

    choices: the values it may have; a function where they are known only once everything is loaded, such as
    the names of the installed protocols.
    """

    default: Any
    help: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] | Callable[[], tuple[str, ...]] = ()

    @property
    def allowed(self) -> tuple[str, ...]:
        """The values it may have; none where any value of its type is allowed."""
        return self.choices() if callable(self.choices) else self.choices

    def check(self, name: str, value: Any) -> Any:
        """`value` as the type of the default, from TOML or from text. Raises `UsageError`."""
        kind: type = str if self.default is None else type(self.default)
        try:
            if kind is bool:
                value = _BOOLEANS[str(value).lower()]
            elif isinstance(value, bool) or (kind is int and isinstance(value, float) and value % 1):
                raise ValueError
            else:
                value = kind(value)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise UsageError(f"{name} must be {_KINDS[kind]}, not {value!r}") from None
        if (allowed := self.allowed) and value not in allowed:
            raise UsageError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")
        low = self.low if self.low is not None else -float("inf")
        high = self.high if self.high is not None else float("inf")
        if kind in (int, float) and not low <= value <= high:
            raise UsageError(f"{name} must be between {low:g} and {high:g}, not {value!r}")
        return value


_BOOLEANS = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}
_KINDS: dict[type, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "text",
}


@dataclass(frozen=True, slots=True)
class Scope:
    """What the calls of a run are reckoned from.

    given: answers that exist already. inner: (least, most) calls of another protocol on the same seats.
    """

    seats: tuple[Seat, ...]
    options: Mapping[str, Any]
    given: int
    inner: Callable[[str], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Protocol:
    """A protocol as the registry knows it; found by entry point in the group `pnyx.protocols`.

    quorum: live seats it needs; quorum_given: when the answers are given, None where it takes none.
    calls: the least and the most calls when no seat fails, the most with all that `ask_verdict` may ask
    again. presets: options that `--quick` and
    `--deep` stand for. composable: whether another protocol may have it answer a part of a question.
    nouns: phase -> what a seat contributes in it, as views call it, where the phase has another name.
    closing: phases that come once, after all rounds.
    """

    name: str
    summary: str
    phases: Phases
    script: Script
    options: Mapping[str, Option] = field(default_factory=dict)
    quorum: int = 2
    quorum_given: int | None = None
    calls: Callable[[Scope], tuple[int, int]] | None = None
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    composable: bool = True
    nouns: Mapping[str, str] = field(default_factory=dict)
    closing: tuple[str, ...] = ()

    def noun(self, phase: str) -> str:
        """What a seat contributes in `phase`."""
        return self.nouns.get(phase, phase)

    def known(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Those of the given options that are this protocol's."""
        return {name: value for name, value in given.items() if name in self.options}

    def settle(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Every option with its value: `given` where set, else the default. Raises `UsageError`."""
        for name in given:
            if name not in self.options:
                known = ", ".join(sorted(self.options)) or "none"
                raise UsageError(f"{self.name} has no option {name!r}; it has: {known}")
        return {
            name: option.check(f"{self.name}.{name}", given[name]) if name in given else option.default
            for name, option in self.options.items()
        }
