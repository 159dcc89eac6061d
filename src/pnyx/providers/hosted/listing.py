"""The models that a host lists: a request that needs the key, is free of charge and runs no model.

It uses the same session, proxy and certificates as a call, and loads no SDK.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2

from ...errors import ProviderError
from .dialects import DIALECTS
from .http_errors import one_line
from .transport import MAX_BYTES, READ_S, WIRE, Transport, Wire

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
    meter, request = DIALECTS[kind].meter, _REQUESTS.get(kind, _ListingRequest())
    root = base_url.rstrip("/")
    # The SDKs send this too without a key.
    key = api_key or "none"
    wire = Wire(MAX_BYTES, MAX_BYTES, READ_S, marks=MAX_BYTES)
    token = WIRE.set(wire)
    try:
        async with httpx2.AsyncClient(transport=Transport(root, meter), timeout=None) as client:
            response = await client.get(
                f"{root.removesuffix(request.version)}{request.version}/models",
                params=dict(request.query),
                headers={
                    "Accept-Encoding": "gzip, deflate",
                    **{name: value.format(key=key) for name, value in request.headers.items()},
                },
            )
        if wire.failure is None:
            return frozenset(_names(response.content))
    except httpx2.HTTPError as exc:
        wire.failure = wire.failure or ProviderError("unreachable", f"cannot connect: {exc}")
    except (ValueError, RecursionError):
        wire.failure = ProviderError("malformed", "the reply is not JSON")
    finally:
        WIRE.reset(token)
    # The client's exception may quote the request with its key, so it is not chained.
    raise ProviderError(wire.failure.kind, one_line(str(wire.failure), (key,) if api_key else ())) from None


def _names(raw: bytes) -> Iterator[str]:
    document: Any = json.loads(raw)
    if isinstance(document, dict):
        document = document.get("data") or document.get("models")
    for model in document if isinstance(document, list) else ():
        name = (model.get("id") or model.get("name")) if isinstance(model, dict) else None
        if isinstance(name, str):
            yield name.removeprefix("models/")
