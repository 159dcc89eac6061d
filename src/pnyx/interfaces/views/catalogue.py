"""The lists of protocols and models that every interface shows."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Any

from ...config.schema import Settings
from ...config.stored_keys import ENVIRONMENT
from ...core.models import Seat
from ...core.protocol import Protocol
from ...protocols.call_bounds import call_bounds
from ...providers.catalogue import STRONG, Catalogue, ModelInfo, parse_seats
from ...providers.embedded.weights_table import KNOWN
from ...providers.installed import key_variables

__all__ = [
    "calls_with_three_seats",
    "describe_models",
    "describe_protocol",
    "models_by_name",
]


def describe_protocol(protocol: Protocol) -> dict[str, Any]:
    """A protocol as JSON. phases: its transitions in order, starting at "idle"."""
    calls = calls_with_three_seats(protocol)
    return {
        "name": protocol.name,
        "summary": protocol.summary,
        "quorum": protocol.quorum,
        "takes_responses": protocol.quorum_given is not None,
        "options": {
            name: {
                "default": option.default,
                "help": option.help,
                "low": option.low,
                "high": option.high,
                "choices": list(option.allowed),
            }
            for name, option in protocol.options.items()
        },
        "presets": {name: dict(values) for name, values in protocol.presets.items()},
        "phases": [
            {"source": t.source, "target": t.target, "requires": t.requires}
            for t in protocol.phases.transitions
        ],
        "calls_with_three_seats": calls and dict(zip(("least", "most"), calls, strict=True)),
    }


def calls_with_three_seats(protocol: Protocol) -> tuple[int, int] | None:
    """The least and the most calls with three seats of different models; None if unknown."""
    if protocol.calls is None:
        return None
    seats = tuple(Seat(f"Participant {letter}", f"{letter}:{letter}") for letter in "ABC")
    return call_bounds(protocol, seats, protocol.resolve_options({}))


def models_by_name(settings: Settings, local: Set[str]) -> tuple[str, ...]:
    """Models for a panel, such as "openai:gpt-4o", configured ones first. local: installed ones."""
    refs = [*parse_seats(settings.panel.seats), *settings.models, *_models_with_keys(settings)]
    return tuple(dict.fromkeys((*refs, *(f"embedded:{name}" for name in (*KNOWN, *sorted(local))))))


def describe_models(settings: Settings, local: Set[str]) -> list[dict[str, Any]]:
    """What a person needs to choose a model: name, USD per million tokens, window, and whether it is ready.

    missing: what it lacks ("its key" or "its file"), None if it can be asked. The strong models of known
    providers are listed without a key too. Unknown is None.
    """
    catalogue = Catalogue(settings)
    others = (f"{kind}:{model}" for kind, models in STRONG.items() for model in models)
    infos = [catalogue.describe(ref) for ref in dict.fromkeys((*models_by_name(settings, local), *others))]
    return [
        {
            "model": info.ref,
            "input_price": info.price and info.price.input,
            "output_price": info.price and info.price.output,
            "context": info.context,
            "missing": _missing(info, settings, local),
        }
        for info in infos
    ]


def _missing(info: ModelInfo, settings: Settings, local: Set[str]) -> str | None:
    if info.kind == "embedded":
        return None if info.model in local else "its file"
    variables = key_variables(settings.provider(info.provider))
    return None if not variables or any(map(ENVIRONMENT.get, variables)) else "its key"


def _models_with_keys(settings: Settings) -> Iterator[str]:
    """The models of the default panel whose provider has an API key."""
    for kind, models in STRONG.items():
        variables = key_variables(settings.provider(kind))
        if any(ENVIRONMENT.get(variable) for variable in variables):
            yield from (f"{kind}:{model}" for model in models)
