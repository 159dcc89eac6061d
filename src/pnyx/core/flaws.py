"""What is wrong with what a protocol returns or awaits, which can be anything: nothing else is recorded."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeAlias

from .decision import DECIDED, Brief, Decision, Dissent
from .models import Seat
from .steps import Abstain, All, Ask, Enter, Graph, Run, Schema, Step, Tally, Use
from .text import Prompt

__all__ = ["decision_flaw", "step_flaw"]

Check: TypeAlias = Callable[[object], "str | None"]
"""Returns what a valid value is if this one is not, else None."""


def _is(requirement: str, holds: Callable[[Any], bool]) -> Check:
    return lambda value: None if holds(value) else f"{requirement}, not {value!r:.200}"


def _json(value: object) -> str | None:
    try:
        json.dumps(value, default=_as_json, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as exc:
        return f"JSON: {exc}"
    return None


def _json_object(value: object) -> str | None:
    return _json(value) if isinstance(value, Mapping) else f"a mapping, not {value!r:.200}"


def _as_json(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _share(value: object) -> bool:
    # Binary fractions may add up to a little more than 1.
    return _number(value) and 0 <= round(value, 9) <= 1  # type: ignore[call-overload]


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _votes(value: object) -> bool:
    return isinstance(value, Mapping) and all(map(_number, value.values()))


def _nodes(value: object) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(label, str) and isinstance(node, tuple) and len(node) == 2 for label, node in value.items()
    )


def _dissents(value: object) -> bool:
    return isinstance(value, Sequence) and all(
        isinstance(one, Dissent) and all(isinstance(text, str) for text in asdict(one).values())
        for one in value
    )


_TEXT = _is("text", lambda value: isinstance(value, str))
_TEXT_OR_NONE = _is("text or None", lambda value: value is None or isinstance(value, str))
_ROUND = _is("a whole number", _whole)
_TRUTH = _is("true, false or None", lambda value: value is None or isinstance(value, bool))
_SHARE = _is("a number from 0 to 1, or None", lambda value: value is None or _share(value))
_SEAT = _is("a seat", lambda value: isinstance(value, Seat))
_QUORUM = _is("a whole number", lambda value: isinstance(value, int))
_BRANCHES = _is("steps and coroutines", lambda value: all(isinstance(one, Step | Coroutine) for one in value))

DECISION: Mapping[str, Check] = {
    "status": _is(f"one of {', '.join(DECIDED)}", lambda value: value in DECIDED),
    "answer": _is("text that is not blank", lambda value: isinstance(value, str) and bool(value.strip())),
    **dict.fromkeys(("final_answer", "support_rule", "confidence_rule"), _TEXT_OR_NONE),
    **dict.fromkeys(("confidence", "support", "rigor", "agreement"), _SHARE),
    **dict.fromkeys(("consensus_reached", "converged"), _TRUTH),
    "dissent": _is("a tuple of Dissent objects with texts", _dissents),
    "rounds": _ROUND,
    "stop_reason": _TEXT,
    "detail": _json_object,
}
STEPS: Mapping[type[Step[Any]], Mapping[str, Check]] = {
    Ask: {
        "seat": _SEAT,
        "prompt": _is("a prompt", lambda value: isinstance(value, Prompt)),
        "schema": _is("a Schema or None", lambda value: value is None or isinstance(value, Schema)),
        "max_tokens": _is(
            "a whole number above 0, or None", lambda value: value is None or (_whole(value) and value > 0)
        ),
    },
    Use: {"tool": _TEXT, "arguments": _json_object},
    Tally: {
        "rule": _TEXT,
        "tally": _is("a mapping to numbers", _votes),
        "winner": _TEXT_OR_NONE,
        "detail": _json_object,
    },
    Abstain: {"seat": _SEAT, "reason": _TEXT},
    Enter: {"phase": _TEXT, "round": _ROUND, "answer": _TEXT_OR_NONE},
    All: {"branches": _BRANCHES, "quorum": _QUORUM},
    Graph: {"nodes": _is("a mapping of labels to (needs, script)", _nodes), "quorum": _QUORUM},
    Run: {"protocol": _TEXT, "brief": _is("a Brief", lambda value: isinstance(value, Brief))},
}


def decision_flaw(decision: object) -> str | None:
    """Return what is wrong with the return value of a protocol, or None."""
    if not isinstance(decision, Decision):
        return f"it must return a Decision, not {type(decision).__name__}"
    return _first_flaw(decision, DECISION)


def step_flaw(step: object) -> str | None:
    """Return what is wrong with what a protocol awaits, or None."""
    for kind, checks in STEPS.items():
        if isinstance(step, kind):
            flaw = _first_flaw(step, checks)
            return None if flaw is None else f"{kind.__name__}: {flaw}"
    return f"a protocol may only await its panel, not {type(step).__name__}"


def _first_flaw(value: object, checks: Mapping[str, Check]) -> str | None:
    for name, check in checks.items():
        if (expected := check(getattr(value, name))) is not None:
            return f"{name} must be {expected}"
    return None
