"""One reply, read from documents of any dialect.

A reader takes every document, whole replies and pieces of a stream alike, so it does not matter which of them
a host sends. It reads the fields that it knows, ignores all others, and misses none that it can do without.
"""

from __future__ import annotations

import json
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ....core.caching.regex import regex
from ...base import FinishReason, ToolCall
from ..documents import DONE
from ..failures import Report, failure, one_line, report
from ..usage import find
from .finishes import failure_status, reason_of

__all__ = [
    "ENDS",
    "INVALID_JSON",
    "PARTS",
    "THOUGHT_PARTS",
    "Reader",
    "ToolCallParts",
    "first_of",
    "items",
    "kind_of",
    "mapping",
    "text_of",
]

SEPARATOR = "\n\n"
"""Between two texts of a reply between which the host searched."""
PARTS = ("text", "thinking", "summary", "value", "content", "reasoning", "reasoningText", "reasoning_text")
"""Where a part of a message has its text."""
THOUGHT_PARTS = ("thinking", "reasoning", "reasoning_text", "thought")
"""Types of parts that are thoughts."""
ENDS = (
    "finish_reason",
    "finishReason",
    "stop_reason",
    "stopReason",
    "completionReason",
    "done_reason",
    "stop_type",
)
"""Where replies of several forms say why they ended."""
MAX_WORD = 100
MAX_ALTERNATIVES = 16
INVALID_JSON = "INVALID_JSON"
"""The argument that holds what a model wrote instead of an object of JSON."""


@dataclass(slots=True)
class ToolCallParts:
    """A tool call whose arguments arrive in pieces, or as an object."""

    id: str = ""
    name: str = ""
    written: list[str] = field(default_factory=list)
    value: Mapping[str, Any] | None = None

    def is_complete(self) -> bool:
        return self.value is not None or _is_json("".join(self.written))

    def call(self) -> ToolCall:
        """The call; arguments that are not a JSON object of finite numbers are kept as text."""
        # gpt-oss writes a token behind it, Kimi the number of the call, and both where their tools are.
        name = self.name.partition("<|")[0].partition(":")[0].removeprefix("functions.")
        return ToolCall(self.id or f"call-{secrets.token_hex(6)}", name, self._arguments())

    def _arguments(self) -> dict[str, Any]:
        written = "".join(self.written)
        try:
            found = self.value if self.value is not None else _last_object(written or "{}")
            found = json.loads(found) if isinstance(found, str) else found  # encoded twice
            # No record can store an infinite number, or one of more digits than Python writes.
            json.dumps(found, allow_nan=False)
        except (ValueError, RecursionError):
            return {INVALID_JSON: written or repr(self.value)}
        if found is None:
            return {}
        return dict(found) if isinstance(found, Mapping) else {INVALID_JSON: written or repr(self.value)}


def _last_object(written: str) -> Any:
    """The value that `written` is; of several objects, the last that is not empty.

    A stream may start the arguments with "{}", or repeat all of them at its end. Raises `ValueError`.
    """
    try:
        return json.loads(written)
    except json.JSONDecodeError as exc:
        if exc.msg != "Extra data" or written.lstrip()[:1] != "{":
            raise
        first, rest = json.loads(written[: exc.pos]), written[exc.pos :]
        return _last_object(rest) or first


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


class Reader(ABC):
    """Reads the documents of one reply.

    text, reasoning: in pieces. finish: the host's word for why the reply ended, "" until it says so. refusal:
    the model's words if it refuses. done: whether the stream said that it ended. usage: reports of usage,
    merged. sources: cited addresses. searches: web searches that the reply shows.
    """

    def __init__(self) -> None:
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.refusal: list[str] = []
        self.tools: dict[object, ToolCallParts] = {}
        self.finish = ""
        self.done = False
        self.model = ""
        self.usage: dict[str, Any] = {}
        self.sources: list[str] = []
        self.searches = 0
        self.any = False
        self._note: Report | None = None
        """Words in an event of their own. What the model writes behind them shows that nothing has failed."""
        self._broken = False
        self._half = ""
        self._end_words = ""

    def add(self, document: Any) -> Iterator[str]:
        """Read a document, and yield the text in it. Raises `ProviderError` for an error that it reports."""
        if document is DONE:
            if self._note is not None:
                self.check()
            self.done = True
            return
        documents = document if isinstance(document, list) else [document]
        for one in documents:
            if found := report(one):
                self.report_usage(find(one))
                if not found.may_be_note or self.is_complete:
                    raise failure(found)
                self._note = self._note or found
            elif isinstance(one, Mapping):
                written = self._pieces()
                for text in self.read(one):
                    self._note = None
                    yield text
                if self._pieces() > written:
                    self._note = None
                if one.get("amazon-bedrock-guardrailAction") == "INTERVENED":
                    self.finish = "guardrail_intervened"  # its words stand in place of an answer
                if self.failed:
                    self._end_words = self.failure_words(one) or self._end_words

    def _pieces(self) -> int:
        """How many pieces of thoughts, refusals and tool calls there are."""
        calls = sum(1 + len(tool.written) for tool in self.tools.values())
        return len(self.reasoning) + len(self.refusal) + calls

    @abstractmethod
    def read(self, document: Mapping[str, Any]) -> Iterator[str]:
        """Read a document that reports no error, and yield the text in it."""

    @property
    def failed(self) -> bool:
        """Whether the reply has ended with a failure. An error that says more may follow."""
        return self._note is not None or failure_status(self.finish) > 0

    def check(self) -> None:
        """Raise `ProviderError` if the reply has ended with a failure."""
        if self._note is not None:
            raise failure(self._note)
        if self.failed:
            words = self._end_words or f"the host ended the reply with {self.finish!r}"
            raise failure(Report(failure_status(self.finish), words, self.finish))

    def failure_words(self, document: Mapping[str, Any]) -> str:
        """The host's words for an end that is a failure."""
        return ""

    @property
    def has_ended(self) -> bool:
        """Whether the host has said that the reply is over, and not that it failed."""
        return (bool(self.finish) or self.done) and not self.failed

    @property
    def is_complete(self) -> bool:
        """Whether nothing of a stream can be missing."""
        return self.has_ended

    def end(self, reason: object) -> None:
        """Note the host's word for why the reply ended; one that is no text still ends it."""
        if isinstance(reason, Mapping):  # of SGLang
            self._end_words = text_of(reason.get("message")) or self._end_words
            reason = text_of(reason.get("type")) or True
        if isinstance(reason, str):
            self.finish = reason or self.finish
        elif reason is not None:
            self.done = True

    def piece(self, text: object) -> Iterator[str]:
        """Add a piece of the answer, and yield it. A number alone was once text."""
        if isinstance(text, int | float) and not isinstance(text, bool):
            text = str(text)
        if not isinstance(text, str) or not text:
            return
        if self._half or not text.isascii():
            text, self._half = whole_characters(self._half + text)
            text = text if self.text else text.lstrip(_INVISIBLE)
        if not text:
            return
        if self._broken:
            is_apart = text.startswith("\n") or self.text[-1].endswith("\n")
            text, self._broken = text if is_apart else SEPARATOR + text, False
        self.text.append(text)
        yield text

    def forget(self) -> None:
        """Drop all that the model wrote so far. What was streamed of it cannot be taken back."""
        self.text, self.reasoning, self.refusal, self.tools = [], [], [], {}

    def interrupt(self) -> None:
        """Note that the host did something of its own between two texts."""
        self._broken = bool(self.text)

    def think(self, text: object) -> None:
        if isinstance(text, str) and text:
            self.reasoning.append(text)

    def cite(self, url: object) -> None:
        if isinstance(url, str) and url and url not in self.sources:
            self.sources.append(url)

    def report_usage(self, found: object) -> None:
        """Merge a report: in one stream they are cumulative, and later ones leave out what did not change."""
        if isinstance(found, Mapping):
            counts = {name: value for name, value in found.items() if value is not None}
            # Some hosts end a stream with zeros.
            self.usage.update(
                {name: value for name, value in counts.items() if value or name not in self.usage}
            )

    def finish_reason(self) -> FinishReason:
        calls = any(tool.name for tool in self.tools.values())
        reason = reason_of(self.finish)
        if self.refusal and reason in ("stop", "length"):
            return "filter"
        if reason == "tool" and not calls:
            reason = "malformed"
        if reason == "malformed" and (calls or self.answer().strip()):
            reason = "stop"
        return "tool" if calls and reason == "stop" else reason

    def finish_detail(self) -> str:
        """The host's word for why the reply ended."""
        refused = self.refusal and reason_of(self.finish) != "filter"
        return "refusal" if refused else one_line(self.finish)[:MAX_WORD]

    def answer(self) -> str:
        return "".join((*self.text, self._half)) or whole_characters("".join(self.refusal))[0]

    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple(tool.call() for tool in self.tools.values() if tool.name)


def whole_characters(text: str) -> tuple[str, str]:
    """`text` with the halves of characters joined, and a half at its end, which the next piece may complete.

    Hosts that write every token as JSON of its own escape the two halves of an emoji apart.
    """
    if not _HALVES.search(text):
        return text, ""
    rest = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
    whole = text[: len(text) - len(rest)].encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return whole, rest


_INVISIBLE = "\ufeff\u200b\u2060"
_HALVES = regex(r"[\ud800-\udfff]")


def mapping(value: object) -> Mapping[str, Any]:
    """`value` if it is an object, else an empty one."""
    # What is read from JSON is a `dict`, and `isinstance` of an abstract class takes ten times as long.
    return value if type(value) is dict or isinstance(value, Mapping) else {}


def items(value: object) -> list[Any]:
    """`value` if it is a list; an object alone as a list of one; else an empty list."""
    if isinstance(value, list):
        return value
    return [value] if type(value) is dict or isinstance(value, Mapping) else []


def kind_of(part: Mapping[str, Any], signs: Mapping[str, str]) -> str:
    """The type of a part, or that of which it has a field; "" for none. signs: field -> type."""
    return text_of(part.get("type")) or next(
        (kind for name, kind in signs.items() if part.get(name) is not None), ""
    )


def text_of(value: object) -> str:
    """The text of a string, of a part, or of a list of parts."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(map(text_of, value))
    if isinstance(value, Mapping):
        return next((text_of(value[name]) for name in PARTS if value.get(name)), "")
    return ""


def first_of(alternatives: object) -> list[Mapping[str, Any]]:
    """What belongs to the first of a document's choices or candidates.

    One is asked for, so a lone one is the first, whatever its index. Some hosts count from 1.
    """
    found = [one for one in items(alternatives)[:MAX_ALTERNATIVES] if isinstance(one, Mapping)]
    firsts = [one for one in found if not _is_later(one.get("index"))]
    return firsts or found[:1]


def _is_later(index: object) -> bool:
    return isinstance(index, int | str) and str(index).isdecimal() and int(index) > 0
