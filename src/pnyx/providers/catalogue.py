"""Which models there are, what is known of them, and how a panel is made of them. Asks no host."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from ..config.paths import models_dir
from ..config.schema import ModelSettings, ProviderSettings, Settings
from ..core.models import Price, Seat
from ..errors import ConfigError, UsageError
from .embedded.weights import find, installed
from .embedded.weights_table import KNOWN
from .installed import KINDS, has_key, key_variables

__all__ = ["STRONG", "Catalogue", "DefaultPanel", "ModelInfo", "default_panel", "parse_seats", "seats"]

MOST_SEATS = 100
STRONG: Mapping[str, tuple[str, ...]] = {
    "openai": ("gpt-6.1-sol",),
    "anthropic": ("claude-opus-5-5",),
    "google": ("gemini-4-argon",),
    "mistral": ("mistral-large-4",),
    "deepseek": ("deepseek-v4-pro",),
    "openrouter": ("openai/gpt-6.1-sol", "anthropic/claude-opus-5.5", "google/gemini-4-argon"),
}
"""Makers' models of the default panel. OpenRouter's are MAKER/MODEL, and come in where a maker is missing."""

SMALL_TEMPERATURE = 0.2
"""Of known embedded models: at llama.cpp's own 0.8 they wander off, and at 0.5 they still miscalculate."""
SMALL_OUTPUT = 256
"""Tokens of one reply of a known embedded model: they ramble beyond it, at 10 to 80 tokens a second."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What is known of one model; None is unknown.

    model: its name at the host. context, max_output: tokens. parameters: billions. source: where its
    price, or what else is known, comes from.
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
    short_prompts: bool = False
    temperature: float | None = None
    source: str = "unknown"


@dataclass(frozen=True, slots=True)
class DefaultPanel:
    """The panel of those who configured none. preset: how to run it where nothing else is asked for."""

    refs: tuple[str, ...]
    preset: str | None = None


class Catalogue:
    """What is configured, over what is built in, over the price snapshot. today: whose prices hold (UTC)."""

    def __init__(self, settings: Settings, today: date | None = None) -> None:
        self._settings = settings
        self._today = today or datetime.now(UTC).date()

    def describe(self, ref: str) -> ModelInfo:
        """All that is known of a model. Raises `UsageError`, or `ConfigError` for an unknown provider."""
        given = self._settings.models.get(ref, ModelSettings())
        told = {"context", "max_output", "parameters", "proposer_eligible", "short_prompts", "temperature"}
        info = replace(self._known(ref, given), **given.model_dump(include=told, exclude_none=True))
        if given.input_price is None or given.output_price is None:
            return info
        price = self._price(
            given.input_price, given.output_price, given.cached_price, given.reasoning_price, "configuration"
        )
        return replace(info, price=price, source=price.source)

    def seated(self, ref: str) -> ModelInfo:
        """As `describe`, of a model that is to be asked.

        Raises `NotFound` too, for an embedded one that is nowhere; one that can be fetched may be yet.
        """
        info = self.describe(ref)
        if info.kind == "embedded" and info.model not in KNOWN:
            find(info.model)
        return info

    def _known(self, ref: str, given: ModelSettings) -> ModelInfo:
        name, model = _split(ref)
        provider = self._settings.provider(name)
        info = ModelInfo(
            ref, name, provider.kind, model, parameters=_size(model), proposer_eligible=not _searches(model)
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
        if kind and kind.free:
            return replace(info, price=self._price(0, 0, source="local"), source="local")
        if kind is None or kind.prices is None or not kind.is_own(provider.base_url):
            return info
        # The snapshot takes 0.3 s to load, which a panel of embedded or own models never needs.
        from .prices import look_up

        listing = look_up(kind.prices, model, self._today, given.context)
        if listing is None:
            return info
        # Searches are charged by the piece, which no price of tokens covers.
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
    ) -> Price:
        return Price(input, output, cached, reasoning, self._today.isoformat(), source)


def parse_seats(specs: Iterable[str]) -> tuple[str, ...]:
    """A reference for each seat, of "provider:model" and "provider:model*N". Raises `UsageError`."""
    refs: list[str] = []
    for spec in specs:
        ref, star, times = spec.strip().partition("*")
        _split(ref)
        if star and not (times.isdecimal() and 1 <= int(times) <= MOST_SEATS):
            raise UsageError(f"{spec[:80]!r}: after * comes the number of seats, 1 to {MOST_SEATS}")
        refs += [ref] * int(times or 1)
    if len(refs) > MOST_SEATS:
        raise UsageError(f"a panel has at most {MOST_SEATS} seats, not {len(refs)}")
    return tuple(refs)


def seats(
    catalogue: Catalogue,
    refs: Sequence[str],
    roles: Mapping[str, str] | None = None,
    seed: int = 0,
    cast: Sequence[str] = (),
) -> tuple[Seat, ...]:
    """The seats in the order given, their labels dealt from an order shuffled with the seed.

    roles: "2", "B" or "Participant B" -> the role of the second seat, or of the seat so labelled. cast:
    the roles, in the order of the seats, of those that are not named in `roles`.
    Raises `UsageError` for a role of no seat, and like `Catalogue.seated`.
    """
    letters = [_letters(n) for n in range(len(refs))]
    random.Random(f"{seed}/labels").shuffle(letters)
    given = {name.removeprefix("Participant ").strip().upper(): text for name, text in (roles or {}).items()}
    strangers = set(given) - set(letters) - {str(n + 1) for n in range(len(refs))}
    if strangers:
        raise UsageError(
            f"a role is given for {min(strangers)!r}, which is no seat: seats are 1 to {len(refs)}"
        )
    parts = cast or [""] * len(refs)
    infos = {ref: catalogue.seated(ref) for ref in refs}
    return tuple(
        Seat(
            label=f"Participant {letter}",
            model=ref,
            role=given.get(str(number), given.get(letter, parts[number - 1])),
            price=infos[ref].price,
            parameters=infos[ref].parameters,
            proposer_eligible=infos[ref].proposer_eligible,
            short_prompts=infos[ref].short_prompts,
            temperature=infos[ref].temperature,
            context=infos[ref].context,
            max_output=infos[ref].max_output,
        )
        for number, (ref, letter) in enumerate(zip(refs, letters, strict=True), 1)
    )


def default_panel(settings: Settings, env: Mapping[str, str] = os.environ) -> DefaultPanel:
    """The models named for configured providers, and a strong one of every maker whose key is set.

    Where there is neither, nor any provider configured: the embedded models that are here. A provider whose
    key is not set counts for nothing. One model alone takes three seats. Raises `ConfigError` with what helps
    when nobody can be asked.
    """
    hosts = {name: host for name, host in settings.providers.items() if host.kind != "embedded"}
    usable = {name for name, host in hosts.items() if has_key(host, env)}
    named = [ref for ref in settings.models if ref.partition(":")[0] in usable]
    makers: dict[str, str] = {}
    for kind, models in STRONG.items():
        provider = settings.provider(kind)
        if provider.kind == kind and _is_own(provider) and has_key(provider, env):
            for model in models:
                maker = model.partition("/")[0] if "/" in model else kind
                makers.setdefault(maker, f"{kind}:{model}")
    if refs := tuple(dict.fromkeys((*named, *makers.values()))):
        return DefaultPanel(_three(refs[:MOST_SEATS]))
    if hosts:
        raise ConfigError(_nobody(hosts, usable))
    here = tuple(installed(models_dir(env)))
    chosen = tuple(name for name in here if name in KNOWN and KNOWN[name].default) or here[:1]
    if not chosen:
        raise ConfigError(
            "no model is here yet, and no provider's key is set; run: pnyx models pull smollm2-135m"
        )
    return DefaultPanel(_three(tuple(f"embedded:{name}" for name in chosen)), "quick")


def _is_own(provider: ProviderSettings) -> bool:
    """Whether the provider is its kind's own address, where the names of its models are known."""
    kind = KINDS.find(provider.kind)
    return kind is not None and kind.is_own(provider.base_url)


def _nobody(hosts: Mapping[str, ProviderSettings], usable: Collection[str]) -> str:
    """Why none of the configured providers can be asked, and what helps."""
    if usable:
        names = ", ".join(name for name in hosts if name in usable)
        return f"no model of {names} is named that could be asked; name seats in [panel]"
    keys = [f"${' or $'.join(key_variables(h))} ({name})" for name, h in hosts.items() if key_variables(h)]
    if not keys:
        return f"the kinds of {', '.join(hosts)} cannot be used; run pnyx doctor, or name seats in [panel]"
    return f"no configured provider's key is set; set {', '.join(keys)}, or name other seats in [panel]"


def _three(refs: tuple[str, ...]) -> tuple[str, ...]:
    return refs * 3 if len(refs) == 1 else refs


def _split(ref: str) -> tuple[str, str]:
    provider, _, model = ref.partition(":")
    if not provider or not model.strip() or "*" in ref or not ref.isprintable():
        raise UsageError(f'a model is named "provider:model", not {ref[:80]!r}')
    return provider, model


def _searches(model: str) -> bool:
    """Whether the name is of a model that searches the web by itself."""
    return bool(re.search(r"(^|[/:_-])(sonar|search|online|deep-research)($|[/:_-])", model.lower()))


def _size(model: str) -> float | None:
    """Billions of parameters, where the name says so: "llama3.2:3b", "smollm2-135m"."""
    found = re.search(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)([bm])(?![a-z0-9])", model.lower())
    return float(found[1]) / (1 if found[2] == "b" else 1000) if found else None


def _letters(number: int) -> str:
    """0 -> A, 25 -> Z, 26 -> AA, as columns of a spreadsheet are named."""
    head, last = divmod(number, 26)
    return (_letters(head - 1) if head else "") + chr(ord("A") + last)
