"""Which models a host lists: the one request that needs the key, costs nothing and asks no model.

It leaves through the same session, proxy and certificates as a call, and no SDK is loaded for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2

from ...errors import ProviderError
from .dialects import DIALECTS
from .http_errors import plain
from .transport import MOST_BYTES, READ_S, WIRE, Transport, Wire

__all__ = ["list_models"]


@dataclass(frozen=True, slots=True)
class _Way:
    """How a dialect asks for its list. version: what its SDK adds to a base URL that does not end so.

    query: asks for all on one page. headers: the key's, and what else has to be there.
    """

    version: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=lambda: {"Authorization": "Bearer {key}"})


_WAYS = {
    "anthropic": _Way("/v1", {"limit": "1000"}, {"x-api-key": "{key}", "anthropic-version": "2023-06-01"}),
    "google": _Way("/v1beta", {"pageSize": "1000"}, {"x-goog-api-key": "{key}"}),
    "mistral": _Way("/v1"),
}


async def list_models(kind: str, *, base_url: str, api_key: str | None = None) -> frozenset[str]:
    """The names of the models that a host of `kind` lists; none where its list is of no known shape.

    Raises `ProviderError` as a call would; "not_found" and "malformed" where the address has no listing,
    which some hosts do without. It waits as long as a call may: the caller bounds it.
    """
    meter, way = DIALECTS[kind].meter, _WAYS.get(kind, _Way())
    root = base_url.rstrip("/")
    # The SDKs send this too where there is no key.
    key = api_key or "none"
    wire = Wire(MOST_BYTES, MOST_BYTES, READ_S, marks=MOST_BYTES)
    token = WIRE.set(wire)
    try:
        async with httpx2.AsyncClient(transport=Transport(root, meter), timeout=None) as client:
            response = await client.get(
                f"{root.removesuffix(way.version)}{way.version}/models",
                params=dict(way.query),
                headers={
                    "Accept-Encoding": "gzip, deflate",
                    **{name: value.format(key=key) for name, value in way.headers.items()},
                },
            )
        if wire.failure is None:
            return frozenset(_names(response.content))
    except httpx2.HTTPError as exc:
        wire.failure = wire.failure or ProviderError("unreachable", f"cannot connect: {exc}")
    except (ValueError, RecursionError):
        wire.failure = ProviderError("malformed", "the answer is not JSON")
    finally:
        WIRE.reset(token)
    # What the client raised may quote the request with its key, so it is not chained.
    raise ProviderError(wire.failure.kind, plain(str(wire.failure), (key,) if api_key else ())) from None


def _names(raw: bytes) -> Iterator[str]:
    document: Any = json.loads(raw)
    if isinstance(document, dict):
        document = document.get("data") or document.get("models")
    for model in document if isinstance(document, list) else ():
        name = (model.get("id") or model.get("name")) if isinstance(model, dict) else None
        if isinstance(name, str):
            yield name.removeprefix("models/")
