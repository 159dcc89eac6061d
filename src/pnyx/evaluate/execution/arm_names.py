"""Names of arms, on the command line and in Inspect."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from ... import protocols
from ...core.decision import Given
from ...errors import UsageError
from ...similar import among
from ..analysis.log import Arm

__all__ = [
    "MOST_SAMPLES",
    "PRESET",
    "SELF_CONSISTENCY",
    "parse_arm",
    "parse_arms",
    "request_fields",
    "single_arm",
    "takes_responses",
]

SELF_CONSISTENCY = Arm(name="self-consistency", kind="samples", protocol="sample")
"""The best single model, sampled as often as the cost of the panel's answers allows."""
MOST_SAMPLES = 100
"""The most samples of a model per question: the limit of the protocol `sample`."""
PRESET = "preset"


def single_arm(model: str) -> Arm:
    """The arm of a model that is asked once."""
    return Arm(name=model, kind="single", protocol="single")


def takes_responses(arm: Arm) -> bool:
    """Whether the arm starts from existing answers."""
    return arm.kind == "protocol" and protocols.get(arm.protocol).quorum_given is not None


def request_fields(
    arm: Arm, panel: Sequence[str], *, times: int = 1, responses: Sequence[Given] = ()
) -> dict[str, Any]:
    """The fields of a `RunRequest` for an arm that asks `panel`.

    times: the number of samples, for self-consistency. responses: answers from the pool, for an arm that
    starts from existing answers.
    """
    fields: dict[str, Any] = {"protocol": arm.protocol, "models": panel}
    if arm.kind == "samples":
        return {**fields, "options": {"samples": times, "adaptive": False}}
    if arm.kind == "single":
        return {**fields, "models": [arm.name]}
    options = {key: value for key, value in arm.options.items() if key != PRESET}
    return {**fields, "options": options, "preset": arm.options.get(PRESET), "responses": responses}


def parse_arm(name: str) -> Arm:
    """The arm of `PROTOCOL`, `PROTOCOL:quick` or `PROTOCOL:rounds=2,preset=deep`.

    Raises `NotFound` for an unknown protocol and `UsageError` for an unknown or repeated option.
    """
    protocol, _, rest = name.partition(":")
    definition = protocols.get(protocol)
    options: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            key, value = PRESET, key
        if key in options:
            raise UsageError(f"arm {name!r} sets {key} twice; remove one")
        options[key] = value if key == PRESET else _literal(value)
    preset = options.get(PRESET)
    if preset is not None and preset not in definition.presets:
        known = ", ".join(definition.presets) or "none"
        hint = among(str(preset), definition.presets, f"it has: {known}")
        raise UsageError(f"{protocol} has no preset {preset!r}{hint}")
    definition.resolve_options({key: value for key, value in options.items() if key != PRESET})
    return Arm(name=name, kind="protocol", protocol=protocol, options=options)


def parse_arms(names: Iterable[str]) -> list[Arm]:
    """The arms of `names`. Raises as `parse_arm` does, and `UsageError` if a name is repeated."""
    arms = [parse_arm(name) for name in names]
    if len({arm.name for arm in arms}) < len(arms):
        raise UsageError("an arm is named twice; use each --arm once")
    return arms


def _literal(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
