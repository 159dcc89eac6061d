"""The models that a host lists: a request that needs the key, is free of charge and runs no model.

It uses the same session, proxy and certificates as a call, and loads no SDK.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from ...errors import ProviderError
from .connection import Connection, Limits
from .failures import one_line

__all__ = ["list_models"]


@dataclass(frozen=True, slots=True)
class _ListingRequest:
    """How a dialect requests its list. version: what its SDK adds to a base URL that does not end in it.

    query: requests all models on one page. headers: the key's, and others that the host requires.
    """

    version: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=lambda: {"Authorization": "Bearer {key}"})


_REQUESTS = {
    "anthropic": _ListingRequest(
        "/v1", {"limit": "1000"}, {"x-api-key": "{key}", "anthropic-version": "2023-06-01"}
    ),
    "google": _ListingRequest("/v1beta", {"pageSize": "1000"}, {"x-goog-api-key": "{key}"}),
    "mistral": _ListingRequest("/v1"),
}


async def list_models(kind: str, *, base_url: str, api_key: str | None = None) -> frozenset[str]:
    """The names of the models that a host of `kind` lists; none if its list has an unknown form.

    Raises `ProviderError` as a call does; "not_found" or "malformed" if the address has no list, as with some
    hosts. It waits as long as a call may: the caller sets a limit.
    """
    request = _REQUESTS.get(kind, _ListingRequest())
    url = urlsplit(base_url)
    root = url.path.rstrip("/").removesuffix(request.version)
    query = "&".join(filter(None, (url.query, urlencode(request.query))))
    # The SDKs send this too without a key.
    key = api_key or "none"
    headers = [(name, value.format(key=key)) for name, value in request.headers.items()]
    address = urlunsplit((url.scheme, url.netloc, f"{root}{request.version}/models", query, ""))
    connection = Connection(base_url)
    try:
        async with connection.request("GET", address, headers, Limits()) as response:
            return frozenset([name async for document in response.documents() for name in _names(document)])
    except ProviderError as exc:
        # The original may quote the request with its key, so it is not chained.
        raise ProviderError(exc.kind, one_line(str(exc), (key,) if api_key else ())) from None
    finally:
        await connection.close()


def _names(document: Any) -> Iterator[str]:
    if isinstance(document, dict):
        document = document.get("data") or document.get("models") or document
    for model in document if isinstance(document, list) else [document]:
        name = (model.get("id") or model.get("name")) if isinstance(model, dict) else None
        if isinstance(name, str):
            yield name.removeprefix("models/")
