"""One request and its run: started or joined, waited for or streamed, and answered in the API's form."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from sse_starlette import EventSourceResponse
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ....core.events import Event, PhaseEntered, RunFinished
from ....errors import FileProblem, Forbidden, PnyxError, StoreError, UsageError
from ....run.batch import failure
from ....run.broadcast import TextWanted
from ....run.result import Result
from ....run.spec import Spec
from ...requests.option_names import with_requests
from ...service.follow import wait_for_result, wait_unless_disconnected, watch
from ...service.run_service import RunService
from ...views.transcript import Transcript, location
from ..errors import Exact, error_response, refusal
from ..state import client_left, leaves_at_half_close, owner_of, page_of, service_of, wait_for_disconnect
from ..streaming import ServerSentEvent, event_source, run_headers
from .answer import Answer, pieces
from .conversation import Conversation, RefusedError, refuse
from .deltas import Deltas
from .retries import KEY, Retries
from .shapes import error_of

__all__ = ["Delta", "Exchange", "Step", "Steps", "Writer"]

FAILURES = {"budget": 402, "deadline": 504, "interrupted": 503}
"""Stop reason -> HTTP status; any other is 502."""
SILENT_S = 60.0
"""Seconds without a result after which a response begins with white space: clients give up on silence."""
SPACE_S = 15.0
PING_S = 5
WARNING = "X-Pnyx-Warning"
"""The header that says what of a request is left out."""
REPLACED = (
    "the model that was writing the answer broke off, and the answer of run {0} is another text; send the "
    "request again to get it, which costs nothing"
)
LINE = 160
"""Characters of a reply in the line about a step."""


@dataclass(frozen=True, slots=True)
class Step:
    """One line about what the panel has just done."""

    line: str


@dataclass(frozen=True, slots=True)
class Delta:
    """The next piece of the answer's text."""

    text: str


Steps = AsyncIterator["Step | Delta | Answer"]
"""The steps of a run, then the text of its answer in pieces, then the answer."""
Writer = Callable[[Steps], AsyncIterator[ServerSentEvent]]
"""Makes the messages of a stream, in the form of an API."""


@dataclass(frozen=True)
class Exchange:
    """A request to one of the APIs. problem: makes the last messages of a stream of an error in its form."""

    request: Request
    conversation: Conversation
    problem: Callable[[Mapping[str, Any]], Sequence[ServerSentEvent]]
    service: RunService = field(init=False)

    def __post_init__(self) -> None:
        service = service_of(self.request)
        object.__setattr__(self, "service", service)
        object.__setattr__(self, "conversation", self.conversation.named(service.settings.serve.models))

    async def start(self, stream: bool | None = False) -> str:
        """Start the run, or join the one that an earlier attempt at this request began. Return its id.

        stream: whether its answer will be streamed.
        """
        leaves_at_half_close(self.request.scope)
        owner = owner_of(self.request)
        settings, model = self.service.settings, self.conversation.model
        alias = model if model in settings.serve.models else None
        request = self.conversation.to_request(
            settings.serve.models, settings.panels, usual=settings.run.protocol
        )
        try:
            spec = await self.service.resolve(request, owner, alias)
            if self.conversation.has_earlier_files:
                spec = await self._with_earlier_files(spec, owner, alias)
        except Forbidden as exc:
            raise RefusedError(str(exc), "model", exc.http_status) from None
        except FileProblem as exc:
            raise refuse(self.conversation.name_of_turns, str(exc)) from None
        spec = replace(spec, salt=self.conversation.salt(self.request.app.state.salt_key, owner))
        body = await self.request.body()
        while True:
            run_id = await self.service.submit(spec, self._retries.name(owner, self.request, body))
            if stream and self._text_wanted and (handle := self.service.handle(run_id)) is not None:
                # Nothing was awaited since the run started, so its first call has not been sent yet.
                handle.stream_text(self._text_wanted)
            if (await self.service.find(run_id, owner)).status != "cancelled" or self._has_key:
                return run_id
            # Its client had left for longer than the grace period: there is no answer to join.
            self._retries.forget(run_id)

    def headers(self, run_id: str) -> dict[str, str]:
        """The headers of a response about a run."""
        tools = self.conversation.tools
        warned = {WARNING: tools.warning} if tools and tools.warning else {}
        return {**run_headers(run_id), **warned}

    async def _with_earlier_files(self, spec: Spec, owner: str, alias: str | None) -> Spec:
        """The spec with the images and documents of earlier turns, if the panel can have them.

        A conversation goes on in text whatever has become of what was shown in it.
        """
        settings = self.service.settings
        request = self.conversation.to_request(settings.serve.models, settings.panels, earlier_files=True)
        with suppress(UsageError):
            return await self.service.resolve(request, owner, alias)
        return spec

    @property
    def _has_key(self) -> bool:
        """Whether the client names the run: then it is that one, whatever became of it."""
        return KEY in self.request.headers

    @property
    def _leaving(self) -> dict[str, Any]:
        """What becomes of the run if the client leaves, as arguments of `watch`."""
        return {"cancel": True, "grace_s": self.service.settings.serve.grace_s}

    @property
    def _text_wanted(self) -> TextWanted:
        """Whether the answer can be sent as it is written: not if it is put into a form when it is there."""
        more = self.conversation.more
        has_form = self.conversation.schema is not None or "answer_schema" in more
        has_tools = bool(self.conversation.tools and self.conversation.tools.tools) or "client_tools" in more
        return False if has_form or has_tools else "answer"

    @property
    def _retries(self) -> Retries:
        retries: Retries = self.request.app.state.retries
        return retries

    async def _delivered(self, run_id: str, failed: bool) -> None:
        """Note that an answer has been sent. A coroutine: any other function runs in a thread, later."""
        self._retries.delivered(run_id, failed)

    async def reply(self, run_id: str, body: Callable[[Answer], dict[str, Any]]) -> Response:
        """Return the response of a run when it is over. body: makes its JSON.

        The head is sent after `SILENT_S` seconds at the latest, with white space until the body is there.
        """
        leaving = wait_for_disconnect(self.request)
        result = await wait_unless_disconnected(
            self.service, run_id, owner_of(self.request), leaving, within=SILENT_S, **self._leaving
        )
        if result is not None:
            return self._response(run_id, result, body)
        if await self.request.is_disconnected():
            return client_left(run_id, "is cancelled", self.headers(run_id))
        return StreamingResponse(
            self._spaced(run_id, body), media_type="application/json", headers=self.headers(run_id)
        )

    async def _spaced(self, run_id: str, body: Callable[[Answer], dict[str, Any]]) -> AsyncIterator[bytes]:
        waiting = wait_for_result(self.service, run_id, owner_of(self.request), **self._leaving)
        result = asyncio.create_task(waiting)
        try:
            while not (await asyncio.wait((result,), timeout=SPACE_S))[0]:
                yield b" "
            try:
                response = self._response(run_id, await result, body)
            except PnyxError as exc:
                response = error_response(exc, self.service.redact, f"run {run_id}")
            if response.status_code >= 400:
                # The head is gone with 200: what is left is to say in the body what it would have said.
                state, path = self.request.scope["state"], self.request.url.path
                document = error_of(path, response.status_code, bytes(response.body), state["request_id"])
                yield json.dumps(document).encode()
            else:
                yield bytes(response.body)
            if response.status_code != 503:
                self._retries.delivered(run_id, response.status_code >= 400)
        finally:
            result.cancel()

    def _response(self, run_id: str, result: Result, body: Callable[[Answer], dict[str, Any]]) -> Exact:
        if refused := self.refusal(result):
            return refused
        content = body(Answer.of(result, self.conversation, page_of(self.request, run_id)))
        response = Exact(content, headers=self.headers(run_id))
        response.background = BackgroundTask(self._delivered, run_id, False)
        return response

    def refusal(self, result: Result) -> Exact | None:
        """The error response of a run without an answer, or None. Repeating the request would not help."""
        why = failure(result)
        if why is None:
            return None
        status, name, param = FAILURES.get(result.stop_reason, 502), result.stop_reason, ""
        settled = status != 503
        message = f"run {result.run_id} {with_requests(self.service.redact(why))}"
        if result.detail.get("too_long"):
            # In the words and codes by which clients know that a shorter conversation may be accepted.
            status, name, param = 400, "context_length_exceeded", self.conversation.name_of_turns
            message = f"prompt is too long: {message}"
        headers = self.headers(result.run_id) | ({"x-should-retry": "false"} if settled else {})
        response = refusal(status, message, headers, type=name, param=param)
        if settled:
            response.background = BackgroundTask(self._delivered, result.run_id, True)
        return response

    def stream(self, run_id: str, write: Writer) -> EventSourceResponse:
        """Return the run as a stream of the API's messages."""

        async def messages() -> AsyncIterator[ServerSentEvent]:
            steps, failed = self._steps(run_id), False
            try:
                async with aclosing(steps):
                    async for message in write(steps):
                        yield message
            except _SettledError as settled:
                for message in self._problem(settled.response):
                    yield message
                if settled.response.status_code == 503:
                    return
                failed = True
            self._retries.delivered(run_id, failed)

        return event_source(
            self.service, messages(), run_id, self._problem, ping=PING_S, headers=self.headers(run_id)
        )

    def _problem(self, response: Exact) -> Sequence[ServerSentEvent]:
        state = self.request.scope["state"]
        path, body = self.request.url.path, bytes(response.body)
        return self.problem(error_of(path, response.status_code, body, state["request_id"]))

    async def _steps(self, run_id: str) -> AsyncGenerator[Step | Delta | Answer, None]:
        view, deltas = Transcript(), Deltas(self.conversation, self.request.app.state.rewriters)
        last: RunFinished | None = None
        reader, wanted = owner_of(self.request), self._text_wanted
        watched = watch(self.service, run_id, reader, tokens=wanted, prompts=False, **self._leaving)
        async with aclosing(watched) as events:
            async for event in events:
                if piece := deltas.add(event):
                    yield Delta(piece)
                # Once the answer is being written, no line about a step can come before it.
                elif not deltas.sent and (line := _line(view, event)):
                    yield Step(line)
                if isinstance(event, RunFinished):
                    last = event
        if last is None or not last.result:
            raise StoreError(
                f"run {run_id} stopped without a result; continue it with `pnyx resume {run_id}`"
            )
        result = Result.from_json(last.result)
        if refused := self.refusal(result):
            raise _SettledError(refused)
        answer = Answer.of(result, self.conversation, page_of(self.request, run_id))
        rest = deltas.rest(answer.text)
        if rest is None:
            raise _SettledError(refusal(503, REPLACED.format(run_id), type="answer_replaced"))
        for piece in pieces(rest + answer.footer):
            yield Delta(piece)
        yield answer


def _line(view: Transcript, event: Event) -> str | None:
    """One line about an event, if it says something to others. view: of the events so far; it is added to."""
    entry = view.add(event)
    if isinstance(event, PhaseEntered):
        return location(event)
    if entry is None or entry.kind not in ("reply", "tally", "tool", "dropped"):
        return None
    words = " ".join(entry.text.split())
    return f"{entry.title}: {words[:LINE]}{'…' if len(words) > LINE else ''}"


class _SettledError(Exception):
    """A run that is over without an answer, as a response."""

    def __init__(self, response: Exact) -> None:
        super().__init__(response)
        self.response = response
