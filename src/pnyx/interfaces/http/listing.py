"""What can be asked for: protocols, and the panels that go as models of OpenAI's interface."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from ... import protocols
from .errors import Exact

__all__ = ["ROUTER"]

ROUTER = APIRouter(prefix="/v1", tags=["server"])


@ROUTER.get("/protocols")
async def list_protocols() -> Response:
    """The protocols with their options, presets and quorum."""
    return Exact([_protocol(name) for name in protocols.names()])


@ROUTER.get("/models")
async def list_models() -> Response:
    """Panels by the names that /v1/chat/completions knows them by: `pnyx/PROTOCOL[:PRESET]`."""
    names = []
    for name in protocols.names():
        names += [f"pnyx/{name}", *(f"pnyx/{name}:{preset}" for preset in protocols.get(name).presets)]
    data = [{"id": name, "object": "model", "created": 0, "owned_by": "pnyx"} for name in names]
    return Exact({"object": "list", "data": data})


def _protocol(name: str) -> dict[str, Any]:
    page = protocols.get(name)
    return {
        "name": name,
        "summary": page.summary,
        "quorum": page.quorum,
        "takes_responses": page.quorum_given is not None,
        "options": {key: option.default for key, option in page.options.items()},
        "presets": {key: dict(options) for key, options in page.presets.items()},
    }
