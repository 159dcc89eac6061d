"""The panel if none is configured: what can be called with the keys and models that are there."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ..config.paths import models_dir
from ..config.schema import ProviderSettings, Settings
from ..config.stored_keys import ENVIRONMENT
from ..errors import ConfigError
from ..extras import need
from .catalogue import MAX_SEATS
from .embedded.weights import installed
from .embedded.weights_table import KNOWN
from .installed import KINDS, is_usable, key_variables
from .usual_models import STRONG

__all__ = ["DefaultPanel", "default_panel"]


@dataclass(frozen=True, slots=True)
class DefaultPanel:
    """The panel if none is configured. preset: the preset to run it with by default."""

    refs: tuple[str, ...]
    preset: str | None = None


def default_panel(settings: Settings, env: Mapping[str, str] = ENVIRONMENT) -> DefaultPanel:
    """The models that `[models]` names of usable providers, and a strong one of every maker whose key is set.

    If there is neither, and no provider is configured: the embedded models on this machine. A single model
    takes three seats. Raises `ConfigError`, which says what to do, if no model can be used.
    """
    hosts = {name: host for name, host in settings.providers.items() if host.kind != "embedded"}
    usable = {name for name, host in hosts.items() if is_usable(host, env)}
    configured = [ref for ref in settings.models if ref.partition(":")[0] in usable]
    makers: dict[str, str] = {}
    for kind, models in STRONG.items():
        provider = settings.provider(kind)
        if provider.kind == kind and _is_official(provider) and is_usable(provider, env):
            for model in models:
                maker = model.partition("/")[0] if "/" in model else kind
                makers.setdefault(maker, f"{kind}:{model}")
    if refs := tuple(dict.fromkeys((*configured, *makers.values()))):
        return DefaultPanel(_at_least_three(refs[:MAX_SEATS]))
    if hosts:
        raise ConfigError(_no_model_message(hosts, usable))
    need(
        "embedded",
        "no API key is set. Set one, such as: export OPENAI_API_KEY=YOUR_KEY; "
        "or let a model on this machine answer, which",
    )
    available = tuple(installed(models_dir(env)))
    chosen = tuple(name for name in available if name in KNOWN and KNOWN[name].default) or available[:1]
    if not chosen:
        raise ConfigError(
            "no API key is set, and no model is on this machine. Set a key, such as: "
            "export OPENAI_API_KEY=YOUR_KEY; or fetch a small model: pnyx models pull qwen2.5-coder-0.5b"
        )
    return DefaultPanel(_at_least_three(tuple(f"embedded:{name}" for name in chosen)), "quick")


def _is_official(provider: ProviderSettings) -> bool:
    """Whether the provider is at its kind's own address, where the names of its models are known."""
    kind = KINDS.find(provider.kind)
    return kind is not None and kind.is_official(provider.base_url)


def _no_model_message(hosts: Mapping[str, ProviderSettings], usable: Collection[str]) -> str:
    """Why no configured provider has a model to use, and what to do."""
    if usable:
        names = ", ".join(name for name in hosts if name in usable)
        first = next(name for name in hosts if name in usable)
        named = f'"models": ["{first}:MODEL"]'
        return f"no model of {names} is named; name one with {named}, or in [panel] seats"
    keys = [f"${' or $'.join(key_variables(h))} ({name})" for name, h in hosts.items() if key_variables(h)]
    if not keys:
        return f"the kinds of {', '.join(hosts)} cannot be used; run pnyx doctor, or name seats in [panel]"
    return f"no configured provider's key is set; set {', '.join(keys)}, or name other seats in [panel]"


def _at_least_three(refs: tuple[str, ...]) -> tuple[str, ...]:
    return refs * 3 if len(refs) == 1 else refs
