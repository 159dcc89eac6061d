"""The built-in kinds of hosted providers, registered as entry points in pyproject.toml: addresses and keys.

Light to import: an SDK is loaded when a provider is opened.
"""

from __future__ import annotations

from functools import partial
from urllib.parse import urlsplit

from ..adapter import AnyProvider
from ..kind import ProviderConfig, ProviderKind

__all__ = ["ANTHROPIC", "DEEPSEEK", "GOOGLE", "MISTRAL", "OLLAMA", "OPENAI", "OPENROUTER"]


def _address(config: ProviderConfig, path: str) -> str:
    """The address of the host, with `path` where it has none."""
    url = urlsplit(config.base_url)
    return config.base_url if url.path.strip("/") else url._replace(path=path).geturl()


def _open(kind: str, path: str, config: ProviderConfig) -> AnyProvider:
    # The HTTP stack and the SDKs take a second to load, which an embedded panel never needs.
    from .provider import open_hosted

    return open_hosted(kind, base_url=_address(config, path), api_key=config.api_key)


async def _list_models(kind: str, path: str, config: ProviderConfig) -> frozenset[str]:
    # As above: the HTTP stack.
    from .listing import list_models

    return await list_models(kind, base_url=_address(config, path), api_key=config.api_key)


def _hosted(
    name: str,
    base_url: str,
    *key_variables: str,
    free: bool = False,
    prices: str | None = None,
    extra: str | None = None,
    sdk_extra: str | None = None,
    telemetry_name: str | None = None,
    path: str = "",
) -> ProviderKind:
    """path: of the API at an address that has none."""
    return ProviderKind(
        name=name,
        open=partial(_open, name, path),
        base_url=base_url,
        key_variables=key_variables,
        free=free,
        prices=prices,
        extra=extra,
        sdk_extra=sdk_extra,
        telemetry_name=telemetry_name,
        list_models=partial(_list_models, name, path),
    )


# The base installation writes requests of text alone, except to the two hosts with forms of their own.
OPENAI = _hosted("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", prices="openai", sdk_extra="openai")
ANTHROPIC = _hosted(
    "anthropic",
    "https://api.anthropic.com",
    "ANTHROPIC_API_KEY",
    prices="anthropic",
    sdk_extra="anthropic",
)
GOOGLE = _hosted(
    "google",
    "https://generativelanguage.googleapis.com",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    prices="google",
    sdk_extra="google",
    telemetry_name="gcp.gemini",
)
MISTRAL = _hosted(
    "mistral",
    "https://api.mistral.ai",
    "MISTRAL_API_KEY",
    prices="mistral",
    sdk_extra="mistral",
    telemetry_name="mistral_ai",
)
DEEPSEEK = _hosted(
    "deepseek", "https://api.deepseek.com", "DEEPSEEK_API_KEY", prices="deepseek", extra="openai"
)
OPENROUTER = _hosted(
    "openrouter",
    "https://openrouter.ai/api/v1",
    "OPENROUTER_API_KEY",
    prices="openrouter",
    extra="openai",
)
# People know the address of Ollama as in its own settings, without a path.
OLLAMA = _hosted("ollama", "http://127.0.0.1:11434/v1", free=True, sdk_extra="openai", path="/v1")
