"""The description of a protocol: its script, its options, and what other modules read of it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias
from typing import Protocol as Interface

from ..errors import Problems, UsageError
from ..similar import among
from .decision import Brief, Decision
from .models import Seat
from .phases import Phases
from .steps import Panel, Step

__all__ = ["Chosen", "ExpectedCalls", "InnerCalls", "InnerExpected", "Option", "Protocol", "Scope", "Script"]

Script: TypeAlias = Callable[[Brief, Panel], Coroutine[Step[Any], Any, Decision]]
Chosen: TypeAlias = tuple[str, Mapping[str, Any]]
"""A protocol that answers in place of the one that runs it: its name, and options that differ from its
configured ones."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a protocol: `[protocol] key = …`, `--option KEY=VALUE`. Bounds are inclusive.

    choices: the allowed values, or a function that returns them if they are known only after everything is
    loaded, such as the names of the installed protocols. Empty allows any value of the type.
    """

    default: Any
    help: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] | Callable[[], tuple[str, ...]] = ()

    @property
    def allowed(self) -> tuple[str, ...]:
        """The allowed values; empty if any value of the type is allowed."""
        return self.choices() if callable(self.choices) else self.choices

    def check(self, name: str, value: Any) -> Any:
        """Return `value` (from TOML or text) in the type of the default.

        Raises `UsageError` if it has another type, is not a choice, or is out of bounds. name: the option's,
        for the message.
        """
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
class ExpectedCalls:
    """Calls of one kind that a run is expected to make.

    count: how many. writes: tokens of a reply. reads: tokens of other replies in a prompt. by: the seat that
    is called; "all", or the labels of several, spreads the calls evenly.
    """

    count: float
    writes: int
    reads: float = 0.0
    by: Literal["all", "strongest", "cheapest"] | tuple[str, ...] = "all"


class InnerCalls(Interface):
    """Maps the name of a protocol to the least and the most calls that it takes on the same seats."""

    def __call__(self, name: str, options: Mapping[str, Any] = ..., /) -> tuple[int, int]:
        """options: those that differ from its configured ones."""
        ...


class InnerExpected(Interface):
    """Maps the name of a protocol to the calls that it is expected to make on the same seats."""

    def __call__(self, name: str, options: Mapping[str, Any] = ..., /) -> Sequence[ExpectedCalls]:
        """options: those that differ from its configured ones."""
        ...


@dataclass(frozen=True, slots=True)
class Scope:
    """What the number of calls of a run depends on.

    responses: how many answers the request supplies. inner: the calls of another protocol on the same seats.
    expected: those that it is expected to make. chosen: the protocol that answers in place of this one; None
    if that is not known yet.
    """

    seats: tuple[Seat, ...]
    options: Mapping[str, Any]
    responses: int
    inner: InnerCalls
    expected: InnerExpected
    chosen: Chosen | None = None


@dataclass(frozen=True, slots=True)
class Protocol:
    """A protocol in the registry. Packages add one by an entry point in the group `pnyx.protocols`.

    quorum: live seats it needs. quorum_given: the same if the request supplies the answers; None if the
    protocol accepts none.
    calls: the least and the most calls if no seat fails; the most includes every repair by `ask_verdict`.
    expected: the calls of a usual run, for the expected cost; None: halfway between the least and the most.
    routes: the protocols of which it runs one in its place; None: it answers itself.
    presets: the options that `--quick` and `--deep` set.
    composable: whether another protocol may run it on a part of a question.
    nouns: phase -> the word by which views call a seat's contribution, if it differs from the phase.
    closing: phases that come once, after all rounds.
    judged: whether a request may name a judge: one seat closes the protocol, or one that it runs.
    """

    name: str
    summary: str
    phases: Phases
    script: Script
    options: Mapping[str, Option] = field(default_factory=dict)
    quorum: int = 2
    quorum_given: int | None = None
    calls: Callable[[Scope], tuple[int, int]] | None = None
    expected: Callable[[Scope], Sequence[ExpectedCalls]] | None = None
    routes: Callable[[Scope], Sequence[Chosen]] | None = None
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    composable: bool = True
    nouns: Mapping[str, str] = field(default_factory=dict)
    closing: tuple[str, ...] = ()
    judged: bool = False

    def noun(self, phase: str) -> str:
        """The word for a seat's contribution in `phase`."""
        return self.nouns.get(phase, phase)

    def select_options(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The entries of `values` that are options of this protocol."""
        return {name: value for name, value in values.items() if name in self.options}

    def resolve_options(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Every option with its value: from `values` if set, else the default.

        Raises `UsageError` for an unknown option or a value that `Option.check` rejects.
        """
        resolved = {name: option.default for name, option in self.options.items()}
        problems = Problems()
        for name, value in values.items():
            with problems:
                if name not in self.options:
                    there = f"it has: {', '.join(sorted(self.options)) or 'none'}"
                    raise UsageError(f"{self.name} has no option {name!r}{among(name, self.options, there)}")
                resolved[name] = self.options[name].check(f"{self.name}.{name}", value)
        problems.check()
        return resolved
