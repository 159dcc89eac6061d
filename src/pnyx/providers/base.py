"""The seam between pnyx and every model host: one request in, one completion out.

A provider does not retry, time out, meter or record; `pnyx.run` does, once, for all of them. What a
provider owes: text as it arrives, usage as it was reported, `ProviderError` with the right kind for
everything that goes wrong, and on cancellation a closed socket or a stopped generation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, TypeVar, get_args

from ..core.models import Usage
from ..core.steps import Schema
from ..core.tool_calls import ToolCall, ToolSpec
from ..errors import ProviderError

__all__ = [
    "Call",
    "Completion",
    "Message",
    "Provider",
    "ToolCall",
    "ToolSpec",
    "can_search",
    "completed",
    "guarded",
    "is_open",
    "opened",
]

T = TypeVar("T")
FinishReason: TypeAlias = Literal["stop", "length", "filter", "tool"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn. role "tool" answers the call `tool_call_id`; role "assistant" may carry `tool_calls`."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    tool_name: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """One request. model: its name at the host, without the provider. timeout_s: what its deadline leaves.

    searches: of the web, that the host may make by itself, where it lets itself be limited; 0: none.
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

    @property
    def prompt(self) -> str:
        """The text of all messages, for hosts that know no turns."""
        return "\n\n".join(message.text for message in self.messages if message.text)


@dataclass(frozen=True, slots=True)
class Completion:
    """One reply. usage is None when the host did not report it, and is passed on as reported, however odd.

    finish_reason: stop | length (cut at max_tokens) | filter (refused by the host) | tool (wants tools).
    searches: of the web, that the host says it made; None: not told. sources: addresses that it cites.
    Raises `ValueError` for a field of another kind: no record could hold it.
    """

    text: str
    usage: Usage | None = None
    finish_reason: FinishReason = "stop"
    tool_calls: tuple[ToolCall, ...] = ()
    model: str = ""
    searches: int | None = None
    sources: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        texts: tuple[object, ...] = (self.text, self.model, *self.sources)
        calls: tuple[object, ...] = self.tool_calls
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("text, model and sources of a Completion are text")
        if not all(isinstance(call, ToolCall) for call in calls):
            raise ValueError("tool_calls of a Completion are ToolCalls")
        if self.finish_reason not in get_args(FinishReason):
            raise ValueError(f"finish_reason is one of {', '.join(get_args(FinishReason))}")


class Provider(Protocol):
    """One configured host. `on_text` gets each piece of text as it arrives, on the event loop.

    A host that can search the web by itself is told by one more method, `async def searches(model) -> bool`.
    """

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion: ...

    async def close(self) -> None: ...


def is_open(provider: Provider) -> bool:
    """Whether there is nothing left to wait for in `opened`."""
    return bool(getattr(provider, "is_open", not hasattr(provider, "opened")))


async def completed(provider: Provider, call: Call, on_text: Callable[[str], None] | None) -> Completion:
    """The provider's reply. Raises only `ProviderError`, `TimeoutError` and the caller's own cancellation."""
    reply: object = await guarded(lambda: provider.complete(call, on_text))
    if not isinstance(reply, Completion):
        kind = type(reply).__name__
        raise ProviderError("malformed", f"complete() returned {kind}, not a pnyx.Completion", billed=True)
    return reply


async def guarded(method: Callable[[], Awaitable[T]]) -> T:
    """What a method of a provider returns. A third party's bug fails one call, never the run."""
    try:
        return await method()
    except (ProviderError, TimeoutError):
        raise
    except asyncio.CancelledError as exc:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise  # by the run itself
        raise ProviderError("malformed", "the provider cancelled the call itself", billed=True) from exc
    except ConnectionError as exc:
        raise ProviderError("unreachable", _described(exc), billed=True) from exc
    except Exception as exc:
        raise ProviderError("malformed", _described(exc), billed=True) from exc


def _described(exc: Exception) -> str:
    return f"the provider raised {type(exc).__name__}: {exc}"


async def opened(provider: Provider) -> None:
    """Until what the provider needs is loaded, which is no part of any call's time. Raises as `completed`."""
    ready = getattr(provider, "opened", None)
    if ready is not None:
        await guarded(ready)


async def can_search(provider: Provider, model: str) -> bool:
    """Whether the host of `model` (its name there) can search the web by itself; False where it raises."""
    ask = getattr(provider, "searches", None)
    if ask is None:
        return False
    try:
        return bool(await guarded(lambda: ask(model)))
    except (ProviderError, TimeoutError):
        return False
