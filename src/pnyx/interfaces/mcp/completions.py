"""Completions of the arguments of prompts and of the URIs of resources."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from mcp_types import CompleteRequestParams, CompleteResult, Completion, PromptReference

from ... import protocols
from ...core.caching.regex import regex
from ...errors import NotFound, UsageError
from ...providers.embedded.weights import installed
from ...similar import among
from ..service.run_service import RunService
from ..views.catalogue import models_by_name
from .peer import Peer
from .prompts import PROMPTS
from .resources import TEMPLATES

__all__ = ["complete"]

MOST = 100
"""Most values of one completion, in every version of the protocol."""
_START = regex("[a-z0-9]{0,40}")


async def complete(service: RunService, peer: Peer, params: CompleteRequestParams) -> CompleteResult:
    """Return the values that an argument can have, by what is typed of it.

    Raises `NotFound` for an unknown prompt or URI, `UsageError` for an argument that it does not have.
    """
    arguments = _arguments(params)
    name, typed = params.argument.name, params.argument.value
    if name not in arguments:
        raise UsageError(f"there is no argument {name[:80]!r}; the arguments are {', '.join(arguments)}")
    find = FINDERS.get(name)
    values = [] if find is None else await find(service, peer, typed)
    completion = Completion(values=values[:MOST], total=len(values), has_more=len(values) > MOST)
    if name == "run_id" and len(values) > MOST:
        completion.total = None  # only one more than fit was read
    return CompleteResult(completion=completion)


def _arguments(params: CompleteRequestParams) -> Sequence[str]:
    match params.ref:
        case PromptReference(name=name):
            if name not in PROMPTS:
                hint = among(name, PROMPTS, f"the prompts are {', '.join(PROMPTS)}")
                raise NotFound(f"there is no prompt {name[:80]!r}{hint}")
            return tuple(PROMPTS[name].arguments)
        case other:
            if other.uri not in TEMPLATES:
                forms = " and ".join(TEMPLATES)
                raise NotFound(f"there is no resource {other.uri[:80]!r}; resources are {forms}")
            return ("run_id",)


async def _protocols(service: RunService, peer: Peer, typed: str) -> list[str]:
    may = service.permissions(peer.owner).protocol
    return [name for name in protocols.names() if name.startswith(typed) and may(name)]


async def _panels(service: RunService, peer: Peer, typed: str) -> list[str]:
    return [name for name in service.permissions(peer.owner).saved_panels() if name.startswith(typed)]


async def _models(service: RunService, peer: Peer, typed: str) -> list[str]:
    """Complete the last of several models, which commas separate."""
    before, comma, last = typed.rpartition(",")
    here = set(await asyncio.to_thread(installed))
    start = last.lstrip().lower()
    space = last[: len(last) - len(last.lstrip())]
    may = service.permissions(peer.owner).model
    found = [ref for ref in models_by_name(service.settings, here) if may(ref)]
    # A person may not know who hosts a model.
    matches = [ref for ref in found if ref.lower().startswith(start)]
    matches += [ref for ref in found if ref not in matches and start in ref.lower()]
    return [f"{before}{comma}{space}{ref}" for ref in matches]


async def _runs(service: RunService, peer: Peer, typed: str) -> list[str]:
    if not _START.fullmatch(typed):
        return []
    return list(await service.run_ids(peer.owner, typed, MOST + 1))


FINDERS: Mapping[str, Callable[[RunService, Peer, str], Awaitable[list[str]]]] = {
    "run_id": _runs,
    "protocol": _protocols,
    "panel": _panels,
    "models": _models,
}
"""Argument -> its values by what is typed of it. Free text has none."""
