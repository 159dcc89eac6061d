"""The dialects of the hosted kinds: how usage is reported, and how the SDK is opened, with its retries off.

Each opener imports its own SDK: one takes up to seconds to load, and a panel needs few of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from .plain_forms import CHAT, CONTENTS, MESSAGES, MISTRAL_CHAT, OFFICIAL, PlainForm
from .replies.anthropic import AnthropicReader
from .replies.google import GoogleReader
from .replies.openai import OpenAIReader
from .replies.reply import Reader
from .thinking import ThinkingStyle
from .usage import ANTHROPIC, GOOGLE, OPENAI, Meter

if TYPE_CHECKING:
    # Requests of text alone do without them.
    import httpx2
    from pydantic_ai.models import Model

__all__ = ["DIALECTS", "Dialect", "Maker"]

ANTHROPIC_HOST = "api.anthropic.com"
AZURE = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")
Maker = Callable[[str], "Model[Any]"]
"""From a model's name at the host to the model."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """reader, meter: of its replies and of its usage. plain: its requests of text alone.
    open: (base URL, key, HTTP client) -> maker of models.

    searches: how the host reports the web searches that it makes by itself: shown in the answer, or only
    counted in the usage; none if it makes none. thinking: see `thinking_settings`.
    caching: how a host learns which beginnings requests share: from the beginnings themselves; from a key for
    requests that share one; or from marks in the messages. extra: the extra of pnyx with its SDK.
    """

    reader: type[Reader]
    meter: Meter
    plain: PlainForm
    open: Callable[[str, str, httpx2.AsyncClient], Maker]
    searches: Literal["none", "shown", "counted"] = "none"
    thinking: ThinkingStyle = "effort"
    caching: Literal["prefix", "key", "points"] = "prefix"
    extra: str = "openai"

    def marks_cache_of(self, model: str) -> bool:
        """Whether requests to `model` have marks for a cache. A router knows those of two vendors' models."""
        return self.caching == "points" and (
            self.thinking != "openrouter" or model.startswith(("anthropic/", "google/"))
        )

    def puts_schema_first(self, host: str, model: str) -> bool:
        """Whether the schema of a reply stands before the messages, which then share no cached prefix.

        OpenAI documents it (guide "Prompt caching"). Of Claude, users report that another schema misses the
        cache, also where AWS serves it.
        """
        if self.thinking == "openrouter":
            return model.startswith(("openai/", "anthropic/"))
        return self.reader is AnthropicReader or host == OFFICIAL or self.is_azure(host)

    def is_azure(self, host: str | None) -> bool:
        return self.reader is OpenAIReader and (host or "").endswith(AZURE)

    def key_headers(self, host: str | None) -> tuple[str, ...]:
        """Headers in which the host reads a key, beside that of its SDK."""
        if self.is_azure(host):
            return ("api-key",)
        # Gateways that speak the dialect of Anthropic may know only the header that its SDK once sent.
        return ("x-api-key",) if self.reader is AnthropicReader and host != ANTHROPIC_HOST else ()


def _openai(base_url: str, api_key: str, client: httpx2.AsyncClient) -> Maker:
    # Loaded only by panels with a model of this kind.
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers import Provider

    sdk = AsyncOpenAI(base_url=base_url, api_key=api_key, http_client=client, max_retries=0, timeout=None)
    provider: Provider[AsyncOpenAI]
    profile: OpenAIModelProfile | None = None
    match urlsplit(base_url).hostname:
        case "api.openai.com":
            from pydantic_ai.providers.openai import OpenAIProvider

            provider = OpenAIProvider(openai_client=sdk)
        case "api.deepseek.com":
            from pydantic_ai.providers.deepseek import DeepSeekProvider

            provider = DeepSeekProvider(openai_client=sdk)
        case "openrouter.ai":
            from pydantic_ai.models.openrouter import OpenRouterModel
            from pydantic_ai.providers.openrouter import OpenRouterProvider

            router = OpenRouterProvider(openai_client=sdk)
            return lambda name: OpenRouterModel(name, provider=router)
        case _:
            from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

            # Compatible hosts know the older field; many ignore the newer one, and so would not stop.
            profile = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False)
            provider = OpenAICompatibleProvider("compatible", openai_client=sdk, profile=profile)
    return lambda name: OpenAIChatModel(name, provider=provider)


def _anthropic(base_url: str, api_key: str, client: httpx2.AsyncClient) -> Maker:
    # Loaded only by panels with a model of this kind.
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    base_url = base_url.removesuffix("/v1")
    sdk = AsyncAnthropic(base_url=base_url, api_key=api_key, http_client=client, max_retries=0, timeout=None)
    provider = AnthropicProvider(anthropic_client=sdk)
    return lambda name: AnthropicModel(name, provider=provider)


def _google(base_url: str, api_key: str, client: httpx2.AsyncClient) -> Maker:
    # Loaded only by panels with a model of this kind.
    from google.genai.client import Client
    from google.genai.types import HttpOptions
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    options = HttpOptions(base_url=base_url.removesuffix("/v1beta"), httpx_async_client=client)
    provider = GoogleProvider(client=Client(vertexai=False, api_key=api_key, http_options=options))
    return lambda name: GoogleModel(name, provider=provider)


def _mistral(base_url: str, api_key: str, client: httpx2.AsyncClient) -> Maker:
    # Loaded only by panels with a model of this kind.
    from mistralai.client import Mistral
    from pydantic_ai.models.mistral import MistralModel
    from pydantic_ai.providers.mistral import MistralProvider

    sdk = Mistral(api_key=api_key, server_url=base_url.removesuffix("/v1"), async_client=client)
    provider = MistralProvider(mistral_client=sdk)
    return lambda name: MistralModel(name, provider=provider)


DIALECTS = {
    "openai": Dialect(OpenAIReader, OPENAI, CHAT, _openai, caching="key"),
    "anthropic": Dialect(
        AnthropicReader,
        ANTHROPIC,
        MESSAGES,
        _anthropic,
        searches="shown",
        thinking="anthropic",
        caching="points",
        extra="anthropic",
    ),
    "google": Dialect(
        GoogleReader, GOOGLE, CONTENTS, _google, searches="shown", thinking="google", extra="google"
    ),
    "mistral": Dialect(OpenAIReader, OPENAI, MISTRAL_CHAT, _mistral, thinking="mistral", extra="mistral"),
    "ollama": Dialect(OpenAIReader, OPENAI, CHAT, _openai),
    "deepseek": Dialect(OpenAIReader, OPENAI, CHAT, _openai),
    "openrouter": Dialect(
        OpenAIReader, OPENAI, CHAT, _openai, searches="counted", thinking="openrouter", caching="points"
    ),
}
"""By the name of the kind of provider."""
