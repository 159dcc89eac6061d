"""One MCP connection that serves the tools over any transport.

Importing the package `mcp` also imports Starlette, sse_starlette and uvicorn, because its `__init__` imports
its HTTP servers. Over stdio they are useless, so this module implements the protocol with the package's wire
types alone (`mcp_types`, a separate distribution). `tests/interfaces/mcp/test_connection.py` compares its
responses with those of the package's server.

The protocol has two eras, and a client's first request decides which one its connection uses. Up to
2025-11-25 a client starts with `initialize`; from 2026-07-28 on, each request carries the version.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping
from typing import Any, Literal

import anyio
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PROTOCOL_VERSION_META_KEY,
    SERVER_INFO_META_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
    CallToolRequestParams,
    DiscoverResult,
    EmptyResult,
    ErrorData,
    Implementation,
    InitializeRequestParams,
    InitializeResult,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    ListToolsResult,
    Result,
    ServerCapabilities,
    ToolsCapability,
    jsonrpc_message_adapter,
)
from mcp_types.methods import serialize_server_result, validate_client_request
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from ..._version import __version__
from ...errors import NotFound
from ..keys import LOCAL
from ..service import RunService
from .catalogue import INSTRUCTIONS, call_tool, list_tools
from .tools import Caller

__all__ = ["Connection"]

LOG = logging.getLogger("pnyx.mcp")
LAST_S = 1.0
"""Seconds for sending the error responses of calls that end with the connection."""
SERVER = Implementation(name="pnyx", version=__version__)
CAPABILITIES = ServerCapabilities(tools=ToolsCapability(list_changed=False))


class RefusedError(Exception):
    """A request is refused. error: the JSON-RPC error of its response."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        fields = {} if data is None else {"data": data}
        self.error = ErrorData(code=code, message=message, **fields)


class Connection:
    """Serves one client. send: writes one message, a line of JSON. Tool calls run concurrently."""

    def __init__(self, service: RunService, send: Callable[[str], Awaitable[None]]) -> None:
        self._service, self._send = service, send
        self._in_flight: dict[str, anyio.CancelScope] = {}
        self._era: Literal["handshake", "envelope"] | None = None
        self._version: str | None = None
        """The version that `initialize` negotiated."""

    async def serve(self, lines: AsyncIterable[str]) -> None:
        """Answer messages until `lines` ends; calls still under way are then cancelled."""
        async with anyio.create_task_group() as calls:
            async for line in lines:
                try:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValidationError:
                    continue  # not a message, so there is no id to answer
                match message:
                    case JSONRPCRequest():
                        scope = self._in_flight[str(message.id)] = anyio.CancelScope()
                        if message.method == "initialize":
                            # The negotiated version applies to the next message.
                            await self._answer(message, scope)
                        else:
                            calls.start_soon(self._answer, message, scope)
                    case JSONRPCNotification(method="notifications/cancelled"):
                        cancelled = self._in_flight.get(str((message.params or {}).get("requestId")))
                        if cancelled is not None:
                            cancelled.cancel()
                    case _:
                        pass  # the server sends no requests, and ignores other notifications
            calls.cancel_scope.cancel()

    async def _answer(self, request: JSONRPCRequest, scope: anyio.CancelScope) -> None:
        """Send the response to a request, unless the client has cancelled it."""
        answer: JSONRPCResponse | JSONRPCError | None = None
        try:
            with scope:
                result = await self._result(request.method, request.params or {})
                answer = JSONRPCResponse(jsonrpc="2.0", id=request.id, result=result)
        except anyio.get_cancelled_exc_class():
            if not scope.cancel_called:
                closed = ErrorData(code=CONNECTION_CLOSED, message="Connection closed")
                with anyio.move_on_after(LAST_S, shield=True):
                    await self._write(JSONRPCError(jsonrpc="2.0", id=request.id, error=closed))
            raise
        except Exception as exc:
            answer = JSONRPCError(jsonrpc="2.0", id=request.id, error=self._error(exc, request.method))
        finally:
            if self._in_flight.get(str(request.id)) is scope:
                del self._in_flight[str(request.id)]
        if answer is not None and not scope.cancel_called:
            await self._write(answer)

    async def _result(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result of a request in its version of the protocol. Raises `RefusedError`."""
        version = self._version_of(method, params)
        try:
            validate_client_request(method, version, params)
        except KeyError:
            raise RefusedError(METHOD_NOT_FOUND, "Method not found", method) from None
        result = await self._handle(method, params, version)
        document = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        try:
            document = serialize_server_result(method, version, document)
        except ValidationError as exc:
            # The request was valid, so this is a bug here.
            raise RuntimeError(f"the result of {method} does not fit {version}") from exc
        if version in MODERN_PROTOCOL_VERSIONS:
            document.setdefault("resultType", "complete")
            stamp = {SERVER_INFO_META_KEY: SERVER.model_dump(by_alias=True, mode="json", exclude_none=True)}
            document["_meta"] = document.get("_meta", {}) | stamp
        return document

    async def _handle(self, method: str, params: Mapping[str, Any], version: str) -> Result:
        if method == "initialize":
            return self._initialize(params)
        if method == "ping":
            return EmptyResult()
        if method not in ("server/discover", "tools/list", "tools/call"):
            raise RefusedError(METHOD_NOT_FOUND, "Method not found", method)
        if self._era == "handshake" and self._version is None:
            raise RefusedError(INVALID_PARAMS, "Invalid request parameters", "")
        if method == "server/discover":
            return DiscoverResult(
                supported_versions=list(MODERN_PROTOCOL_VERSIONS),
                capabilities=CAPABILITIES,
                instructions=INSTRUCTIONS,
            )
        if method == "tools/list":
            return ListToolsResult(tools=list_tools())
        call = CallToolRequestParams.model_validate(params, by_name=False)
        # The user who started this process owns its runs.
        caller = Caller(self._service, LOCAL, self._reporter(params))
        try:
            return await call_tool(caller, call.name, call.arguments)
        except NotFound as exc:
            raise RefusedError(INVALID_PARAMS, str(exc)) from None

    def _initialize(self, params: Mapping[str, Any]) -> InitializeResult:
        requested = InitializeRequestParams.model_validate(params, by_name=False).protocol_version
        self._version = requested if requested in HANDSHAKE_PROTOCOL_VERSIONS else LATEST_HANDSHAKE_VERSION
        return InitializeResult(
            protocol_version=self._version,
            capabilities=CAPABILITIES,
            server_info=SERVER,
            instructions=INSTRUCTIONS,
        )

    def _version_of(self, method: str, params: Mapping[str, Any]) -> str:
        """Return the protocol version of a request. Raises `RefusedError`."""
        meta = params.get("_meta")
        enveloped = method != "initialize" and isinstance(meta, Mapping) and PROTOCOL_VERSION_META_KEY in meta
        if self._era is None:
            self._era = "envelope" if enveloped else "handshake"
        if self._era == "handshake":
            if enveloped:
                raise RefusedError(
                    INVALID_REQUEST,
                    "this connection serves the handshake protocol era; requests carrying the 2026-07-28 "
                    "envelope are not accepted on it",
                )
            return self._version or LATEST_HANDSHAKE_VERSION
        supported = list(MODERN_PROTOCOL_VERSIONS)
        if method == "initialize":
            raise RefusedError(
                UNSUPPORTED_PROTOCOL_VERSION,
                "connection is serving the 2026-07-28 protocol; the initialize handshake is not accepted",
                {"supported": supported, "requested": params.get("protocolVersion")},
            )
        return _envelope_version(meta if isinstance(meta, Mapping) else {}, supported)

    def _reporter(self, params: Mapping[str, Any]) -> Callable[[float, None, str], Awaitable[None]]:
        """Sends progress of a call, where its client has asked for that."""
        token = (params.get("_meta") or {}).get("progressToken")
        wanted = isinstance(token, str | int) and not isinstance(token, bool)

        async def report(progress: float, total: None, message: str) -> None:
            if wanted:
                step = {"progressToken": token, "progress": progress, "message": message}
                await self._write(
                    JSONRPCNotification(jsonrpc="2.0", method="notifications/progress", params=step)
                )

        return report

    def _error(self, exc: Exception, method: str) -> ErrorData:
        match exc:
            case RefusedError():
                return exc.error
            case ValidationError():
                return ErrorData(code=INVALID_PARAMS, message="Invalid request parameters", data="")
            case _:
                trace = self._service.redact("".join(traceback.format_exception(exc)))
                LOG.error("%s\n%s", method, trace)
                return ErrorData(code=INTERNAL_ERROR, message=f"this is a bug in pnyx: {type(exc).__name__}")

    async def _write(self, message: JSONRPCResponse | JSONRPCError | JSONRPCNotification) -> None:
        await self._send(message.model_dump_json(by_alias=True, exclude_unset=True))


def _envelope_version(meta: Mapping[str, Any], supported: list[str]) -> str:
    """Return the version in a request's `_meta`. Raises `RefusedError`."""
    keys = (PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY)
    if missing := [key for key in keys if key not in meta]:
        raise RefusedError(
            INVALID_PARAMS, f"params._meta is missing the required envelope key(s): {', '.join(missing)}"
        )
    version = meta[PROTOCOL_VERSION_META_KEY]
    if not isinstance(version, str):
        raise RefusedError(INVALID_PARAMS, f"{PROTOCOL_VERSION_META_KEY} must be a string")
    if version not in supported:
        raise RefusedError(
            UNSUPPORTED_PROTOCOL_VERSION,
            "Unsupported protocol version",
            {"supported": supported, "requested": version},
        )
    return version
