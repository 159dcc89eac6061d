"""`GET /metrics` of a worker, which has no other page."""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from ...errors import UsageError
from ..access.keys import Keys
from ..service.run_service import RunService

__all__ = ["open_worker_metrics"]

LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))


@asynccontextmanager
async def open_worker_metrics(service: RunService) -> AsyncIterator[str | None]:
    """Serve the metrics of this process in the block, if the settings say where. Yields their address.

    The rule of access is that of the server: a key, or a request from this machine. Raises `UsageError`.
    """
    chosen = service.settings.telemetry
    if chosen.worker_port is None or not chosen.prometheus:
        yield None
        return
    keys = Keys(service)

    async def page(request: web.Request) -> web.Response:
        if not (chosen.open_metrics or _is_local(request)):
            scheme, _, key = request.headers.get("Authorization", "").partition(" ")
            if scheme.lower() != "bearer" or await keys.owner(key.strip()[:400]) is None:
                headers = {"WWW-Authenticate": 'Bearer realm="pnyx"'}
                return web.Response(status=401, text="a key is required\n", headers=headers)
        assert service.telemetry is not None, "the setting opens it"
        found = await service.telemetry.metrics_page(request.headers.get("Accept", ""))
        assert found is not None, "the setting opens it"
        return web.Response(body=found[0], headers={"Content-Type": found[1]})

    app = web.Application()
    app.router.add_get("/metrics", page)
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, chosen.worker_host, chosen.worker_port)
        try:
            await site.start()
        except OSError as exc:
            where = f"{chosen.worker_host} port {chosen.worker_port}"
            raise UsageError(
                f"cannot listen on {where}, see [telemetry] worker_port: {exc.strerror}"
            ) from exc
        host, port = runner.addresses[0][:2]
        yield f"http://{f'[{host}]' if ':' in host else host}:{port}/metrics"
    finally:
        await runner.cleanup()


def _is_local(request: web.Request) -> bool:
    """Whether a program of this machine sent the request itself: it comes from no page and no proxy."""
    peer = request.remote
    through = any(name in request.headers for name in ("Origin", "Forwarded", "X-Forwarded-For", "Via"))
    # A page that a browser has open can send requests here under a name of its own.
    named = request.url.host in LOOPBACK
    return peer is not None and ipaddress.ip_address(peer).is_loopback and named and not through
