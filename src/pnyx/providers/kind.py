"""What a kind of provider is: how `[providers.NAME]` configures one, and how one is opened.

A package registers a kind under its name in the entry-point group `pnyx.providers`; see docs/providers.md.
This module imports nothing heavy, because all kinds are loaded to know their keys and addresses.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args
from urllib.parse import urlsplit

from ..config.stored_keys import ENVIRONMENT
from .adapter import AnyProvider

__all__ = ["ProviderConfig", "ProviderKind", "Setting"]

Setting: TypeAlias = Literal["base_url", "api_key_env", "slots", "context", "threads"]
"""A key of `[providers.NAME]` that only some kinds accept."""


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """What one provider is opened with: its table in the settings, over the defaults of its kind.

    name: the NAME of `[providers.NAME]`. base_url: without a "/" at its end; "" for a kind that has none.
    api_key: the key itself, None where none is sent. slots: generations at once. context: tokens of each.
    threads: CPU threads. env: the environment, for what no setting holds.
    """

    name: str
    base_url: str = ""
    api_key: str | None = field(default=None, repr=False)
    slots: int | None = None
    context: int | None = None
    threads: int | None = None
    env: Mapping[str, str] = field(default_factory=lambda: ENVIRONMENT, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderKind:
    """A kind of provider: an API dialect, with the host that speaks it.

    name: the `kind` of `[providers.NAME]`, and the name of the entry point.
    open: returns a provider; called in a thread at the first call to a model, so import SDKs in it.
    settings: the keys of `[providers.NAME]` that the kind accepts.
    base_url: the kind's own address. With None, a kind that accepts `base_url` requires it.
    key_variables: environment variables of the key; the first that is set counts. They are read for the
    kind's own address only: another address gets the key of `api_key_env`, or none.
    free: whether tokens cost nothing, at any address.
    prices: the id in genai-prices of the host whose prices hold at the kind's own address. With None, prices
    are unknown until `[models]` sets them.
    list_models: returns the names of the host's models for `pnyx doctor`, free of charge, or raises
    `ProviderError`. With None, `pnyx doctor` does not contact the host.
    extra: the extra of pnyx that it needs. A package of your own declares what it needs as dependencies.
    sdk_extra: the extra of pnyx that only requests with tools, images or answer schemas need.
    telemetry_name: of its API in OpenTelemetry's attribute `gen_ai.provider.name`; with None, `name`.

    Raises `ValueError` for fields that no configuration could use.
    """

    name: str
    open: Callable[[ProviderConfig], AnyProvider]
    settings: tuple[Setting, ...] = ("base_url", "api_key_env")
    base_url: str | None = None
    key_variables: tuple[str, ...] = ()
    free: bool = False
    prices: str | None = None
    list_models: Callable[[ProviderConfig], Awaitable[Collection[str]]] | None = None
    extra: str | None = None
    sdk_extra: str | None = None
    telemetry_name: str | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch("[a-z0-9_-]+", self.name):
            raise ValueError(f"the name of a ProviderKind has only a-z, 0-9, _ and -, not {self.name!r}")
        if unknown := sorted(set(self.settings) - set(get_args(Setting))):
            known = ", ".join(get_args(Setting))
            raise ValueError(f"settings of a ProviderKind are some of {known}, not {unknown[0]!r}")
        if self.base_url is not None and not re.match("https?://[^/]", self.base_url):
            raise ValueError(f"base_url of a ProviderKind is an http or https address, not {self.base_url!r}")
        if self.key_variables and self.base_url is None and "base_url" in self.settings:
            raise ValueError("key_variables of a ProviderKind require base_url, the address they are sent to")

    def is_official(self, base_url: str | None) -> bool:
        """Whether `base_url`, None for the default, is the kind's own address."""
        if base_url is None:
            return self.base_url is not None or "base_url" not in self.settings
        own, url = urlsplit(self.base_url or ""), urlsplit(base_url)
        return (url.scheme, url.netloc) == (own.scheme, own.netloc)
