"""Levels and forms of thinking that a model refuses, and those that it takes instead.

Each generation of models knows other levels ("none", "minimal", "xhigh"), so a host's own list is followed,
and not the name of a model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ...core.caching.regex import regex
from .reports.report import Report
from .thinking import effort_of

__all__ = ["Level", "other_level", "set_adaptive", "set_levels", "switched_off", "wants_adaptive"]

RANKS = {"none": 0, "minimal": 1, "low": 2, "medium": 3, "default": 3, "high": 4, "xhigh": 5, "max": 6}
"""Levels of hosts, from the least thinking to the most. "default" is Groq's."""
PLACES = (
    (("reasoning_effort",), "reasoning_effort"),
    (("reasoning", "effort"), "reasoning"),
    (("output_config", "effort"), "output_config.effort"),
    (("generationConfig", "thinkingConfig", "thinkingLevel"), "thinkingConfig"),
    (("generationConfig", "thinkingConfig", "thinking_level"), "thinkingConfig"),
)
"""Where a request has its level, and the name of that parameter."""
SWITCHES = {
    "reasoning_effort": ("",),
    "enable_thinking": ("",),
    "reasoning": ("effort", "enabled"),
    "thinking": ("type",),
    "chat_template_kwargs": ("enable_thinking",),
    "thinkingConfig": ("thinking_budget", "thinkingBudget", "thinking_level", "thinkingLevel"),
}
"""Parameters that can turn thinking off, and the fields of them that say so; "" for the value itself."""
OFF = ("none", "disabled", "MINIMAL", False, 0)
_LEVELS = "|".join(RANKS)
_QUOTED = regex(rf"['\"`]({_LEVELS})['\"`]", re.IGNORECASE)
_LISTED = regex(
    r"(?:one of|values?(?: are)?|expected|supports?|allowed|only)\W{1,4}"
    rf"((?:(?:{_LEVELS}|and|or)\b\W{{0,4}})+)",
    re.IGNORECASE,
)
_WORD = regex(rf"\b({_LEVELS})\b", re.IGNORECASE)
_ADAPTIVE = regex(r"\bthinking\b.{0,200}\badaptive\b", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Level:
    """A level that a model refuses, and the closest one that it takes. name: of the parameter."""

    name: str
    refused: str
    taken: str


def other_level(message: str, names: list[str], body: dict[str, Any]) -> Level | None:
    """The level to send instead of that of `body`.

    None if the host does not say which, or if the parameter is not among the refused `names`.
    """
    for path, name in PLACES:
        now = _value(body, path)
        if name not in names or now.lower() not in RANKS:
            continue
        listed = [part[1] for match in _LISTED.finditer(message) for part in _WORD.finditer(match[1])]
        known = {word.lower() for word in [*_QUOTED.findall(message), *listed]} - {now.lower()}
        if known:
            wanted = RANKS[now.lower()]
            taken = min(known, key=lambda word: (abs(RANKS[word] - wanted), RANKS[word]))
            return Level(name, now, taken.upper() if now.isupper() else taken)
    return None


def switched_off(body: dict[str, Any]) -> set[str]:
    """The parameters of `body` that turn thinking off, or as far down as the model can."""
    settings = {**body, **body.get("generationConfig", {})}
    return {
        name
        for name, fields in SWITCHES.items()
        if name in settings and any(_field(settings[name], one) in OFF for one in fields)
    }


def _field(value: Any, name: str) -> Any:
    return value if not name else value.get(name) if isinstance(value, dict) else None


def set_levels(body: dict[str, Any], taken: dict[tuple[str, str], str]) -> None:
    """Replace a level that was refused. taken: a parameter's name and a level of it -> the level to send."""
    for path, name in PLACES if taken else ():
        if other := taken.get((name, _value(body, path))):
            holder = body
            for part in path[:-1]:
                holder = holder[part]
            holder[path[-1]] = other


def _value(body: dict[str, Any], path: tuple[str, ...]) -> str:
    found: Any = body
    for part in path:
        found = found.get(part) if isinstance(found, dict) else None
    return found if isinstance(found, str) else ""


def wants_adaptive(found: Report, body: dict[str, Any]) -> bool:
    """Whether the model decides itself how many tokens it thinks, and `body` sets a number of them."""
    return _ADAPTIVE.search(found.english) is not None and _is_budget(body.get("thinking"))


def set_adaptive(body: dict[str, Any]) -> None:
    """Ask for thinking by a level instead of a number of tokens, as Anthropic's later models want it."""
    thinking = body.get("thinking")
    if isinstance(thinking, dict) and _is_budget(thinking):
        body["thinking"] = {"type": "adaptive"}
        config = body.setdefault("output_config", {})
        config.setdefault("effort", effort_of(thinking.get("budget_tokens") or 0))


def _is_budget(thinking: Any) -> bool:
    return isinstance(thinking, dict) and thinking.get("type") == "enabled"
