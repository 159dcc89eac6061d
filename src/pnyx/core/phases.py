"""The phases of a protocol: a table of guarded transitions, and its diagram."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..errors import IllegalPhase

__all__ = ["START", "Phases", "Transition"]

START = "idle"

Guard: TypeAlias = "Callable[[Mapping[str, Any]], object]"


def _always(_: Mapping[str, Any]) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Transition:
    """The transition `source` -> `target`, allowed if `guard(facts)` holds. requires: the guard in words."""

    source: str
    target: str
    requires: str = ""
    guard: Guard = _always


@dataclass(frozen=True, slots=True)
class Phases:
    """The transitions of a protocol, which starts at `idle`. Any phase that is not terminal may also fail."""

    transitions: tuple[Transition, ...]
    terminal: tuple[str, ...] = ("complete", "failed")

    @property
    def names(self) -> tuple[str, ...]:
        """The phases in which seats are called: all but the start and the terminal ones."""
        targets = dict.fromkeys(t.target for t in self.transitions)
        return tuple(name for name in targets if name not in self.terminal)

    def check(self, source: str, target: str, facts: Mapping[str, Any]) -> None:
        """Raise `IllegalPhase`, with the missing condition, unless the table allows the transition."""
        if source in self.terminal:
            raise IllegalPhase(f"{source} is terminal; {target} cannot follow it")
        if target == "failed":
            return
        found = [t for t in self.transitions if (t.source, t.target) == (source, target)]
        if not found:
            allowed = ", ".join(t.target for t in self.transitions if t.source == source) or "nothing"
            raise IllegalPhase(f"{target} cannot follow {source}; allowed: {allowed}")
        if not any(t.guard(facts) for t in found):
            needs = " or ".join(t.requires for t in found)
            raise IllegalPhase(f"{source} -> {target} needs {needs}")

    def mermaid(self) -> str:
        """The table as a Mermaid state diagram."""
        lines = ["stateDiagram-v2", f"    [*] --> {START}"]
        lines += [
            f"    {t.source} --> {t.target}" + (f": {t.requires}" if t.requires else "")
            for t in self.transitions
        ]
        sources = dict.fromkeys(t.source for t in self.transitions)
        if "failed" in self.terminal:
            lines += [f"    {s} --> failed" for s in sources]
        lines += [f"    {t} --> [*]" for t in self.terminal]
        return "\n".join(lines) + "\n"
