"""The catalogue of models: their facts, and the seats of a panel. Contacts no host."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any

from ..config.schema import ModelSettings, Settings
from ..config.tables.panels import split_seat
from ..core.models import WRITE, Price, Seat
from ..core.thinking import Effort
from ..errors import Problems, UsageError
from ..similar import among
from .embedded.weights import find
from .embedded.weights_table import KNOWN
from .images import reads_images
from .installed import KINDS
from .usual_models import FAST, STRONG

__all__ = [
    "FAST",
    "JUDGE",
    "STRONG",
    "Catalogue",
    "ModelInfo",
    "in_order_of_precedence",
    "judge_seat",
    "parse_seats",
    "seats",
    "split_names",
]

MAX_SEATS = 100
LABEL = "Participant "
"""How the label of a seat on the panel begins."""
JUDGE = "Judge"
"""The label of a judge that has no seat on the panel."""
WRITES_CACHE = ("anthropic",)
"""Kinds whose hosts bill what they write to their prompt cache, at whatever address."""
_FIELDS = {
    **{key: key for key in ("context", "max_output", "parameters", "proposer_eligible", "short_prompts")},
    **{"temperature": "temperature", "reasoning_effort": "effort", "thinking_tokens": "thinking_tokens"},
    "images": "images",
}
"""Key of `[models]` -> field of `ModelInfo`, prices apart."""
_NOTHING = ModelSettings()

SMALL_WINDOW = 4096
"""Tokens. The long prompts take up to 1,500 of them."""
SMALL_TEMPERATURE = 0.2
"""Of known embedded models: at llama.cpp's default of 0.8 they digress, at 0.5 they still miscalculate."""
SMALL_OUTPUT = 256
"""Tokens of one reply of a known embedded model: they ramble beyond it, at 10 to 80 tokens a second."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """The facts of one model; None is unknown.

    model: its name at the host. context, max_output: tokens. parameters: billions. images: whether it reads
    images. source: where its price or other facts come from.
    """

    ref: str
    provider: str
    kind: str
    model: str
    price: Price | None = None
    context: int | None = None
    max_output: int | None = None
    parameters: float | None = None
    proposer_eligible: bool = True
    short_prompts: bool | None = None
    temperature: float | None = None
    effort: Effort | None = None
    thinking_tokens: int | None = None
    images: bool = False
    source: str = "unknown"


class Catalogue:
    """Facts of models: configured ones over built-in ones over the price snapshot. today: of prices, UTC."""

    def __init__(self, settings: Settings, today: date | None = None) -> None:
        self._settings = settings
        self._today = today or datetime.now(UTC).date()

    def describe(self, ref: str) -> ModelInfo:
        """The facts of a model. Raises `UsageError`, or `ConfigError` for an unknown provider."""
        settings = self._settings.models.get(ref, _NOTHING)
        info = self._defaults(ref, settings)
        configured: dict[str, Any] = {
            name: value for key, name in _FIELDS.items() if (value := getattr(settings, key)) is not None
        }
        if settings.input_price is not None and settings.output_price is not None:
            write = settings.cache_write_price
            if write is None and info.kind in WRITES_CACHE:
                write = WRITE * settings.input_price
            price = self._price(
                settings.input_price,
                settings.output_price,
                settings.cached_price,
                settings.reasoning_price,
                "configuration",
                write,
            )
            configured |= {"price": price, "source": price.source}
        return replace(info, **configured) if configured else info

    def describe_seat(self, ref: str) -> ModelInfo:
        """The facts of a model for a seat, as `describe` returns them.

        Also raises `NotFound` for an embedded model without a file, unless the file can be fetched.
        """
        info = self.describe(ref)
        if info.kind == "embedded" and info.model not in KNOWN:
            find(info.model)
        return info

    def _defaults(self, ref: str, settings: ModelSettings) -> ModelInfo:
        name, model = _parse_ref(ref, self._settings)
        provider = self._settings.provider(name)
        info = ModelInfo(
            ref,
            name,
            provider.kind,
            model,
            parameters=_parameter_count(model),
            proposer_eligible=not _is_search_model(model),
            images=provider.kind != "embedded" and reads_images(model),
        )
        if provider.kind == "embedded":
            free = replace(info, price=self._price(0, 0, source="embedded"), source="embedded")
            weights = KNOWN.get(model)
            if weights is None:
                return replace(free, context=provider.context)
            return replace(
                free,
                context=provider.context or weights.context,
                max_output=SMALL_OUTPUT,
                temperature=SMALL_TEMPERATURE,
                parameters=weights.parameters,
                short_prompts=weights.short_prompts,
            )
        kind = KINDS.find(provider.kind)
        if provider.free or (kind and kind.free):
            return replace(info, price=self._price(0, 0, source="local"), source="local")
        if kind is None or kind.prices is None or not kind.is_official(provider.base_url):
            return info
        # The snapshot takes 0.3 s to load, and most panels of embedded or local models never need it.
        from .prices import look_up

        listing = look_up(kind.prices, model, self._today, settings.context)
        if listing is None:
            return info
        # Each search is charged separately, which a price of tokens does not cover.
        price = listing.price if info.proposer_eligible else None
        return replace(
            info, price=price, context=listing.context, source=price.source if price else "unknown"
        )

    def _price(
        self,
        input: float,
        output: float,
        cached: float | None = None,
        reasoning: float | None = None,
        source: str = "",
        cache_write: float | None = None,
    ) -> Price:
        return Price(input, output, cached, reasoning, self._today.isoformat(), source, cache_write)


def parse_seats(specs: Iterable[str], settings: Settings | None = None) -> tuple[str, ...]:
    """A reference for each seat of "provider:model" and "provider:model*N".

    settings: for the suggestion in an error. Raises `UsageError`; with settings, it names also what is wrong
    with the models of the other seats.
    """
    refs: list[str] = []
    problems = Problems()
    for spec in specs:
        with problems:
            refs += _parse_seat(spec, settings)
    if len(refs) > MAX_SEATS:
        raise UsageError(f"a panel has at most {MAX_SEATS} seats, not {len(refs)}")
    if problems and settings is not None:
        catalogue = Catalogue(settings)
        for ref in refs:
            with problems:
                catalogue.describe_seat(ref)
    problems.check()
    return tuple(refs)


def _parse_seat(spec: str, settings: Settings | None) -> list[str]:
    """A reference for each seat of one "provider:model*N"."""
    _check_single(spec)
    ref, count = split_seat(spec)
    _parse_ref(ref, settings)
    if not 1 <= count <= MAX_SEATS:
        raise UsageError(f"{spec[:80]!r}: after * comes the number of seats, 1 to {MAX_SEATS}")
    return [ref] * count


def seats(
    catalogue: Catalogue,
    refs: Sequence[str],
    roles: Mapping[str, str] | None = None,
    seed: int = 0,
    cast: Sequence[str] = (),
) -> tuple[Seat, ...]:
    """The seats in the order of `refs`, with labels in an order shuffled by the seed.

    roles: "2", "B" or "Participant B" -> the role of the second seat, or of the seat with that label; or a
    model, with or without its provider, for the role of all its seats. cast:
    the roles, in the order of the seats, of seats that `roles` does not name.
    Raises `UsageError` for a role of a seat that does not exist, and as `Catalogue.describe_seat` does.
    """
    letters = [_letter(n) for n in range(len(refs))]
    random.Random(f"{seed}/labels").shuffle(letters)
    labels = [LABEL + letter for letter in letters]
    assigned = dict(enumerate(cast))
    for name, found in in_order_of_precedence(roles or {}, labels, refs):
        if not found:
            hint = among(name, dict.fromkeys(refs), f"seats are 1 to {len(refs)}, or a model")
            raise UsageError(f"there is no seat {name!r} for a role{hint}")
        assigned |= dict.fromkeys(found, (roles or {})[name])
    infos: dict[str, ModelInfo] = {}
    problems = Problems()
    for ref in dict.fromkeys(refs):
        with problems:
            infos[ref] = catalogue.describe_seat(ref)
    problems.check()
    return tuple(
        _seat(infos[ref], label, assigned.get(place, ""))
        for place, (ref, label) in enumerate(zip(refs, labels, strict=True))
    )


def in_order_of_precedence(
    names: Iterable[str], labels: Sequence[str], refs: Sequence[str]
) -> list[tuple[str, Sequence[int]]]:
    """Return the names of seats, each with the places of its seats, from 0; later ones take precedence.

    A name is a model, with or without its provider, then the label of a seat ("B", "Participant B"), and
    last its number ("2"), which a judge that is not on the panel does not have. It has no places if there is
    no such seat.
    """
    found = [(name, _places(name, labels, refs)) for name in names]
    return [(name, places) for name, (_, places) in sorted(found, key=lambda one: one[1][0])]


def _places(name: str, labels: Sequence[str], refs: Sequence[str]) -> tuple[int, Sequence[int]]:
    """The rank of a kind of name, and its places."""
    bare = name.strip()
    if bare.isdecimal():
        return 2, [n for n, one in enumerate(labels) if bare == str(n + 1) and one.startswith(LABEL)]
    by_label = [n for n, one in enumerate(labels) if bare.upper() in (one.upper(), one.removeprefix(LABEL))]
    models = [n for n, ref in enumerate(refs) if bare in (ref, ref.partition(":")[2])]
    return (1, by_label) if by_label else (0, models)


def split_names(specs: Iterable[str]) -> tuple[tuple[str, ...], dict[str, tuple[int, ...]]]:
    """Separate NAME=REF*N into references and names. Returns name -> the numbers of its seats, from 1."""
    found, names, count = list[str](), dict[str, tuple[int, ...]](), 0
    for spec in specs:
        name, equals, ref = spec.partition("=")
        if not equals or ":" in name or "/" in name:
            name, ref = "", spec
        seats = split_seat(ref)[1]
        if name:
            names[name.strip()] = tuple(range(count + 1, count + seats + 1))
        found.append(ref)
        count += seats
    return tuple(found), names


def judge_seat(catalogue: Catalogue, ref: str, panel: Sequence[Seat]) -> Seat:
    """The seat of the judge: the first one of this model on the panel, else a further one without a vote.

    Raises as `Catalogue.describe_seat` does.
    """
    on_panel = next((seat for seat in panel if seat.model == ref), None)
    return on_panel or _seat(catalogue.describe_seat(ref), JUDGE)


def _seat(info: ModelInfo, label: str, role: str = "") -> Seat:
    return Seat(
        label=label,
        model=info.ref,
        role=role,
        price=info.price,
        parameters=info.parameters,
        proposer_eligible=info.proposer_eligible,
        short_prompts=_needs_short_prompts(info),
        temperature=info.temperature,
        context=info.context,
        max_output=info.max_output,
        effort=info.effort,
        thinking_tokens=info.thinking_tokens,
        images=info.images,
    )


def _needs_short_prompts(info: ModelInfo) -> bool:
    """Whether a model gets the short prompts: as configured, else if the long ones would fill its window."""
    if info.short_prompts is None:
        return info.context is not None and info.context <= SMALL_WINDOW
    return info.short_prompts


def _check_single(spec: str) -> None:
    """Raise `UsageError` if `spec` names several models, as "lab:alpha,lab:beta" does."""
    names = re.split(r"[,;\s]+", spec.strip(" ,;"))
    if len(names) > 1 and (":" not in spec or all(re.match("[a-z0-9_-]+:.", name) for name in names)):
        each = f'"models": {json.dumps([name[:80] for name in names[:4]], ensure_ascii=False)}'
        raise UsageError(f"{spec[:80]!r} names {len(names)} models; name each by itself: {each}")


def _parse_ref(ref: str, settings: Settings | None) -> tuple[str, str]:
    provider, _, model = ref.partition(":")
    if not provider or not model.strip() or "*" in ref or not ref.isprintable():
        # For errors only; it needs the catalogue itself.
        from .model_names import suggest_reference

        hint = suggest_reference(ref, settings) if ref.isprintable() else ""
        raise UsageError(f'a model is named "provider:model", not {ref[:80]!r}{hint}')
    return provider, model


def _is_search_model(model: str) -> bool:
    """Whether the name is that of a model that searches the web by itself."""
    return bool(re.search(r"(^|[/:_-])(sonar|search|online|deep-research)($|[/:_-])", model.lower()))


def _parameter_count(model: str) -> float | None:
    """Billions of parameters, if the name has them: "llama3.2:3b", "smollm2-135m"."""
    found = re.search(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)([bm])(?![a-z0-9])", model.lower())
    return float(found[1]) / (1 if found[2] == "b" else 1000) if found else None


def _letter(number: int) -> str:
    """0 -> A, 25 -> Z, 26 -> AA, as columns of a spreadsheet are named."""
    head, last = divmod(number, 26)
    return (_letter(head - 1) if head else "") + chr(ord("A") + last)
