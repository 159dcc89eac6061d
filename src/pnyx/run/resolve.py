"""From what a person or program asks to a `Spec`: every door builds its runs here."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from inspect import signature
from typing import Annotated, Any, ParamSpec, TypeAlias, TypeVar

from pydantic import BeforeValidator, ConfigDict, SkipValidation, ValidationError, validate_call

from .. import protocols
from ..config.load import NEEDS
from ..config.schema import RunSettings, Settings, ToolsSettings
from ..core.decision import Given
from ..core.protocol import Protocol
from ..core.roles import assign
from ..core.text import Material
from ..errors import UsageError
from ..providers.catalogue import Catalogue, DefaultPanel, default_panel, parse_seats
from ..providers.catalogue import seats as deal
from ..tools.open import enabled_tools
from .host_search import SEARCHES, TOOL
from .limits import Limits
from .responses import given
from .spec import Spec

__all__ = ["Amount", "build", "checked", "shared_caps"]

P = ParamSpec("P")
T = TypeVar("T")
_HELD = ConfigDict(strict=True, defer_build=True, revalidate_instances="always")
_NEEDS = NEEDS | {
    "dict_type": "a mapping",
    "is_instance_of": "a list",
    "iterable_type": "a list",
    "dataclass_exact_type": "text or a pnyx.{class_name}",
}
"""What an argument must be, where it has another name than in settings."""


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """`function`, which raises `UsageError` for an argument that is not what its annotation says."""
    held, names = validate_call(config=_HELD)(function), list(signature(function).parameters)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return held(*args, **kwargs)
        except ValidationError as exc:
            error = exc.errors(include_url=False)[0]
        first, *place = error["loc"]
        where = names[first] if isinstance(first, int) else str(first)
        where = f"a key of {where}" if "[key]" in place else ".".join((where, *map(str, place)))
        need = _NEEDS.get(error["type"], error["msg"]).format_map(error.get("ctx", {}))
        raise UsageError(f"{where} must be {need}, not {error['input']!r:.80}")

    return call


def _listed(value: object) -> object:
    """One alone is a list of one: a text is no list of letters, nor an answer one of its keys."""
    if value is None:
        return ()
    return (value,) if isinstance(value, str | Material | Given | Mapping) else value


def _material(value: object) -> object:
    return Material("Context", value) if isinstance(value, str) else value


References: TypeAlias = Annotated[Sequence[str], BeforeValidator(_listed)]
Context: TypeAlias = Annotated[
    Sequence[Annotated[Material, BeforeValidator(_material)]], BeforeValidator(_listed)
]
Responses: TypeAlias = Annotated[Iterable[Any], BeforeValidator(_listed)]
Amount: TypeAlias = Annotated[float | None, SkipValidation]
"""`Spec.check` tells what it must be, of a resumed run too."""


@checked
def build(
    settings: SkipValidation[Settings],
    question: str,
    *,
    protocol: str | None = None,
    panel: References = (),
    options: Mapping[str, Any] | None = None,
    preset: str | None = None,
    roles: Mapping[str, str] | None = None,
    budget_usd: Amount = None,
    deadline_s: Amount = None,
    seed: Annotated[int | None, SkipValidation] = None,
    context: Context = (),
    owner: str = "local",
    batch: str | None = None,
    allow_unknown_price: bool = False,
    tools: bool | None = None,
    cast: str | None = None,
    responses: Responses = (),
    ground: bool = False,
    conversation: str | None = None,
) -> Spec:
    """What to run, with every choice settled: arguments first, then the settings, then defaults.

    panel: model references, "provider:model" or "provider:model*N". preset: "quick" or "deep". roles:
    seat label or number -> text, over those that `cast` ("diverse", "redteam") gives. tools: whether
    seats may use them; None: as configured. responses: answers that exist already, for protocols that
    take such. ground: search the web for the question first. conversation: the one that the run is a
    turn of. batch: what `budget.batch_usd` is for. Raises `UsageError`, `ConfigError`, `NotFound`.
    """
    page = protocols.get(protocol or settings.run.protocol)
    found = _panel(settings, panel)
    refs = found.refs
    told = seed if seed is not None else settings.run.seed
    drawn = secrets.randbits(32) if told is None else told
    return Spec(
        question=question,
        protocol=page.name,
        seats=deal(Catalogue(settings), refs, roles or {}, drawn, assign(cast, refs) if cast else ()),
        seed=drawn,
        options=page.resolve_options({**_options(settings, page, preset, found.preset), **(options or {})}),
        tables=settings.protocols,
        context=tuple(context),
        responses=given(responses),
        ground=ground,
        limits=_limits(settings.run, told),
        budget_usd=budget_usd if budget_usd is not None else settings.budget.run_usd,
        **shared_caps(settings),
        batch=batch,
        deadline_s=deadline_s if deadline_s is not None else settings.run.deadline_s,
        allow_unknown_price=allow_unknown_price or settings.budget.allow_unknown_price,
        owner=owner,
        conversation=conversation,
        **_tools(settings.tools, settings.tools.enabled if tools is None else tools),
    )


def shared_caps(settings: Settings) -> dict[str, Any]:
    """What is set for more than one run, as fields of a `Spec`: a resumed run is held to it as it is now."""
    budget = settings.budget
    return {
        "day_usd": budget.day_usd,
        "batch_usd": budget.batch_usd,
        "batch_own": settings.origin("budget", "batch_usd") == "flags",
        "key_usd": budget.key_usd,
        "warn_usd": budget.warn_usd,
    }


def _tools(tools: ToolsSettings, on: bool) -> dict[str, Any]:
    offered, search = enabled_tools(tools) if on else (), tools.web_search
    return {
        "tools": offered,
        "tool_turns": tools.max_rounds,
        "searches": SEARCHES if search.backend == "provider" and TOOL in offered else 0,
        "search_price": search.search_price,
    }


def _limits(run: RunSettings, seed: int | None) -> Limits:
    return Limits(
        call_deadline_s=run.call_deadline_s,
        max_output_tokens=run.max_output_tokens,
        retries=run.retries,
        temperature=run.temperature,
        seed=seed,
        hedge=run.hedge,
    )


def _panel(settings: Settings, panel: Sequence[str]) -> DefaultPanel:
    """A reference for each seat: as told, as configured, or the default panel."""
    refs = parse_seats(panel or settings.panel.seats)
    return DefaultPanel(refs) if refs else default_panel(settings)


def _options(settings: Settings, page: Protocol, preset: str | None, usual: str | None) -> dict[str, Any]:
    """Options that none is named for: those of `preset` over the settings, else these over `usual`'s."""
    if preset is not None and preset not in page.presets:
        raise UsageError(f"{page.name} has no preset {preset!r}; it has: {', '.join(page.presets) or 'none'}")
    configured = settings.protocols.get(page.name, {})
    if preset is not None:
        return {**configured, **page.presets[preset]}
    return {**page.presets.get(usual or "", {}), **configured}
