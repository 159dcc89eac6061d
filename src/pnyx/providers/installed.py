"""The kinds of providers that packages install, including pnyx's, and what they require of a configured one.

A kind that cannot be used affects only its own providers: `pnyx doctor` reports it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import get_args

from ..config.credentials import key_in
from ..config.schema import OWN, ProviderSettings, Settings
from ..config.stored_keys import why_unreadable
from ..errors import ConfigError, ProviderError
from ..extras import need
from ..plugins import PROVIDERS, Plugins
from .base import guard
from .kind import ProviderConfig, ProviderKind, Setting

__all__ = ["KINDS", "address", "configure", "is_usable", "key_variables", "list_models", "problems"]


def _accept(name: str, found: object) -> ProviderKind:
    """`found` as the kind `name`: itself, or for a provider's class a kind without settings."""
    if isinstance(found, type) and callable(getattr(found, "complete", None)):
        create: Callable[[], object] = found
        return ProviderKind(name=name, open=lambda config: create(), settings=())  # type: ignore[arg-type, return-value]
    if not isinstance(found, ProviderKind):
        raise ValueError("is neither a pnyx.ProviderKind nor a class with a method `complete`")
    if found.name != name:
        raise ValueError(f"has the name {found.name!r}; its entry point must have the same")
    return found


KINDS = Plugins(PROVIDERS, "provider kind", _accept)


def key_variables(provider: ProviderSettings) -> tuple[str, ...]:
    """Environment variables of the provider's key, the first that is set counts; empty: no key is sent."""
    if provider.api_key_env is not None:
        return (provider.api_key_env,)
    kind = KINDS.find(provider.kind)
    return kind.key_variables if kind and kind.is_official(provider.base_url) else ()


def is_usable(provider: ProviderSettings, env: Mapping[str, str]) -> bool:
    """Whether the provider can be opened: its kind is usable, and its key is set if it requires one."""
    if provider.kind != OWN and KINDS.find(provider.kind) is None:
        return False
    variables = key_variables(provider)
    return not variables or any(env.get(variable) for variable in variables)


def address(settings: Settings, name: str) -> str | None:
    """Return the address of the host of the provider called `name`, or None."""
    try:
        provider = settings.provider(name)
    except ConfigError:
        return None
    kind = KINDS.find(provider.kind)
    return provider.base_url or (kind.base_url if kind else None)


def configure(
    name: str, provider: ProviderSettings, env: Mapping[str, str], *, beyond_text: bool = False
) -> ProviderConfig:
    """What the kind of the provider called `name` opens it with.

    beyond_text: whether its requests have tools, images or schemas that only its SDK writes. Raises
    `ConfigError` if the kind cannot be used, its extra is not installed, or the key or address that it
    requires is not set.
    """
    kind = KINDS.get(provider.kind)
    if kind.extra is not None:
        need(kind.extra, f"provider {name}")
    if beyond_text and kind.sdk_extra is not None:
        need(kind.sdk_extra, f"provider {name}, for tools, images and answer schemas,")
    for problem in _problems(kind, provider):
        raise ConfigError(f"provider {name} {problem}")
    return ProviderConfig(
        name,
        base_url=(provider.base_url or kind.base_url or "").rstrip("/"),
        api_key=_key(name, provider, env),
        slots=provider.slots,
        context=provider.context,
        threads=provider.threads,
        env=env,
    )


def _key(name: str, provider: ProviderSettings, env: Mapping[str, str]) -> str | None:
    """The provider's key, None if it requires none. Raises `ConfigError`, which names the variable."""
    variables = key_variables(provider)
    if not variables:
        return None
    for variable in variables:
        if key := key_in(variable, f"provider {name}", env):
            return key
    unreadable = next(filter(None, map(why_unreadable, variables)), None)
    raise ConfigError(
        f"provider {name} needs its key in {' or '.join(f'${v}' for v in variables)}. Set it with: "
        f"export {variables[0]}=YOUR_KEY (or store it: pnyx keys set {variables[0]})"
        + (f". {unreadable}" if unreadable else "")
    )


async def list_models(kind: ProviderKind, config: ProviderConfig) -> frozenset[str] | None:
    """The names of the models that the host lists, or None if the kind cannot list them.

    Raises only `ProviderError` and `TimeoutError`, whatever the kind raises.
    """
    request = kind.list_models
    if request is None:
        return None
    models: object = await guard(lambda: request(config))
    if not isinstance(models, Collection) or not all(isinstance(model, str) for model in models):
        raise ProviderError("malformed", "list_models() did not return the names of models")
    return frozenset(models)


def problems(settings: Settings) -> Iterator[str]:
    """What the kinds refuse in `[providers.NAME]` tables. Skips a kind that cannot be used."""
    for name, provider in settings.providers.items():
        kind = KINDS.find(provider.kind)
        if kind is not None or provider.kind == OWN:
            where = f"providers.{name} in {settings.place('providers', name)}"
            yield from (f"{where} {problem}" for problem in _problems(kind, provider))


def _problems(kind: ProviderKind | None, provider: ProviderSettings) -> Iterator[str]:
    """kind: None for a provider that a program supplies, which has no address and no key."""
    accepted = kind.settings if kind else ()
    extra = sorted((provider.model_fields_set & set(get_args(Setting))) - set(accepted))
    if extra:
        yield f"is of kind {provider.kind}, which does not have: {', '.join(extra)}"
    if kind and kind.base_url is None and "base_url" in accepted and provider.base_url is None:
        yield f"needs base_url: the kind {kind.name} has no address of its own"
