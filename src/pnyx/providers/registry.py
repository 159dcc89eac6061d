"""The providers of a process: each opened at its first call, all closed together.

Opening loads an SDK or a model, which takes up to seconds, so it happens in a thread, behind a provider
that is available at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping

from ..config.credentials import database_secrets, proxy_secrets
from ..config.schema import OWN, Settings
from ..config.stored_keys import ENVIRONMENT
from ..errors import ConfigError, Problems
from ..gc_pause import paused_collection
from .adapter import AnyProvider, adapt
from .base import Call, Completion, Provider, can_search, counted_tokens
from .installed import KINDS, configure, key_variables
from .kind import ProviderConfig, ProviderKind
from .redaction import MIN_SECRET, Redactor

__all__ = ["Providers"]

MIN_KEY = 16
"""Characters. A shorter key is not masked in replies of models, where `ollama` is a word."""


class Providers:
    """Providers by name, configured or built in. extra: objects of the program, by name, which it closes.

    redact: masks every key and every password of a database or proxy in use. redact_replies: masks the keys
    in replies of models.
    """

    def __init__(
        self,
        settings: Settings,
        env: Mapping[str, str] = ENVIRONMENT,
        extra: Mapping[str, AnyProvider] | None = None,
    ) -> None:
        self._settings = settings
        self._env = env
        self._extra = {name: adapt(provider) for name, provider in (extra or {}).items()}
        self._opened: dict[str, _LazyProvider] = {}
        keys = _keys(settings, env)
        self.redact = Redactor(_secrets(keys, settings, env))
        self.redact_replies = Redactor(key for key in keys if len(key) >= MIN_KEY)
        # Two threads that import the same SDK at once can each see a part of it that is not complete yet.
        self._lock = asyncio.Lock()

    def get(self, name: str) -> Provider:
        """The provider called `name`; the same object every time.

        Raises `ConfigError` if there is none, its kind cannot be used, or its key is not in the environment.
        """
        if name in self._extra:
            return self._extra[name]
        if name not in self._opened:
            self._opened[name] = _LazyProvider(self._opener(name), self._lock)
        return self._opened[name]

    def check(self, names: Iterable[str], beyond_text: Collection[str] = ()) -> None:
        """Raise `ConfigError` for all that the providers called `names` lack, such as keys.

        beyond_text: those whose requests have tools, images or schemas that only an SDK writes.
        """
        problems = Problems()
        for name in dict.fromkeys(names):
            with problems:
                self.get(name)
                if name in beyond_text and name not in self._extra:
                    configure(name, self._settings.provider(name), self._env, beyond_text=True)
        problems.check()

    async def close(self) -> None:
        """Close every open provider, also after one of them fails to close."""
        opened, self._opened = self._opened, {}
        failures = await asyncio.gather(*(p.close() for p in opened.values()), return_exceptions=True)
        for failure in failures:
            if failure is not None:
                raise failure

    def _opener(self, name: str) -> Callable[[], Provider]:
        provider = self._settings.provider(name)
        if provider.kind == OWN:
            raise ConfigError(f"provider {name} is supplied by a program, and this one does not supply it")
        kind = KINDS.get(provider.kind)
        config = configure(name, provider, self._env)
        return lambda: _open(kind, config)


def _open(kind: ProviderKind, config: ProviderConfig) -> Provider:
    try:
        with paused_collection():
            return adapt(kind.open(config))
    except SystemExit as exc:
        # It would end the event loop.
        raise ConfigError(f"provider {config.name} cannot be opened: {exc}") from exc


class _LazyProvider:
    """A provider that opens itself at its first use."""

    def __init__(self, open: Callable[[], Provider], lock: asyncio.Lock) -> None:
        self._open = open
        self._lock = lock
        self._opening: asyncio.Task[Provider] | None = None

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
        return await (await self.ensure_open()).complete(call, on_text)

    async def searches(self, model: str) -> bool:
        return await can_search(await self.ensure_open(), model)

    async def count_tokens(self, call: Call) -> int | None:
        return await counted_tokens(await self.ensure_open(), call)

    async def close(self) -> None:
        if self._opening is not None:
            await asyncio.wait([self._opening])
            if self._opening.exception() is None:
                await self._opening.result().close()

    @property
    def is_open(self) -> bool:
        opening = self._opening
        return opening is not None and opening.done() and opening.exception() is None

    async def ensure_open(self) -> Provider:
        opening = self._opening
        if opening is None or (opening.done() and opening.exception() is not None):
            opening = self._opening = asyncio.create_task(self._open_alone())
        # A thread cannot be stopped, other calls may wait for it too, and what it opens must be closed.
        return await asyncio.shield(opening)

    async def _open_alone(self) -> Provider:
        async with self._lock:
            return await asyncio.to_thread(self._open)


def _keys(settings: Settings, env: Mapping[str, str]) -> set[str]:
    """The keys of hosts and of search services in the environment."""
    variables = {variable for kind in KINDS.loaded() for variable in kind.key_variables}
    variables.update(settings.tools.web_search.key_variables)
    for provider in settings.providers.values():
        variables.update(key_variables(provider))
    return {env.get(variable, "").strip() for variable in variables}


def _secrets(keys: set[str], settings: Settings, env: Mapping[str, str]) -> set[str]:
    """Everything that must not be shown."""
    found = {*keys, *database_secrets(settings.storage.url or ""), *proxy_secrets(env)}
    return {secret for secret in found if len(secret) >= MIN_SECRET}
