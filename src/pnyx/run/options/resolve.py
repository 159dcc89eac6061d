"""Resolves a request to a `Spec`: the only way to one, for every interface."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, wraps
from inspect import signature
from typing import Annotated, Any, ParamSpec, TypeAlias, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    SkipValidation,
    ValidationError,
    create_model,
    validate_call,
)

from ... import protocols
from ...config.load import NEEDS
from ...config.schema import RunSettings, Settings, ToolsSettings
from ...core.context.files import File, unique_names
from ...core.decision import Given
from ...core.models import Seat
from ...core.prose.language import language_tag
from ...core.protocol import Protocol
from ...core.roles import assign
from ...core.text import Material
from ...errors import NotFound, Problems, UsageError
from ...providers.catalogue import (
    Catalogue,
    judge_seat,
    parse_seats,
    seats,
    split_names,
)
from ...providers.default_panel import DefaultPanel, default_panel
from ...similar import among
from ...tools.open import enabled_tools
from ..calls.host_search import SEARCHES, TOOL
from ..calls.limits import Limits
from ..spec import Spec, check_question
from .answer_schema import check_schema
from .client_tools import BadToolError, check_tools
from .efforts import check_effort, check_thinking_tokens, named_efforts
from .request import OPTIONS, Kind, RunRequest
from .responses import parse_responses
from .saved_panels import with_saved_panel

__all__ = ["Amount", "check_arguments", "find_protocol", "resolve", "shared_caps"]

P = ParamSpec("P")
T = TypeVar("T")
_STRICT = ConfigDict(strict=True, defer_build=True, revalidate_instances="always")
_NEEDS = NEEDS | {
    "dict_type": "a mapping",
    "is_instance_of": "a list",
    "iterable_type": "a list",
    "dataclass_exact_type": "text or a pnyx.{class_name}",
}
"""Error type -> what an argument must be; some differ from those of settings."""


def check_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """Make `function` raise `UsageError` for an argument that does not match its annotation."""
    validated, names = validate_call(config=_STRICT)(function), list(signature(function).parameters)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return validated(*args, **kwargs)
        except ValidationError as exc:
            error = exc.errors(include_url=False)[0]
        first, *place = error["loc"]
        raise UsageError(_type_message(names[first] if isinstance(first, int) else str(first), place, error))

    return call


def _type_message(where: str, place: Sequence[int | str], error: Any) -> str:
    """Return the message for a Pydantic error in the argument `where`. place: the path inside it."""
    where = f"a key of {where}" if "[key]" in place else ".".join((where, *map(str, place)))
    need = _NEEDS.get(error["type"], error["msg"]).format_map(error.get("ctx", {}))
    return f"{where} must be {need}, not {error['input']!r:.80}"


def _as_list(value: object) -> object:
    """Return a single value as a list of one: a text is not a list of letters, nor an answer one of keys."""
    if value is None:
        return ()
    return (value,) if isinstance(value, str | Material | Given | Mapping) else value


def _as_material(value: object) -> object:
    return Material("Context", value) if isinstance(value, str) else value


References: TypeAlias = Annotated[Sequence[str], BeforeValidator(_as_list)]
Context: TypeAlias = Annotated[
    Sequence[Annotated[Material, BeforeValidator(_as_material)]], BeforeValidator(_as_list)
]
Responses: TypeAlias = Annotated[Iterable[Any], BeforeValidator(_as_list)]
Amount: TypeAlias = Annotated[float | None, SkipValidation]
"""Checked by `Spec.check`, also for a resumed run."""


def resolve(
    request: RunRequest,
    settings: Settings,
    *,
    owner: str = "local",
    batch: str | None = None,
    conversation: str | None = None,
) -> Spec:
    """Return the spec of a request.

    Options come from the request, then its saved panel, then the other settings, then the defaults.

    owner: the owner of the run. batch: its batch, which `budget.batch_usd` caps. conversation: the one that
    the run is a turn of. Raises `UsageError`, `ConfigError`, `NotFound`.
    """
    values = _values(filled := with_saved_panel(request, settings))
    check_question(values.question)  # first: who forgot it need not hear about models and keys
    seed = values.seed if values.seed is not None else settings.run.seed
    label_seed = secrets.randbits(32) if seed is None else seed
    panel_preset, efforts, problems = None, dict[str, Any](), Problems()
    with problems:
        panel_preset, placed, judge, names = _seats(values, settings, label_seed)
        closing = () if judge is None or judge in placed else (judge,)
        efforts = named_efforts(values.efforts, (*placed, *closing), names)
    with problems:
        protocol = find_protocol(values.protocol or settings.run.protocol, settings)
        options = {**_options(settings, protocol, values.preset, panel_preset), **filled.protocol_options}
        options = protocol.resolve_options(options)
    checked = _checked(values, settings, problems)
    problems.check()
    spec = Spec(
        question=values.question,
        protocol=protocol.name,
        seats=placed,
        judge=judge,
        seed=label_seed,
        options=options,
        tables=settings.protocols,
        context=tuple(values.context),
        files=unique_names(values.files),
        ground=values.ground,
        limits=_limits(settings.run, values.call_deadline_s, seed),
        budget_usd=values.budget_usd if values.budget_usd is not None else settings.budget.run_usd,
        **shared_caps(settings),
        batch=batch,
        deadline_s=values.deadline_s if values.deadline_s is not None else settings.run.deadline_s,
        allow_unknown_price=values.allow_unknown_price or settings.budget.allow_unknown_price,
        owner=owner,
        conversation=conversation,
        saved_panel=request.panel,
        instructions=(values.instructions or "").strip() or None,
        **_tools(settings.tools, settings.tools.enabled if values.tools is None else values.tools),
        **checked,
        **efforts,
    )
    spec.check()
    return spec


def _seats(
    values: Any, settings: Settings, label_seed: int
) -> tuple[str | None, tuple[Seat, ...], Seat | None, Mapping[str, Sequence[int]]]:
    """Return the preset that the panel brings, its seats, the judge that the request names, and the numbers
    of the seats of each NAME.
    """
    models, names = split_names(values.models)
    catalogue, problems = Catalogue(settings), Problems()
    with problems:
        panel = _panel(settings, models)
        cast = assign(values.cast, panel.refs) if values.cast else ()
        given = (values.roles or {}).items()
        roles = {str(n): role for name, role in given for n in names.get(name, (name,))}
        placed = seats(catalogue, panel.refs, roles, label_seed, cast)
    with problems:
        ref, on_panel = values.judge, () if problems else placed
        if ref in names:
            ref = on_panel[names[ref][0] - 1].model if on_panel else None
        judge = judge_seat(catalogue, ref, on_panel) if ref else None
    problems.check()
    return panel.preset, placed, judge, names


def _checked(values: Any, settings: Settings, problems: Problems) -> dict[str, Any]:
    """Return the fields of the spec that are checked each by itself, and collect the problems of all."""
    fields: dict[str, Any] = {}
    for read in (
        lambda: {"language": _language(values.language) or settings.run.language},
        lambda: {"answer_schema": _answer_schema(values.answer_schema)},
        lambda: {"effort": check_effort(values.effort)},
        lambda: {"thinking_tokens": check_thinking_tokens(values.thinking_tokens)},
        lambda: {"responses": parse_responses(values.responses)},
        lambda: _client_tools(values),
    ):
        with problems:
            fields |= read()
    return fields


_TYPES: Mapping[Kind, Any] = {
    Kind.TEXT: str | None,
    Kind.TEXTS: References,
    Kind.WHOLE: Amount,
    Kind.AMOUNT: Amount,
    Kind.FLAG: bool,
    Kind.SWITCH: bool | None,
    Kind.TEXT_BY_NAME: Mapping[str, str] | None,
    Kind.VALUE_BY_NAME: Mapping[str, Any] | None,
    Kind.RESPONSES: Responses,
    Kind.SCHEMA: Mapping[str, Any] | None,
    Kind.TOOLS: Sequence[Mapping[str, Any]],
    Kind.MATERIAL: Context,
    Kind.FILES: Sequence[Annotated[File, SkipValidation]],
}
"""The Python type of a value; numbers are checked by `Spec.check`."""


@cache
def _model() -> type[BaseModel]:
    types = {name: _TYPES[option.kind] for name, option in OPTIONS.items()} | {"question": str}
    definitions: dict[str, Any] = {name: (kind, ...) for name, kind in types.items()}
    return create_model("RunRequest", __config__=_STRICT, **definitions)


def _values(request: RunRequest) -> Any:
    """Return the values of a request, each of the type of its kind. Raises `UsageError`."""
    values = {name: getattr(request, name) for name in OPTIONS}
    try:
        return _model()(**values)
    except ValidationError as exc:
        errors = exc.errors(include_url=False)
    problems = Problems()
    for error in errors:
        name, *place = error["loc"]
        with problems:
            raise UsageError(_type_message(OPTIONS[str(name)].keyword or str(name), place, error))
    problems.check()
    raise AssertionError("a validation error has at least one error")


def shared_caps(settings: Settings) -> dict[str, Any]:
    """Return the caps that runs share, as fields of a `Spec`. A resumed run uses the current ones."""
    budget = settings.budget
    return {
        "day_usd": budget.day_usd,
        "batch_usd": budget.batch_usd,
        "batch_own": settings.origin("budget", "batch_usd") == "flags",
        "key_usd": budget.key_usd,
        "warn_usd": budget.warn_usd,
    }


def _tools(tools: ToolsSettings, on: bool) -> dict[str, Any]:
    names, search = enabled_tools(tools) if on else (), tools.web_search
    return {
        "tools": names,
        "tool_turns": tools.max_rounds,
        "searches": SEARCHES if search.backend == "provider" and TOOL in names else 0,
        "search_price": search.search_price,
    }


def _limits(run: RunSettings, call_deadline_s: float | None, seed: int | None) -> Limits:
    return Limits(
        call_deadline_s=run.call_deadline_s if call_deadline_s is None else call_deadline_s,
        max_output_tokens=run.max_output_tokens,
        retries=run.retries,
        temperature=run.temperature,
        seed=seed,
        hedge=run.hedge,
        effort=run.reasoning_effort,
        thinking_tokens=run.thinking_tokens,
        phases={
            name: {"effort": one.reasoning_effort, "tokens": one.thinking_tokens}
            for name, one in run.phases.items()
        },
    )


def _language(tag: str | None) -> str | None:
    try:
        return None if tag is None else language_tag(tag)
    except ValueError as exc:
        raise UsageError(f"language {exc}") from None


def _answer_schema(document: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if document is None:
        return None
    if problem := check_schema(document):
        raise UsageError(problem)
    return document


def _client_tools(values: Any) -> dict[str, Any]:
    tools, choice = tuple(values.client_tools), values.tool_choice
    try:
        check_tools(tools, choice)
    except BadToolError as exc:
        where = "tool_choice" if exc.place is None else f"client_tools[{exc.place}]"
        raise UsageError(f"{where}: {exc}") from None
    return {"client_tools": tools, "tool_choice": choice, "parallel_tool_calls": values.parallel_tool_calls}


def _panel(settings: Settings, panel: Sequence[str]) -> DefaultPanel:
    """Return a reference for each seat: as requested, as configured, or the default panel."""
    refs = parse_seats(panel or settings.panel.seats, settings)
    return DefaultPanel(refs) if refs else default_panel(settings)


def find_protocol(name: str, settings: Settings) -> Protocol:
    """Return the protocol. Raises `NotFound`, which knows that a saved panel is no protocol."""
    try:
        return protocols.get(name)
    except NotFound as exc:
        if name in settings.panels:
            raise NotFound(f'no protocol {name!r}; {name} is a saved panel: use "panel": "{name}"') from exc
        raise


def _options(
    settings: Settings, protocol: Protocol, preset: str | None, panel_preset: str | None
) -> dict[str, Any]:
    """Return the options that apply where the request sets none.

    A requested preset takes precedence over the settings, and these over the preset of the default panel.
    """
    presets = protocol.presets
    if preset is not None and preset not in presets:
        hint = among(str(preset), presets, f"it has: {', '.join(presets) or 'none'}")
        raise UsageError(f"{protocol.name} has no preset {preset!r}{hint}")
    configured = settings.protocols.get(protocol.name, {})
    if preset is not None:
        return {**configured, **presets[preset]}
    return {**presets.get(panel_preset or "", {}), **configured}
