"""A host whose prompts and replies are as long as those of real models, and cost as much."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from zlib import crc32

from pnyx.core.models import Price, Seat, Usage
from pnyx.providers.base import Call, Completion
from tests.support.panels import Host

__all__ = ["SEATS", "SizedHost", "sized_text"]

SEATS = tuple(
    Seat(f"Participant {label}", f"h:{name}", price=Price(*price), context=200_000, max_output=64_000)
    for label, name, price in (
        ("A", "large", (3.0, 15.0)),
        ("B", "mid", (2.0, 10.0)),
        ("C", "small", (0.25, 2.0)),
    )
)
"""A panel at the prices of common hosts, in USD per million tokens."""
BYTES_IN, BYTES_OUT = 4.3, 4.6
"""Bytes of a token in our prompts and in English prose."""
WORDS = (
    *("the", "claim", "holds", "for", "most", "of", "these", "cases", "because", "its", "evidence", "shows"),
    *("where", "cost", "and", "risk", "fall", "together", "a", "team", "should", "decide", "early", "what"),
)
ANSWER, CHALLENGE, REASON = 420, 220, 40
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def sized_text(tokens: int, seed: object) -> str:
    """Prose of about that many tokens, which depends only on `seed`."""
    n = crc32(str(seed).encode())
    words, length = list[str](), 0
    while length < tokens * BYTES_OUT:
        n = (n * 1103515245 + 12345) % 2**31
        words.append(WORDS[n // 2**16 % len(WORDS)] + (". " if n % 11 == 0 else " "))
        length += len(words[-1])
    return "".join(words).strip()


class SizedHost(Host):
    """Answers each prompt by what it asks for. factor: of the usual length of a reply.

    classes: of questions, of which each has one by its words; without them, all have the first one. silent:
    whether it reports no usage. A reply longer than `max_tokens` is cut off there, as hosts do.
    """

    def __init__(
        self,
        factor: float = 1.0,
        pause: float = 0.0,
        thoughts: int = 0,
        classes: Sequence[str] = (),
        silent: bool = False,
    ) -> None:
        super().__init__(self.reply, pause=pause)
        self.factor, self.thoughts, self.classes, self.silent = factor, thoughts, classes, silent

    def reply(self, call: Call) -> str:
        """Return the whole reply to `call`."""
        # With one date instead of that of today: a debate of other words is longer or shorter.
        seed = _DATE.sub("2026-11-25", f"{call.model}{call.prompt}")
        spread = 0.8 + 0.4 * (crc32(seed.encode()) % 1000) / 1000

        def text(tokens: int) -> str:
            return sized_text(int(tokens * spread * self.factor), seed)

        if call.schema is not None:
            values = _object(call.schema.document["properties"], text)
            if self.classes and "class" in values:
                values["class"] = self.classes[crc32(seed.encode()) % len(self.classes)]
            return json.dumps(values)
        answer = f"{text(ANSWER)}\n\nFinal answer: {crc32(call.model.encode()) % 3}"
        if "BEST:" in call.prompt:
            return f"{text(REASON)}\nBEST: Participant A\n{answer}"
        if "ANSWER:" in call.prompt:
            return f"ACCEPTED: {text(REASON)}\nREJECTED: none\nANSWER:\n{answer}"
        return text(CHALLENGE) if "under review" in call.prompt else answer

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
        self.sent.append(call.messages[-1].text)
        await asyncio.sleep(self.pause)
        text = self.reply(call)
        tokens, room = int(len(text) / BYTES_OUT) + 1, call.max_tokens - self.thoughts
        cut = tokens > room
        if cut:
            text, tokens = text[: int(max(room, 0) * BYTES_OUT)], max(room, 0)
        thoughts = min(self.thoughts, call.max_tokens)
        size = sum(len(message.text.encode()) for message in call.messages)
        size += len(call.schema.json) if call.schema else 0
        usage = Usage(int(size / BYTES_IN) + 8, 0, tokens + thoughts, thoughts)
        return Completion(text, None if self.silent else usage, "length" if cut else "stop")


def _object(properties: Mapping[str, Any], text: Callable[[int], str]) -> dict[str, Any]:
    """An object with these properties that a form of ours can read."""
    values: dict[str, Any] = {}
    for name, schema in properties.items():
        match name:
            case "subtasks":
                tasks = [("first", []), ("second", []), ("third", ["first"])]
                values[name] = [
                    {"label": n, "question": f"{text(25)}?", "needs": needs} for n, needs in tasks
                ]
            case "groups":
                values[name] = [[schema["items"]["items"]["enum"][0]]]
            case "ranking":
                values[name] = list(schema["items"]["enum"])
            case "decision":
                values[name] = text(ANSWER // 2)
            case "answer":
                values[name] = str(crc32(text(9).encode()) % 2)
            case _ if "enum" in schema:
                values[name] = schema["enum"][0]
            case _:
                values[name] = text(REASON)
    return values
