"""One MCP connection that serves the tools over any transport.

Importing the package `mcp` also imports Starlette, sse_starlette and uvicorn, because its `__init__` imports
its HTTP servers. Over stdio they are useless, so this module implements the protocol with the package's wire
types alone (`mcp_types`, a separate distribution). `tests/interfaces/mcp/test_connection.py` compares its
responses with those of the package's server.

The protocol has two eras, and a client's first request decides which one its connection uses. Up to
2025-11-25 a client starts with `initialize`; from 2026-07-28 on, each request carries the version.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
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
    ClientCapabilities,
    DiscoverResult,
    ElicitRequestFormParams,
    ElicitResult,
    EmptyResult,
    ErrorData,
    Implementation,
    InitializeRequestParams,
    InitializeResult,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    ProgressNotification,
    ProgressNotificationParams,
    Result,
    ServerNotification,
    jsonrpc_message_adapter,
)
from mcp_types.methods import serialize_server_result, validate_client_request
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from ..._version import __version__
from ..access.keys import LOCAL
from ..requests.bugs import log_bug
from ..requests.json_body import explain
from ..service.run_service import DRAIN_S, RunService
from .catalogue import INSTRUCTIONS, TITLE
from .malformed import refusal_of
from .methods import METHODS, RefusedError, capabilities, perform
from .peer import Peer, Session

__all__ = ["Connection"]

LOG = logging.getLogger("pnyx.mcp")
LAST_S = 1.0
"""Seconds for sending the error responses of calls that end with the connection."""
CLOSED = ErrorData(code=CONNECTION_CLOSED, message="Connection closed")
SERVER = Implementation(name="pnyx", version=__version__, title=TITLE)


class InvalidRequestError(Exception):
    """A request is not one of this connection. error: the JSON-RPC error of its response."""

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
        self._client = ClientCapabilities()
        """What `initialize` declared."""
        self._session: Session | None = None
        self._requests: dict[str, asyncio.Future[JSONRPCResponse | JSONRPCError]] = {}
        """Our requests that the client has not answered."""
        self._ended = False
        self._numbers = itertools.count(1)

    async def serve(self, lines: AsyncIterable[str | None]) -> None:
        """Answer messages until `lines` ends, and then the calls under way, if their runs end in time.

        lines: None for one that is too long.
        """
        async with Session.open() as self._session, anyio.create_task_group() as calls:
            async for line in lines:
                try:
                    message = jsonrpc_message_adapter.validate_json(line or "", by_name=False)
                except ValidationError:
                    if (refused := refusal_of(line)) is not None:
                        await self._write(refused)
                    continue
                match message:
                    case JSONRPCRequest() if str(message.id) in self._in_flight:
                        pass  # sent again: its response is on its way, and is not to be paid twice
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
                    case JSONRPCResponse() | JSONRPCError():
                        answered = self._requests.get(str(message.id))
                        if answered is not None and not answered.done():
                            answered.set_result(message)
                    case _:
                        pass  # other notifications change nothing here
            self._ended = True
            for answer in self._requests.values():
                if not answer.done():
                    answer.set_result(_unanswered())
            calls.cancel_scope.deadline = anyio.current_time() + DRAIN_S + LAST_S

    async def _answer(self, request: JSONRPCRequest, scope: anyio.CancelScope) -> None:
        """Send the response to a request, unless the client has cancelled it."""
        answer: JSONRPCResponse | JSONRPCError | None = None
        try:
            with scope:
                result = await self._result(request.method, request.params or {}, request.id)
                answer = JSONRPCResponse(jsonrpc="2.0", id=request.id, result=result)
        except anyio.get_cancelled_exc_class():
            if not scope.cancel_called:
                with anyio.move_on_after(LAST_S, shield=True):
                    await self._write(JSONRPCError(jsonrpc="2.0", id=request.id, error=CLOSED))
            raise
        except Exception as exc:
            answer = JSONRPCError(jsonrpc="2.0", id=request.id, error=self._error(exc, request.method))
        finally:
            if self._in_flight.get(str(request.id)) is scope:
                del self._in_flight[str(request.id)]
        if answer is not None and not scope.cancel_called:
            await self._write(answer)

    async def _result(self, method: str, params: Mapping[str, Any], number: str | int) -> dict[str, Any]:
        """Return the result of a request in its version of the protocol. Raises `InvalidRequestError`."""
        version = self._version_of(method, params)
        try:
            validate_client_request(method, version, params)
        except KeyError:
            raise InvalidRequestError(METHOD_NOT_FOUND, "Method not found", method) from None
        result = await self._handle(method, params, version, number)
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

    async def _handle(
        self, method: str, params: Mapping[str, Any], version: str, number: str | int
    ) -> Result:
        if method == "initialize":
            return self._initialize(params)
        if method == "ping":
            return EmptyResult()
        if method != "server/discover" and method not in METHODS:
            raise InvalidRequestError(METHOD_NOT_FOUND, "Method not found", method)
        if self._era == "handshake" and self._version is None:
            raise InvalidRequestError(INVALID_PARAMS, "the client has not sent `initialize`", "")
        if method == "server/discover":
            return DiscoverResult(
                supported_versions=list(MODERN_PROTOCOL_VERSIONS),
                capabilities=capabilities(modern=True),
                instructions=INSTRUCTIONS,
            )
        typed = METHODS[method].params.model_validate(params, by_name=False)
        return await perform(method, self._service, self._peer(params, typed, version, number), typed)

    def _peer(self, params: Mapping[str, Any], typed: Any, version: str, number: str | int) -> Peer:
        """The client of one request."""
        meta = params.get("_meta") or {}
        declared = self._client
        if self._era == "envelope":
            declared = ClientCapabilities.model_validate(meta[CLIENT_CAPABILITIES_META_KEY], by_name=False)
        return Peer(
            owner=LOCAL,  # the user who started this process owns its runs
            version=version,
            channel=_Channel(self, meta.get("progressToken")),
            capabilities=declared,
            meta=meta,
            answers=dict(getattr(typed, "input_responses", None) or {}),
            state=getattr(typed, "request_state", None),
            request_id=number,
            session=self._session if self._era == "handshake" else None,
            local=True,
            push=self.notify,
        )

    def _initialize(self, params: Mapping[str, Any]) -> InitializeResult:
        hello = InitializeRequestParams.model_validate(params, by_name=False)
        self._client, requested = hello.capabilities, hello.protocol_version
        self._version = requested if requested in HANDSHAKE_PROTOCOL_VERSIONS else LATEST_HANDSHAKE_VERSION
        return InitializeResult(
            protocol_version=self._version,
            capabilities=capabilities(modern=False),
            server_info=SERVER,
            instructions=INSTRUCTIONS,
        )

    def _version_of(self, method: str, params: Mapping[str, Any]) -> str:
        """Return the protocol version of a request. Raises `InvalidRequestError`."""
        meta = params.get("_meta")
        enveloped = method != "initialize" and isinstance(meta, Mapping) and PROTOCOL_VERSION_META_KEY in meta
        if self._era is None:
            self._era = "envelope" if enveloped else "handshake"
        if self._era == "handshake":
            if enveloped:
                raise InvalidRequestError(
                    INVALID_REQUEST,
                    "this connection serves the handshake protocol era; requests carrying the 2026-07-28 "
                    "envelope are not accepted on it",
                )
            return self._version or LATEST_HANDSHAKE_VERSION
        supported = list(MODERN_PROTOCOL_VERSIONS)
        if method == "initialize":
            raise InvalidRequestError(
                UNSUPPORTED_PROTOCOL_VERSION,
                "connection is serving the 2026-07-28 protocol; the initialize handshake is not accepted",
                {"supported": supported, "requested": params.get("protocolVersion")},
            )
        return _envelope_version(meta if isinstance(meta, Mapping) else {}, supported)

    async def notify(self, notification: ServerNotification) -> None:
        """Send a notification."""
        document = notification.model_dump(by_alias=True, mode="json", exclude_none=True)
        await self._write(
            JSONRPCNotification(jsonrpc="2.0", method=document["method"], params=document.get("params"))
        )

    async def request(self, method: str, params: dict[str, Any]) -> JSONRPCResponse | JSONRPCError:
        """Send a request, and return the client's response. If this is cancelled, so is the request.

        Returns an error if the client can answer no more.
        """
        if self._ended:
            return _unanswered()
        number = f"pnyx-{next(self._numbers)}"
        answer: asyncio.Future[JSONRPCResponse | JSONRPCError] = asyncio.get_running_loop().create_future()
        self._requests[number] = answer
        try:
            await self._write(JSONRPCRequest(jsonrpc="2.0", id=number, method=method, params=params))
            return await answer
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(LAST_S, shield=True):
                left = {"requestId": number, "reason": "the call is over"}
                await self._write(
                    JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params=left)
                )
            raise
        finally:
            del self._requests[number]

    def _error(self, exc: Exception, method: str) -> ErrorData:
        match exc:
            case InvalidRequestError():
                return exc.error
            case RefusedError():
                return ErrorData(code=exc.code, message=str(exc))
            case ValidationError():
                why = explain(exc.errors(include_url=False))
                return ErrorData(code=INVALID_PARAMS, message=f"invalid parameters: {why}", data="")
            case _:
                log_bug(LOG, method, exc, self._service.redact)
                return ErrorData(code=INTERNAL_ERROR, message=f"this is a bug in pnyx: {type(exc).__name__}")

    async def _write(
        self, message: JSONRPCResponse | JSONRPCError | JSONRPCNotification | JSONRPCRequest
    ) -> None:
        await self._send(message.model_dump_json(by_alias=True, exclude_unset=True))


class _Channel:
    """What this server can send while it answers a request. token: of the progress that its client wants."""

    def __init__(self, connection: Connection, token: Any) -> None:
        self._connection, self.notify = connection, connection.notify
        self._token = token if isinstance(token, str | int) and not isinstance(token, bool) else None

    async def progress(self, progress: float, total: float | None, message: str) -> None:
        if self._token is not None:
            params = ProgressNotificationParams(
                progress_token=self._token, progress=progress, total=total, message=message
            )
            await self._connection.notify(ProgressNotification(params=params))

    async def elicit(self, params: ElicitRequestFormParams) -> ElicitResult | None:
        document = params.model_dump(by_alias=True, mode="json", exclude_none=True)
        answer = await self._connection.request("elicitation/create", document)
        if isinstance(answer, JSONRPCError):
            return None
        try:
            return ElicitResult.model_validate(answer.result, by_name=False)
        except ValidationError:
            return None


def _unanswered() -> JSONRPCError:
    """What a request of ours gets when the client has closed its side."""
    return JSONRPCError(jsonrpc="2.0", id=None, error=CLOSED)


def _envelope_version(meta: Mapping[str, Any], supported: list[str]) -> str:
    """Return the version in a request's `_meta`. Raises `InvalidRequestError`."""
    keys = (PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY)
    if missing := [key for key in keys if key not in meta]:
        raise InvalidRequestError(
            INVALID_PARAMS, f"params._meta is missing the required envelope key(s): {', '.join(missing)}"
        )
    version = meta[PROTOCOL_VERSION_META_KEY]
    if not isinstance(version, str):
        raise InvalidRequestError(INVALID_PARAMS, f"{PROTOCOL_VERSION_META_KEY} must be a string")
    if version not in supported:
        raise InvalidRequestError(
            UNSUPPORTED_PROTOCOL_VERSION,
            "Unsupported protocol version",
            {"supported": supported, "requested": version},
        )
    return version
