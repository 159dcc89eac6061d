"""The scripts of the scripted host (`Fault`), and its log (`Request`)."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Fault", "Request"]


@dataclass(slots=True)
class Request:
    """One request as it was received. Times are seconds since the epoch.

    sha256, bytes: of the body received. call: counts this model's requests from 1. sent: bytes of body
    written back. completed: the whole reply was handed over. left: when the client hung up before that, or
    None. done: completed, cut or left. usage: tokens a host would bill, or None where it would bill nothing.
    """

    time: float
    model: str
    path: str
    sha256: str
    bytes: int
    body: Any
    call: int = 1
    status: int | None = None
    sent: int = 0
    completed: bool = False
    left: float | None = None
    done: bool = False
    usage: dict[str, int] | None = None
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The text of the messages, in the OpenAI dialect."""
        return "\n\n".join(str(message.get("content") or "") for message in self.body["messages"])


@dataclass(frozen=True, slots=True)
class Fault:
    """How one model, or "*" every model, replies; `call` is a number or a range of numbers, None for all.

    text: the reply, or what makes it of the request; None draws one from a hash of model and prompt, or
        makes an instance of the schema that was sent.
    searches: what the host searches for before it answers -> the pages it finds, all of which the text cites.
    usage: as the dialect reports it, None for not at all; "true" reports what was used.
    body: these bytes instead of a reply. message: the error's, where `status` is one.
    delay: seconds before the reply. after: no reply before so many requests, to all models, have come in.
    until: no reply before it returns true.
    hang: never reply. drip: (bytes, seconds between them), without a pause once `hurry` returns true.
    pings: after the head, a comment line every so many seconds, for ever.
    cut_at: hang up after so many bytes of body. reset: break the connection, at `cut_at` or else at once.
    unframed: the body ends with the connection, so that only its content shows a cut.
    """

    model: str
    call: int | Container[int] | None = None
    text: str | Callable[[Request], str] | None = None
    tool_calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    searches: Mapping[str, Sequence[str]] = field(default_factory=dict)
    usage: Mapping[str, Any] | str | None = "true"
    finish: str = "stop"
    refusal: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
    message: str = "scripted error"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    delay: float = 0.0
    after: int = 0
    until: Callable[[], bool] | None = None
    drip: tuple[int, float] | None = None
    hurry: Callable[[], bool] | None = None
    cut_at: int | None = None
    hang: bool = False
    reset: bool = False
    pings: float | None = None
    unframed: bool = False

    def matches(self, model: str, call: int) -> bool:
        counted = call == self.call if isinstance(self.call, int) else self.call is None or call in self.call
        return self.model in (model, "*") and counted
