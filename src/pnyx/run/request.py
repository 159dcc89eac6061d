"""From what a person or program asks to a `Spec`: every door builds its runs here."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from .. import protocols
from ..core.text import Material
from ..errors import UsageError
from ..providers.catalogue import Catalogue, default_panel, parse_seats
from ..providers.catalogue import seats as deal
from ..settings import Settings
from ..tools.open import wanted
from .limits import Limits
from .spec import Spec

__all__ = ["build"]


def build(
    settings: Settings,
    question: str,
    *,
    protocol: str | None = None,
    panel: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
    preset: str | None = None,
    roles: Mapping[str, str] | None = None,
    budget_usd: float | None = None,
    deadline_s: float | None = None,
    seed: int | None = None,
    context: Sequence[Material] = (),
    owner: str = "local",
    allow_unknown_price: bool = False,
    tools: bool | None = None,
) -> Spec:
    """What to run, with every choice settled: arguments first, then the settings, then defaults.

    panel: model references, "provider:model" or "provider:model*N". preset: "quick" or "deep".
    roles: seat label or number -> text. tools: whether seats may use them; None: as configured.
    Raises `UsageError`, `ConfigError`, `NotFound`.
    """
    page = protocols.get(protocol or settings.run.protocol)
    chosen: dict[str, Any] = dict(settings.protocols.get(page.name, {}))
    if preset is not None and preset not in page.presets:
        raise UsageError(f"{page.name} has no preset {preset!r}; it has: {', '.join(page.presets) or 'none'}")
    refs = parse_seats(panel or settings.panel.seats)
    if not refs:
        found = default_panel(settings)
        refs, preset = found.refs, preset or found.preset
    chosen |= page.presets.get(preset or "", {})
    chosen |= options or {}
    given = seed if seed is not None else settings.run.seed
    drawn = secrets.randbits(32) if given is None else given
    return Spec(
        question=question,
        protocol=page.name,
        seats=deal(Catalogue(settings), refs, roles or {}, drawn),
        seed=drawn,
        options=page.settle(chosen),
        tables=settings.protocols,
        context=tuple(context),
        limits=Limits(
            call_deadline_s=settings.run.call_deadline_s,
            max_output_tokens=settings.run.max_output_tokens,
            retries=settings.run.retries,
            temperature=settings.run.temperature,
            seed=given,
        ),
        budget_usd=budget_usd if budget_usd is not None else settings.budget.run_usd,
        day_usd=settings.budget.day_usd,
        warn_usd=settings.budget.warn_usd,
        deadline_s=deadline_s if deadline_s is not None else settings.run.deadline_s,
        allow_unknown_price=allow_unknown_price or settings.budget.allow_unknown_price,
        owner=owner,
        tools=wanted(settings.tools) if (settings.tools.enabled if tools is None else tools) else (),
        tool_turns=settings.tools.max_rounds,
    )
