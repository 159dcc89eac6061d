"""The action of `pnyx serve`."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any

import uvicorn

from .... import protocols
from ....config.schema import Settings
from ....errors import ConfigError
from ....gc_pause import end_delay
from ...access.keys import Keys, new_key
from ...access.permissions import limits_without_key
from ...http.app import open_app
from ...http.listening import listen, server_config
from ...process.open_settings import open_settings, panel_problems
from ...process.stop_signals import stop_signals
from ...records.retention import retention
from ...service.run_service import DRAIN_S, RunService
from ..terminal.log_output import Messages, run_logged
from ..terminal.output import streams
from .server_keys import KeyCommand

__all__ = ["serve"]


def serve(
    host: str | None,
    port: int | None,
    queue: bool | None,
    log_format: str | None,
    quiet: bool,
    **keys: Any,
) -> int:
    output = streams(quiet=quiet)
    overrides = {"host": host, "port": port, "queue": queue}
    settings = open_settings({"serve": overrides, "telemetry": {"log_format": log_format}})
    command = KeyCommand(**keys)
    if command.is_given:
        return command.run(output, settings)
    return run_logged(output, settings, partial(_serve, settings))


async def _serve(settings: Settings, output: Messages) -> int:
    # They would print exceptions with the secrets in them, and a line for each session that they refuse; our
    # messages mask secrets.
    for library in ("uvicorn.error", "mcp"):
        logging.getLogger(library).setLevel(logging.CRITICAL)
    queued = settings.serve.queue
    async with (
        RunService.open(settings, queued=queued, log=output.log) as service,
        retention(service, settings.storage, output.note, output.error),
    ):
        # A log is kept, and read by many: no key is in it.
        names = [key.name for key in await service.keys.stored()]
        keyless = not names
        temporary_key = new_key() if keyless and output.log is None else None
        if keyless and not _loopback(settings.serve.host):
            raise ConfigError(
                f"{settings.serve.host} can be reached from other machines, so create an API key first: "
                "pnyx serve --new-key NAME"
            )
        for name in limits_without_key(settings, names):
            output.error(
                f"[serve.keys.{name}] limits no key yet; create it with: pnyx serve --new-key {name}"
            )
        for problem in panel_problems(settings):
            output.error(f"{problem} (requests that need it are refused)")
        keys = Keys(service, temporary_key)
        protocols.loaded()  # before clients take the descriptors that this needs
        with listen(settings) as listener:
            async with open_app(service, keys) as app:
                address, port = listener.getsockname()[:2]
                url = f"http://{f'[{address}]' if ':' in address else address}:{port}"
                output.note(f"listening on {url} · API reference: {url}/openapi.json")
                if queued:
                    output.note("runs are queued for `pnyx worker`")
                if keyless and output.log is not None:
                    output.error("no API key exists, so none can ask; create one: pnyx serve --new-key NAME")
                if temporary_key is not None:
                    output.note(f"API key, valid until this server stops: {temporary_key}")
                # Browsers do not send the part after "#", so the key is in no request and no log.
                output.note(f"web page: {url}/{f'#key={temporary_key}' if temporary_key else ''}")
                end_delay()
                config = server_config(app, listener, round(DRAIN_S) + 1)
                await _Server(config, service).serve(sockets=[listener])
    if queued:
        output.note("stopped; workers continue the runs")
    else:
        output.note("stopped; list the runs that can be resumed with: pnyx runs --status paused")
    return 0


class _Server(uvicorn.Server):
    """Pauses the runs when the server is asked to stop, and waits for their calls in flight."""

    def __init__(self, config: uvicorn.Config, service: RunService) -> None:
        super().__init__(config)
        self._service = service
        self._loop = asyncio.get_running_loop()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        with super().capture_signals():
            # uvicorn knows no SIGHUP, which would end the process at once.
            earlier = {number: signal.signal(number, self.handle_exit) for number in stop_signals()}
            try:
                yield
            finally:
                for number, handler in earlier.items():
                    signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # uvicorn's own handler would raise the signal again at the end, which kills the process.
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True
        self._loop.call_soon_threadsafe(self._drain)

    def _drain(self) -> None:
        if self.force_exit:
            self._service.drain(0.0)
        elif not self._service.draining:
            self._service.drain()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        # Also those that no client follows: a call that is killed is paid for, and asked again.
        await self._service.drained()


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
