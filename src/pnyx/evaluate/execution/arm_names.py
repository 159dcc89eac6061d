"""Arms as they are named on the command line and in Inspect."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from ... import protocols
from ...core.decision import Given
from ...errors import UsageError
from ..analysis.log import Arm

__all__ = [
    "MOST_SAMPLES",
    "PRESET",
    "SELF_CONSISTENCY",
    "parse_arm",
    "parse_arms",
    "request",
    "single_arm",
    "takes_given",
]

SELF_CONSISTENCY = Arm(name="self-consistency", kind="samples", protocol="sample")
"""The best single model, asked as often as the panel's answers cost."""
MOST_SAMPLES = 100
"""The most often that a model is asked for what a panel costs: as many as `sample` takes."""
PRESET = "preset"


def single_arm(model: str) -> Arm:
    return Arm(name=model, kind="single", protocol="single")


def takes_given(arm: Arm) -> bool:
    """Whether the arm begins from answers that exist already."""
    return arm.kind == "protocol" and protocols.get(arm.protocol).quorum_given is not None


def request(arm: Arm, panel: Sequence[str], *, times: int = 1, given: Sequence[Given] = ()) -> dict[str, Any]:
    """Options of `RunRequest` with which the arm answers. panel: the models that it asks.

    times: answers that self-consistency samples. given: the pool's, for an arm that takes such.
    """
    asked: dict[str, Any] = {"protocol": arm.protocol, "models": panel}
    if arm.kind == "samples":
        return {**asked, "options": {"samples": times, "adaptive": False}}
    if arm.kind == "single":
        return {**asked, "models": [arm.name]}
    options = {key: value for key, value in arm.options.items() if key != PRESET}
    return {**asked, "options": options, "preset": arm.options.get(PRESET), "responses": given}


def parse_arm(name: str) -> Arm:
    """`PROTOCOL`, `PROTOCOL:quick` or `PROTOCOL:rounds=2,preset=deep`. Raises `UsageError`, `NotFound`."""
    protocol, _, rest = name.partition(":")
    page = protocols.get(protocol)
    options: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            key, value = PRESET, key
        if key in options:
            raise UsageError(f"arm {name!r} gives {key} twice")
        options[key] = value if key == PRESET else _literal(value)
    preset = options.get(PRESET)
    if preset is not None and preset not in page.presets:
        known = ", ".join(page.presets) or "none"
        raise UsageError(f"arm {name!r}: {protocol} has no preset {preset!r}; it has: {known}")
    page.resolve_options({key: value for key, value in options.items() if key != PRESET})
    return Arm(name=name, kind="protocol", protocol=protocol, options=options)


def parse_arms(names: Iterable[str]) -> list[Arm]:
    """Raises `UsageError` also for one that is named twice."""
    arms = [parse_arm(name) for name in names]
    if len({arm.name for arm in arms}) < len(arms):
        raise UsageError("an arm is named twice")
    return arms


def _literal(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
