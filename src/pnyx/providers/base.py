"""The interface between pnyx and every model host: one request, one completion.

A provider does not retry, time out, meter or record; `pnyx.run` does, once, for all of them. A provider
passes on text as it arrives and usage as the host reports it, raises `ProviderError` with the right kind
for every failure, and on cancellation closes its connection or stops generating.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, fields, replace
from typing import Literal, Protocol, TypeAlias, TypeVar, get_args

from ..core.models import Usage
from ..core.steps import Schema
from ..core.thinking import Effort
from ..core.tool_calls import ToolCall, ToolSpec
from ..errors import ProviderError
from ..isolation import OwnCancellationError, describe, isolate

__all__ = [
    "Call",
    "Completion",
    "Image",
    "Message",
    "Provider",
    "ToolCall",
    "ToolSpec",
    "can_search",
    "complete_call",
    "completion_of",
    "counted_tokens",
    "ensure_open",
    "guard",
    "is_open",
]

T = TypeVar("T")
COUNT_S = 10.0
"""Seconds that a host has to count a prompt: a run waits for it."""
FinishReason: TypeAlias = Literal["stop", "length", "filter", "tool", "malformed"]


@dataclass(frozen=True, slots=True)
class Image:
    """media_type: such as image/png. data: its bytes."""

    media_type: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Message:
    """One turn. role "tool" answers the call `tool_call_id`; role "assistant" may carry `tool_calls`.

    breaks: offsets in `text` at which a prefix ends that later requests share. A host that caches parts of
    a message needs a part to end at each of them; the first and the last are those to mark. images: before
    the text of a user's message. thoughts: what the model thought before its tool calls, for a host that
    wants it back.
    """

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    tool_name: str = ""
    breaks: tuple[int, ...] = ()
    images: tuple[Image, ...] = ()
    thoughts: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """One request. model: its name at the host, without the provider. timeout_s: seconds until its deadline.

    searches: how many web searches the host may make by itself, if the host accepts a limit; 0: none.
    cache_key: the same for all calls of a run, or of a conversation, to this model, which begin alike; ""
    for none. effort: how much the model should think first. thinking_tokens: the most tokens of that, part
    of `max_tokens`; 0: none, where the effort "none" alone means that none are needed. None: the host's
    default. A host without such a parameter ignores both. traceparent: the value of the header of that name
    (W3C Trace Context), "" for none.
    """

    model: str
    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float | None = None
    seed: int | None = None
    schema: Schema | None = None
    tools: tuple[ToolSpec, ...] = ()
    timeout_s: float | None = None
    searches: int = 0
    cache_key: str = ""
    effort: Effort | None = None
    thinking_tokens: int | None = None
    traceparent: str = ""

    @property
    def prompt(self) -> str:
        """The text of all messages, for hosts without turns."""
        return "\n\n".join(message.text for message in self.messages if message.text)


@dataclass(frozen=True, slots=True)
class Completion:
    """One reply. usage: as the host reports it, however odd; None if it reports none.

    text: the answer; it may contain thinking in tags. reasoning: thinking that the host returns apart.
    finish_reason: stop | length (cut at max_tokens) | filter (refused by the host) | tool (calls tools)
    | malformed (no answer: the host could not read what the model wrote, or it wrote not one token,
    or thoughts alone).
    finish_detail: the host's own word for it, such as SAFETY.
    searches: how many web searches the host reports; None: not reported. sources: addresses that it cites.
    Raises `ValueError` for a field of another type, which no record could store.
    """

    text: str
    usage: Usage | None = None
    finish_reason: FinishReason = "stop"
    tool_calls: tuple[ToolCall, ...] = ()
    model: str = ""
    searches: int | None = None
    sources: tuple[str, ...] = ()
    reasoning: str = ""
    finish_detail: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        texts: tuple[object, ...] = (
            *(self.text, self.model, self.reasoning, self.finish_detail),
            *self.sources,
            *self.notes,
        )
        calls: tuple[object, ...] = self.tool_calls
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("text, model, reasoning, finish_detail and sources of a Completion are text")
        if not all(isinstance(call, ToolCall) for call in calls):
            raise ValueError("tool_calls of a Completion are ToolCalls")
        if self.finish_reason not in get_args(FinishReason):
            raise ValueError(f"finish_reason is one of {', '.join(get_args(FinishReason))}")


class Provider(Protocol):
    """One configured host. `on_text` is called with each piece of text as it arrives, on the event loop.

    Three methods are optional. `async def searches(model) -> bool`: whether the host can search the web
    itself. `async def ensure_open()`: loads what the first call needs, outside the time of any call.
    `async def count_tokens(call) -> int | None`: how many tokens the host counts in the prompt of `call`,
    with all that it would read besides, if it counts free of charge; None if it cannot say. It is asked where
    a budget has no room for as many as the letters of the prompt may be.
    """

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion: ...

    async def close(self) -> None: ...


def is_open(provider: Provider) -> bool:
    """Whether `ensure_open` has nothing left to load; False if the provider does not say."""
    try:
        return bool(getattr(provider, "is_open", not hasattr(provider, "ensure_open")))
    except Exception:
        return False  # `ensure_open` is tried, and its fault belongs to the call


async def complete_call(provider: Provider, call: Call, on_text: Callable[[str], None] | None) -> Completion:
    """Return the reply. Raises only `ProviderError`, `TimeoutError` and the caller's cancellation."""
    return await guard(lambda: _complete(provider, call, on_text))


async def _complete(provider: Provider, call: Call, on_text: Callable[[str], None] | None) -> Completion:
    reply = await completion_of(provider.complete(call, on_text), call)
    if type(reply) is Completion:
        return reply
    # Made again: an object of a subclass, or of a mock, may not have checked its fields.
    return Completion(**{one.name: getattr(reply, one.name) for one in fields(Completion)})


async def completion_of(returned: object, call: Call) -> Completion:
    """Return the reply to `call` from what a method `complete` returned: text, too, is a whole reply.

    Raises `ProviderError` for anything else, and what the method raises.
    """
    if not isinstance(returned, Awaitable):
        message = "complete() is not async; write `async def complete(self, call)`"
        raise ProviderError("malformed", message, billed=True)
    reply: object = await returned
    if isinstance(reply, str):
        return Completion(reply, model=call.model)
    if not isinstance(reply, Completion):
        kind = type(reply).__name__
        message = f"complete() returned {kind}, not text or a pnyx.Completion"
        raise ProviderError("malformed", message, billed=True)
    return reply


async def guard(method: Callable[[], Awaitable[T]]) -> T:
    """Return what a method of a provider returns; a bug in it fails one call, never the run.

    Raises only `ProviderError`, `TimeoutError` and the caller's cancellation.
    """
    try:
        return await isolate(method)
    except (ProviderError, TimeoutError):
        raise
    except OwnCancellationError as exc:
        raise ProviderError("malformed", "the provider cancelled the call itself", billed=True) from exc
    except ConnectionError as exc:
        raise ProviderError("unreachable", f"the provider raised {describe(exc)}", billed=True) from exc
    except Exception as exc:
        raise ProviderError("malformed", f"the provider raised {describe(exc)}", billed=True) from exc


async def ensure_open(provider: Provider) -> None:
    """Wait until the provider has loaded what calls need. Raises as `complete_call` does."""
    method = getattr(provider, "ensure_open", None)
    if method is not None:
        await guard(method)


async def can_search(provider: Provider, model: str) -> bool:
    """Whether the host can search the web for `model` (its name there); False if the provider raises."""
    method = getattr(provider, "searches", None)
    if method is None:
        return False
    try:
        return bool(await guard(lambda: method(model)))
    except (ProviderError, TimeoutError):
        return False


async def counted_tokens(provider: object, call: Call) -> int | None:
    """Return how many tokens the host counts in the prompt of `call`; None if it does not say in time.

    It has the time of the call, and at most `COUNT_S`.
    """
    method = getattr(provider, "count_tokens", None)
    if method is None:
        return None
    seconds = COUNT_S if call.timeout_s is None else min(call.timeout_s, COUNT_S)
    try:
        async with asyncio.timeout(seconds):
            counted: object = await guard(lambda: method(replace(call, timeout_s=seconds)))
    except (ProviderError, TimeoutError):
        return None
    return counted if type(counted) is int and counted > 0 else None
