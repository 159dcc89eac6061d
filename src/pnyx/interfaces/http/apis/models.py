"""/v1/models: the models, each a panel."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from .... import protocols
from ....errors import NotFound
from ..errors import Exact
from ..state import owner_of, service_of
from .conversation import PREFIX, unknown_model

__all__ = ["ROUTER"]

ROUTER = APIRouter(prefix="/v1", tags=["completions"])


@ROUTER.get("/models")
async def list_models(request: Request) -> Response:
    """List the names that a request can give as its model.

    They are those in the settings, `pnyx/PROTOCOL[:PRESET]`, and `pnyx/NAME` for a saved panel. A key with
    limits sees those that it may use.
    """
    data = [_model(name) for name in _names(request)]
    first, last = (data[0]["id"], data[-1]["id"]) if data else (None, None)
    return Exact({"object": "list", "data": data, "has_more": False, "first_id": first, "last_id": last})


@ROUTER.get("/models/{model:path}")
async def read_model(request: Request, model: str) -> Response:
    """Return one of the names, which is valid without `pnyx/` too."""
    names = _names(request)
    if not {model, PREFIX + model} & set(names):
        raise NotFound(unknown_model(model, names, service_of(request).settings.run.protocol))
    return Exact(_model(model))


@ROUTER.post("/embeddings", status_code=404)
async def embed() -> Response:
    """Panels have no embeddings: always 404."""
    raise NotFound("pnyx has no embeddings; use a host of an embedding model")


def _names(request: Request) -> list[str]:
    permissions = service_of(request).permissions(owner_of(request))
    names = list(permissions.aliases())
    for protocol in protocols.loaded() if permissions.panel() else ():
        if permissions.protocol(protocol.name):
            names.append(f"{PREFIX}{protocol.name}")
            names += [f"{PREFIX}{protocol.name}:{preset}" for preset in protocol.presets]
    names += [f"{PREFIX}{panel}" for panel in permissions.saved_panels()]
    return list(dict.fromkeys(names))


def _model(name: str) -> dict[str, object]:
    return {
        "id": name,
        "object": "model",
        "created": 0,
        "owned_by": "pnyx",
        "type": "model",
        "display_name": name,
    }
