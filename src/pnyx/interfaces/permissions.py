"""What the key of a request may use: its protocols, models and aliases, as `[serve.keys.NAME]` lists them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING

from .. import protocols
from ..config.schema import Settings
from ..config.server_settings import KeyLimits, ServedModel
from ..core.protocol import Protocol
from ..errors import ConfigError, Forbidden, UsageError
from ..plugins import PROTOCOLS, PROVIDERS
from ..plugins import names as installed
from ..providers.catalogue import default_panel, parse_seats
from .keys import check_name

if TYPE_CHECKING:
    from ..run.spec import Spec

__all__ = ["Permissions", "limit_problems", "limits_without_key"]

EVERYTHING = KeyLimits()


@dataclass(frozen=True)
class Permissions:
    """What the key of an owner may use."""

    settings: Settings
    owner: str

    @cached_property
    def _limits(self) -> KeyLimits:
        return self.settings.serve.keys.get(self.owner, EVERYTHING)

    def check(self, spec: Spec, alias: str | None = None) -> None:
        """Raise `Forbidden` for a run that the key may not start.

        alias: the name of `[serve.models]` that the request gives as its model, if it gives one.
        """
        if alias is not None:
            self._need("aliases", alias, "the model")
        served = self._listed(alias)
        if served is None or served.protocol != spec.protocol:
            for name in (spec.protocol, *_inner(protocols.get(spec.protocol), spec.options)):
                self._need("protocols", name, "the protocol")
        seats = [seat.model for seat in spec.seats]
        if served is None or seats != list(self._panel(served.panel)):
            for model in seats:
                self._need("models", model, "the model")
        if spec.judge is not None:
            self._need("models", spec.judge.model, "the model")

    def protocol(self, name: str) -> bool:
        """Whether the key may use a protocol."""
        return _allows(self._limits.protocols, name)

    def model(self, ref: str) -> bool:
        """Whether the key may use a model for a seat."""
        return _allows(self._limits.models, ref)

    def aliases(self) -> Iterator[str]:
        """Yield the names of `[serve.models]` that the key may use."""
        for name, served in self.settings.serve.models.items():
            if self._listed(name) or (
                _allows(self._limits.aliases, name)
                and self.panel(served.panel)
                and self.protocol(served.protocol)
            ):
                yield name

    def saved_panels(self) -> Iterator[str]:
        """Yield the names of the saved panels that the key may use."""
        for name, saved in self.settings.panels.items():
            protocol = saved.protocol or self.settings.run.protocol
            judge = saved.judge is None or self.model(saved.judge)
            if judge and self.protocol(protocol) and self.panel(saved.seats):
                yield name

    def panel(self, seats: tuple[str, ...] = ()) -> bool:
        """Whether the key may use all models of a panel; empty: of the configured or default one."""
        return self._limits.models is None or all(map(self.model, self._panel(seats)))

    def _panel(self, seats: tuple[str, ...]) -> tuple[str, ...]:
        try:
            return parse_seats(seats or self.settings.panel.seats) or default_panel(self.settings).refs
        except ConfigError:
            return ()  # there is no default panel; a run says why

    def _listed(self, alias: str | None) -> ServedModel | None:
        """What an alias stands for, if the key's list has it."""
        if alias is None or self._limits.aliases is None or not _allows(self._limits.aliases, alias):
            return None
        return self.settings.serve.models.get(alias)

    def _need(self, kind: str, name: str, noun: str) -> None:
        allowed = getattr(self._limits, kind)
        if not _allows(allowed, name):
            listed = json.dumps([*allowed, name[:80]])
            raise Forbidden(
                f"the key {self.owner} may not use {noun} {name[:80]!r}; to allow it, add it to {kind} in "
                f"[serve.keys.{self.owner}] of the server's settings: {kind} = {listed}"
            )


def limits_without_key(settings: Settings, keys: Iterable[str]) -> list[str]:
    """Return the names in `[serve.keys]` that have no key: one misspelt leaves a key without its limits."""
    return sorted(settings.serve.keys.keys() - set(keys))


def limit_problems(settings: Settings) -> Iterator[str]:
    """Yield the problems of `[serve.keys]`: names of no key, and patterns that match nothing."""
    providers = {*settings.providers, *installed(PROVIDERS)}
    for owner, limits in settings.serve.keys.items():
        where = f"serve.keys.{owner} in {settings.origin('serve', 'keys', owner)}"
        try:
            check_name(owner)
        except UsageError as exc:
            yield f"{where}: {exc}"
        for kind, known in (("aliases", settings.serve.models), ("protocols", installed(PROTOCOLS))):
            for pattern in getattr(limits, kind) or ():
                if not any(_matches(pattern, name) for name in known):
                    has = ", ".join(known) or "none"
                    yield f"{where}: {kind} has {pattern[:80]!r}, and there is no such name; there are: {has}"
        for pattern in limits.models or ():
            provider, colon, _ = pattern.partition(":")
            if pattern != "*" and not (colon and any(_matches(provider, name) for name in providers)):
                has = (
                    f'a model is named "provider:model", and the providers are {", ".join(sorted(providers))}'
                )
                yield f"{where}: models has {pattern[:80]!r}; {has}"


def _inner(protocol: Protocol, options: Mapping[str, object]) -> Iterator[str]:
    """Yield the protocols that a protocol's options name."""
    known = installed(PROTOCOLS)
    for name, option in protocol.options.items():
        # Options whose choices are a function are those that name installed protocols.
        if callable(option.choices) and (value := options.get(name)) in known:
            yield str(value)


def _allows(patterns: Iterable[str] | None, name: str) -> bool:
    return patterns is None or any(_matches(pattern, name) for pattern in patterns)


def _matches(pattern: str, name: str) -> bool:
    # Only `*` is special: names of models may have brackets.
    return fnmatchcase(name, pattern.replace("[", "[[]").replace("?", "[?]"))
