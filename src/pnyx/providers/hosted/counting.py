"""What hosts are asked to count the tokens of a request, which costs nothing.

It is the request that would be sent, without the parameters that its API does not count. A host whose API has
no count says so once for each model. Nobody hears of a count that fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from ...core.caching.lru import LRU
from ...errors import ProviderError
from .connection import Connection, HostRequest, Limits
from .failures import HostError
from .plain_forms import OFFICIAL
from .responses_requests import CHAT, RESPONSES, as_responses

__all__ = ["TokenCounter"]

MODELS = 1_000
WITHOUT_COUNT = (404, 405, 501)
"""Statuses of a host that has no such address."""
UNREADABLE = ("malformed", "not_found")
"""Kinds of an error without a status: no JSON, and a web page."""


@dataclass(frozen=True, slots=True)
class CountForm:
    """How an API is asked for a count.

    end: of the path of a request. path: what stands there instead. takes: the parameters that are sent, None
    for all. counted: where the reply has the number. wrapped: where the request stands in the body; "": it is
    the body.
    """

    end: str
    path: str
    takes: frozenset[str] | None
    counted: str
    wrapped: str = ""

    def of(self, request: HostRequest) -> HostRequest | None:
        """The request for a count of `request`, or None if that is none of this API."""
        url = urlsplit(request.url)
        if not url.path.endswith(self.end):
            return None
        start = url.path.removesuffix(self.end)
        body = {k: v for k, v in request.body.items() if self.takes is None or k in self.takes}
        if self.wrapped:
            body = {self.wrapped: {"model": f"models/{start.rpartition('/')[2]}", **body}}
        address = urlunsplit((url.scheme, url.netloc, start + self.path, url.query, ""))
        return HostRequest(address, request.headers, body)


ANTHROPIC = CountForm(
    "/messages",
    "/messages/count_tokens",
    frozenset(("model", "messages", "system", "tools", "tool_choice", "thinking", "output_config")),
    "input_tokens",
)
GOOGLE = CountForm(":generateContent", ":countTokens", None, "totalTokens", "generateContentRequest")
OPENAI = CountForm(
    RESPONSES,
    f"{RESPONSES}/input_tokens",
    frozenset(("model", "input", "tools", "tool_choice", "parallel_tool_calls", "reasoning", "text")),
    "input_tokens",
)
_CHAT_PARAMETERS = frozenset(("model", "messages", "tools", "tool_choice", "chat_template_kwargs"))
VLLM = CountForm(f"/v1{CHAT}", "/tokenize", _CHAT_PARAMETERS, "count")
LLAMA_CPP = CountForm(CHAT, f"{CHAT}/input_tokens", _CHAT_PARAMETERS, "input_tokens")
"""Only a server that is known as llama.cpp is asked this: another one may take the address for that of its
chat, and charge for a reply."""


class TokenCounter:
    """Counts by one host. Remembers which models have no count."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lacking = LRU[str, set[CountForm]](MODELS, make=lambda model: set())

    async def count(self, model: str, request: HostRequest, limits: Limits) -> int | None:
        """The tokens of `request` by the host; None if it does not say. Raises `ProviderError`."""
        lacking = self._lacking[model]
        for form, asked in _forms(request):
            if form in lacking:
                continue
            if form is LLAMA_CPP and VLLM not in lacking:
                break
            document = await self._document(asked, limits)
            counted = document.get(form.counted)
            if type(counted) is int:
                return counted
            if "error" in document:
                break
            lacking.add(form)
            if form is VLLM and document.get("tokens") != []:
                # llama.cpp has the address too, but finds no text there.
                lacking.add(LLAMA_CPP)
        return None

    async def _document(self, request: HostRequest, limits: Limits) -> Mapping[str, Any]:
        """The reply, empty if the host has no such address or sends no JSON object."""
        try:
            async with self._connection.request(
                "POST", request.url, request.headers, limits, request.body
            ) as response:
                found = [one async for one in response.documents()]
        except ProviderError as exc:
            if isinstance(exc, HostError) and exc.report.status not in WITHOUT_COUNT:
                raise
            if not isinstance(exc, HostError) and exc.kind not in UNREADABLE:
                raise
            return {}
        return found[0] if found and isinstance(found[0], Mapping) else {}


def _forms(request: HostRequest) -> Iterator[tuple[CountForm, HostRequest]]:
    """Yield how a count of `request` may be asked for, and the requests for it, in this order."""
    if urlsplit(request.url).hostname == OFFICIAL:
        request = as_responses(request)
    for form in (ANTHROPIC, GOOGLE, OPENAI, VLLM, LLAMA_CPP):
        # Older versions of vLLM leave tools out of the count.
        if (asked := form.of(request)) is not None and not (form is VLLM and "tools" in request.body):
            yield form, asked
