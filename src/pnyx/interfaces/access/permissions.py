"""What the key of a request may use: its protocols, models, panels and aliases, of `[serve.keys.NAME]`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING

from ... import protocols
from ...config.schema import Settings
from ...config.tables.server import KeyLimits
from ...errors import ConfigError, Forbidden, PnyxError, UsageError
from ...plugins import PROTOCOLS, PROVIDERS
from ...plugins import names as installed
from ...providers.catalogue import parse_seats
from ...providers.default_panel import default_panel
from .keys import check_name

if TYPE_CHECKING:
    from ...run.spec import Spec

__all__ = ["Permissions", "limit_problems", "limits_without_key"]


@dataclass(frozen=True, slots=True)
class _Recipe:
    """What runs under the name of an alias or a saved panel."""

    protocols: tuple[str, ...] = ()
    seats: tuple[str, ...] = ()
    judge: str | None = None


NOTHING = _Recipe()


@dataclass(frozen=True)
class Permissions:
    """What the key of an owner may use. limits: of the key."""

    settings: Settings
    owner: str
    limits: KeyLimits

    def check(self, spec: Spec, alias: str | None = None, panel: str | None = None) -> None:
        """Raise `Forbidden` for a run that the key may not start.

        alias: the name of `[serve.models]` that the request gives as its model, if it gives one. panel: the
        saved panel that it names.
        """
        recipe = NOTHING
        for kind, name, noun in (("aliases", alias, "the model"), ("panels", panel, "the panel")):
            if name is not None:
                self._need(kind, name, noun)
                recipe = self._listed(kind, name) or recipe
        for protocol in _with_inner(spec.protocol, spec.options):
            if protocol not in recipe.protocols:
                self._need("protocols", protocol, "the protocol")
        seats = tuple(seat.model for seat in spec.seats)
        judge = () if spec.judge is None or spec.judge.model == recipe.judge else (spec.judge.model,)
        for model in (*(() if seats == recipe.seats else seats), *judge):
            self._need("models", model, "the model")

    def protocol(self, name: str) -> bool:
        """Whether the key may use a protocol."""
        return _allows(self.limits.protocols, name)

    def model(self, ref: str) -> bool:
        """Whether the key may use a model for a seat."""
        return _allows(self.limits.models, ref)

    def aliases(self) -> Iterator[str]:
        """Yield the names of `[serve.models]` that the key may use."""
        return filter(partial(self._usable, "aliases"), self.settings.serve.models)

    def saved_panels(self) -> Iterator[str]:
        """Yield the names of the saved panels that the key may use."""
        return filter(partial(self._usable, "panels"), self.settings.panels)

    def _usable(self, kind: str, name: str) -> bool:
        if self._listed(kind, name):
            return True
        recipe = self._recipe(kind, name)
        models = (*recipe.seats, *filter(None, [recipe.judge]))
        allowed = _allows(getattr(self.limits, kind), name)
        return allowed and all(map(self.protocol, recipe.protocols)) and all(map(self.model, models))

    def panel(self, seats: tuple[str, ...] = ()) -> bool:
        """Whether the key may use all models of a panel; empty: of the configured or default one."""
        return self.limits.models is None or all(map(self.model, self._panel(seats)))

    def _panel(self, seats: tuple[str, ...]) -> tuple[str, ...]:
        try:
            return parse_seats(seats or self.settings.panel.seats) or default_panel(self.settings).refs
        except ConfigError:
            return ()  # there is no default panel; a run says why

    def _listed(self, kind: str, name: str) -> _Recipe | None:
        """The recipe of an alias or a saved panel, if the key's list has it."""
        allowed = getattr(self.limits, kind)
        return None if allowed is None or not _allows(allowed, name) else self._recipe(kind, name)

    def _recipe(self, kind: str, name: str) -> _Recipe:
        if kind == "aliases":
            served = self.settings.serve.models[name]
            return _Recipe(_with_inner(served.protocol, served.options), self._panel(served.panel))
        saved = self.settings.saved_panel(name)
        protocol = saved.protocol or self.settings.run.protocol
        return _Recipe(_with_inner(protocol, saved.options), self._panel(saved.seats), saved.judge)

    def _need(self, kind: str, name: str, noun: str) -> None:
        allowed = getattr(self.limits, kind)
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
        where = f"serve.keys.{owner} in {settings.place('serve', 'keys', owner)}"
        try:
            check_name(owner)
        except UsageError as exc:
            yield f"{where}: {exc}"
        for kind, known in (
            ("aliases", settings.serve.models),
            ("panels", settings.panels),
            ("protocols", installed(PROTOCOLS)),
        ):
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


def _with_inner(name: str, options: Mapping[str, object]) -> tuple[str, ...]:
    """Return a protocol, and those that its options name."""
    known, found = installed(PROTOCOLS), [name]
    try:
        declared = protocols.get(name).options
    except PnyxError:
        return (name,)  # a run says why it does not load
    for option, one in declared.items():
        # Options whose choices are a function are those that name installed protocols.
        if callable(one.choices) and (value := options.get(option, one.default)) in known:
            found.append(str(value))
    return tuple(found)


def _allows(patterns: Iterable[str] | None, name: str) -> bool:
    return patterns is None or any(_matches(pattern, name) for pattern in patterns)


def _matches(pattern: str, name: str) -> bool:
    # Only `*` is special: names of models may have brackets.
    return fnmatchcase(name, pattern.replace("[", "[[]").replace("?", "[?]"))
