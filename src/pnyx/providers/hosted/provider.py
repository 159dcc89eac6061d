"""Hosted models: requests written by pydantic-ai, sent over aiohttp, replies read leniently.

Importing this module loads an HTTP client, so import it where a hosted model is opened. pydantic-ai and an
SDK are imported at the first request that `plain` does not write.
Nothing is sent twice, except a request without a parameter that its host has refused, unbilled; `pnyx.run`
retries.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ...core.caching.regex import regex
from ...core.context.compaction import tokens
from ...errors import MissingExtra, ProviderError
from ...extras import need
from ...gc_pause import paused_collection
from ..base import Call, Completion, FinishReason
from ..redaction import MIN_SECRET
from ..unsent import before_sending, calling
from .adjustments import Adjustments, Learned
from .connection import Connection, HostRequest, Limits
from .counting import TokenCounter
from .dialects import DIALECTS, Dialect
from .failures import HostError, one_line, unreadable
from .output_limits import fitting_share, plain_numbers
from .plain import PlainWriter
from .replies.forms import Reply
from .replies.held_text import HeldText
from .replies.held_thoughts import HeldThoughts, begins_in_thoughts, is_all_thoughts, may_begin_in_thoughts
from .replies.reply import Reader, ToolCallParts
from .replies.written_calls import text_without, written_calls
from .reports.find import unknown_words
from .responses_requests import ADDED, as_responses, in_chat_words
from .returned_thoughts import return_thoughts
from .thinking_switches import set_router_thinking, set_thinking
from .trouble import OLLAMA_PORT

if TYPE_CHECKING:
    from .requests import RequestBuilder

__all__ = ["HostedProvider", "open_hosted"]

LAST_CHARS = 60
MAX_CHANGES = 12
"""Parameters of one call that its host may refuse."""


def open_hosted(kind: str, *, base_url: str, api_key: str | None = None) -> HostedProvider:
    """A provider that speaks the dialect of `kind`, a key of `DIALECTS`. api_key: None sends none."""
    return HostedProvider(DIALECTS[kind], base_url.strip(), api_key)


class HostedProvider:
    """One configured host; see `pnyx.providers.base.Provider`. Keeps connections open until `close`."""

    def __init__(self, dialect: Dialect, base_url: str, api_key: str | None) -> None:
        self._dialect = dialect
        self._host = urlsplit(base_url).netloc.rpartition("@")[2] or "base_url"
        self._hostname = urlsplit(base_url).hostname or ""
        self._is_ollama = dialect is DIALECTS["ollama"] or self._host.endswith(f":{OLLAMA_PORT}")
        self._has_no_path = not dialect.plain.version and not urlsplit(base_url).path.strip("/")
        self._secrets = (api_key,) if api_key and len(api_key) >= MIN_SECRET else ()
        self._plain: PlainWriter | None = None
        if not dialect.is_azure(self._hostname):
            others = dialect.key_headers(self._hostname)
            self._plain = PlainWriter.of(dialect.plain, base_url, api_key, os.environ, others)
        self._load = partial(_load, dialect, base_url, api_key)
        self._builder = None if self._plain else self._load()
        self._loading = asyncio.Lock()
        self._connection = Connection(base_url)
        self._adjustments = Adjustments()
        self._counter = TokenCounter(self._connection)

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
        """Return the reply to `call`. Whatever the host does, raises only `ProviderError`."""
        try:
            with calling(self._host):
                return await self._complete(call, on_text)
        except ProviderError as exc:
            words = str(exc)
            if exc.kind == "not_found" and self._has_no_path:
                words = words.replace("check base_url", "check base_url, which mostly ends with /v1")
            if exc.kind == "not_found" and self._pulls(words):
                words = (
                    f"{words.removesuffix(', try pulling it first')}: get it with `ollama pull {call.model}`"
                )
            if isinstance(exc, HostError) and exc.output_tokens:
                words += f" (not charged; the host counted {exc.output_tokens:,} output tokens)"
            message = one_line(f"{self._host}: {words}", self._secrets)
            fits = None
            if isinstance(exc, HostError) and exc.kind == "too_long":
                fits = fitting_share(plain_numbers(exc.report.english), tokens(call.prompt))
            # The original may quote the request with its key, so it is not chained.
            raise ProviderError(
                exc.kind,
                message,
                retry_after=exc.retry_after,
                billed=exc.billed,
                retries=exc.retries,
                fits=fits,
            ) from None

    def _pulls(self, words: str) -> bool:
        """Whether a model that is not found may be missing at an Ollama of one's own."""
        is_own = self._is_ollama and not self._hostname.endswith("ollama.com")
        return (is_own or "try pulling it" in words) and "check base_url" not in words

    async def searches(self, model: str) -> bool:
        return self._dialect.searches != "none" and (await self._requests()).can_search(model)

    async def count_tokens(self, call: Call) -> int | None:
        """As the host counts them, if its API does; with what was learned of the model."""
        learned = self._adjustments.of(call.model)
        request = await self._request(call, learned, stream=False)
        learned.apply(request.body)
        sent = as_responses(request, learned.dropped) if learned.responses else request
        return await self._counter.count(call.model, sent, Limits.of(0, call.timeout_s, 0))

    async def close(self) -> None:
        if self._builder is not None:
            await self._builder.close()
        await self._connection.close()

    async def _complete(self, call: Call, on_text: Callable[[str], None] | None) -> Completion:
        refused_chat: tuple[HostError, dict[str, Any]] | None = None
        for changes_left in reversed(range(MAX_CHANGES + 1)):
            learned = self._adjustments.of(call.model)
            with before_sending():
                request = await self._request(call, learned, on_text is not None)
            learned.apply(request.body)
            is_chat = not learned.responses
            sent = request if is_chat else as_responses(request, learned.dropped)
            reply = Reply(self._dialect.reader)
            held = HeldText({tool.name for tool in call.tools}, on_text) if on_text and call.tools else None
            show = held.add if held else on_text
            thoughts = None
            if show and (learned.thinks_first or may_begin_in_thoughts(call.model)):
                thoughts = HeldThoughts(show, reply.has_reasoning)
                show = thoughts.add
            try:
                async with aclosing(self._texts(call, sent, reply)) as texts:
                    async for text in texts:
                        if show is not None:
                            show(text)
                notes = tuple(f"{call.model} {note}" for note in learned.take_notes())
                completion = self._completion(call, reply.reader, notes)
                learned.reasons = learned.reasons or _reasons(completion)
                learned.thinks_first = begins_in_thoughts(completion.text, completion.reasoning)
                if thoughts is not None:
                    thoughts.end()
                if held is not None:
                    held.end(thoughts.of(completion.text) if thoughts else completion.text)
                return completion
            except HostError as exc:
                counted = self._dialect.meter.usage(reply.reader.usage)
                exc.output_tokens = counted.output_tokens if counted else 0
                if _RAN_OUT.search(exc.report.english):
                    return Completion(text="", usage=None, finish_reason="length")
                if reply.reader.text or not changes_left:
                    raise
                body = request.body
                if is_chat:
                    refused_chat = (exc, body)
                elif exc.kind == "not_found" and refused_chat is not None:
                    # The host has no such API: what else it refuses of the chat request may be left out.
                    learned.responses, (exc, body) = False, refused_chat
                else:
                    exc, body = in_chat_words(exc), request.body | ADDED
                change = self._adjustments.learn(call.model, exc, body)
                if change is None:
                    raise exc from None
                call = replace(call, max_tokens=change.max_tokens or call.max_tokens)
        raise AssertionError("the last attempt returns or raises")

    async def _request(self, call: Call, learned: Learned, stream: bool) -> HostRequest:
        """A new request for `call`."""
        reasons = learned.reasons or call.thinking_tokens == 0
        in_words = learned.plain_schema or self._costs_a_prefix(call)
        how = {"stream": stream, "plain_schema": in_words, "reasons": reasons}
        plain = None if self._plain is None else self._plain.write(call, **how)
        request = plain or await (await self._requests()).build(call, **how)
        if self._dialect.thinking == "effort":
            set_thinking(request.body, self._hostname, call, reasons)
        elif self._dialect.thinking == "openrouter":
            set_router_thinking(request.body, call, reasons)
        if any(message.tool_calls for message in call.messages):
            field = ("reasoning",) if self._dialect.thinking == "openrouter" else ()
            return_thoughts(request.body, call, learned.thoughts, *field)
        if self._dialect.caching == "key" and call.cache_key:
            request.body["prompt_cache_key"] = call.cache_key
        if call.traceparent:
            request.headers.append(("traceparent", call.traceparent))
        return request

    def _costs_a_prefix(self, call: Call) -> bool:
        """Whether the schema of `call`, as a parameter, keeps the host from reading its cache."""
        shares = call.schema is not None and any(message.breaks for message in call.messages)
        return shares and self._dialect.puts_schema_first(self._hostname, call.model)

    async def _requests(self) -> RequestBuilder:
        """The writer of requests that are not plain, loaded at the first one."""
        async with self._loading:
            if self._builder is None:
                self._builder = await asyncio.to_thread(self._load)
        return self._builder

    async def _texts(self, call: Call, request: HostRequest, reply: Reply) -> AsyncGenerator[str]:
        """Send the request, and yield the text of its reply as `reply` reads it."""
        limits = Limits.of(call.max_tokens, call.timeout_s, call.searches)
        async with self._connection.request(
            "POST", request.url, request.headers, limits, request.body
        ) as response:
            size = count = 0
            silent: Any = None
            document: Any = None
            try:
                async for document in response.documents():
                    count += 1
                    silent = document
                    for text in _read(reply, document):
                        size += len(text)
                        silent = None
                        if size > limits.max_bytes:
                            raise ProviderError("malformed", "the answer is too long", billed=True)
                        yield text
            except ProviderError as exc:
                if not _is_late(exc, reply.reader):
                    raise
        reader = reply.reader
        reader.check()
        is_stream = response.streamed or ((count > 1 or request.body.get("stream")) and _says_more(document))
        if reader.any and (reader.is_complete or not is_stream):
            return
        words = unknown_words(silent)
        if words and (found := unreadable("", words.encode())).kind != "malformed":
            raise found
        if not reader.any and (count or response.unread or (response.start and not response.streamed)):
            start = response.unread or response.start
            if count and not response.unread and not start.startswith('"'):
                raise ProviderError("malformed", f"the host sent no answer: {start}", billed=True)
            raise unreadable("the reply is not JSON", start.encode())
        last = "".join(reader.text)[-LAST_CHARS:] or response.start
        what = "the stream ended before the reply did" if response.size else "the reply is empty"
        message = what + (f", after: {last}" if last else "")
        message += f": {response.unread or words}".removesuffix(": ")
        raise ProviderError("truncated", message, billed=True)

    def _completion(self, call: Call, reader: Reader, notes: tuple[str, ...]) -> Completion:
        meter, searches = self._dialect.meter, None
        if call.searches:
            searches = meter.searches(reader.usage)
            if searches is None and self._dialect.searches == "shown":
                searches = reader.searches
        text, calls = reader.answer(), reader.tool_calls()
        written = written_calls(text, {tool.name for tool in call.tools}) if call.tools else []
        if written:
            # A server that reads them may leave them in the text too.
            calls = calls or tuple(
                ToolCallParts(name=one.name, value=one.arguments).call() for one in written
            )
            text = text_without(text, written)
        usage, finish = meter.usage(reader.usage), reader.finish_reason()
        reasoning = "".join(reader.reasoning)
        count = None if usage is None else usage.output_tokens
        if finish == "stop":
            finish = _end(text, reasoning, count, call.max_tokens)
        return Completion(
            text=text,
            usage=usage,
            finish_reason="tool" if written else finish,
            tool_calls=calls,
            model=reader.model,
            searches=searches,
            sources=tuple(reader.sources) if call.searches else (),
            reasoning=reasoning,
            finish_detail=reader.finish_detail(),
            notes=notes,
        )


_IMPORTING = threading.Lock()
"""Two threads that import the same SDK at once can each see a part of it that is not complete yet."""


def _load(dialect: Dialect, base_url: str, api_key: str | None) -> RequestBuilder:
    try:
        need(dialect.extra, "a request that is more than plain text")
    except MissingExtra as exc:
        raise ProviderError("unavailable", str(exc)) from None
    with _IMPORTING, paused_collection():
        # pydantic-ai and an SDK take a second of CPU, which requests of text alone do without.
        from .requests import RequestBuilder

        return RequestBuilder(dialect, base_url, api_key)


_RAN_OUT = regex(r"could not finish the message", re.IGNORECASE)
"""OpenAI's error for a reply whose thoughts took all of its tokens, which other hosts return empty."""


def _reasons(completion: Completion) -> bool:
    return bool(completion.reasoning or (completion.usage and completion.usage.reasoning_tokens))


def _end(text: str, reasoning: str, count: int | None, limit: int) -> FinishReason:
    """What an end is that its host calls an ordinary one. count: the tokens of the reply, if known."""
    if count is not None and count >= limit and is_all_thoughts(text, reasoning):
        return "length"  # vLLM calls a reply of its Responses API complete there, and Cloudflare says nothing
    # A model that has nothing to say writes at least the token of an end.
    is_missing = not text.strip() and (count == 0 or is_all_thoughts(text, reasoning))
    return "malformed" if is_missing else "stop"


def _says_more(document: Any) -> bool:
    """Whether more lines should follow: Ollama's streams are no events."""
    return type(document) is dict and document.get("done") is False


def _is_late(exc: ProviderError, reader: Reader) -> bool:
    """Whether a failure comes behind a reply that has said its end, and so is whole, whatever follows.

    A failure that such a reply reports is one, unless it has an answer, or has said that it is cut off.
    """
    reported = isinstance(exc, HostError)
    if reader.failed and not reported:
        reader.check()
    if not reader.is_complete:
        return False
    if reported:
        # Usage alone says the end only if nothing follows.
        return reader.has_ended and bool(reader.text or reader.tools or reader.finish_reason() == "length")
    return exc.kind in ("truncated", "timeout")


def _read(reply: Reply, document: Any) -> Iterator[str]:
    """Yield the text in a document; one of an unknown form is an error of its host, not of ours."""
    try:
        yield from reply.add(document)
    except (TypeError, ValueError, AttributeError, LookupError, RecursionError) as exc:
        message = f"unreadable reply: {type(exc).__name__}: {exc}"
        raise ProviderError("malformed", message, billed=True) from exc
