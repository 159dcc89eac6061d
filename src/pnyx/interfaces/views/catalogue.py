"""Protocols with their options, and models by name, as every interface lists them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Set
from typing import Any

from ...config.schema import Settings
from ...core.models import Seat
from ...core.protocol import Protocol
from ...protocols.call_bounds import call_bounds
from ...providers.catalogue import STRONG, parse_seats
from ...providers.embedded.weights_table import KNOWN
from ...providers.installed import key_variables

__all__ = ["calls_of_three", "described", "models_by_name", "models_with_keys"]


def described(page: Protocol) -> dict[str, Any]:
    """A protocol as JSON. phases: its table of transitions, in order, which begins at "idle"."""
    calls = calls_of_three(page)
    return {
        "name": page.name,
        "summary": page.summary,
        "quorum": page.quorum,
        "takes_responses": page.quorum_given is not None,
        "options": {
            name: {
                "default": option.default,
                "help": option.help,
                "low": option.low,
                "high": option.high,
                "choices": list(option.allowed),
            }
            for name, option in page.options.items()
        },
        "presets": {name: dict(values) for name, values in page.presets.items()},
        "phases": [
            {"source": t.source, "target": t.target, "requires": t.requires} for t in page.phases.transitions
        ],
        "calls_with_three_seats": calls and dict(zip(("least", "most"), calls, strict=True)),
    }


def calls_of_three(page: Protocol) -> tuple[int, int] | None:
    """The calls of a panel of three, each seat of a model of its own."""
    if page.calls is None:
        return None
    seats = tuple(Seat(f"Participant {letter}", f"{letter}:{letter}") for letter in "ABC")
    return call_bounds(page, seats, page.resolve_options({}))


def models_by_name(settings: Settings, here: Set[str]) -> tuple[str, ...]:
    """References for a panel, the configured ones first. here: embedded models that are installed."""
    refs = [*parse_seats(settings.panel.seats), *settings.models, *models_with_keys(settings)]
    return tuple(dict.fromkeys((*refs, *(f"embedded:{name}" for name in (*KNOWN, *sorted(here))))))


def models_with_keys(settings: Settings) -> Iterator[str]:
    """The models that are asked when no panel is configured, of providers whose key is set."""
    for kind, models in STRONG.items():
        variables = key_variables(settings.provider(kind))
        if any(os.environ.get(variable) for variable in variables):
            yield from (f"{kind}:{model}" for model in models)
