"""What a host refuses of a request, remembered for each of its models.

A host that does not know a parameter, or not the value of it, answers 400 or 422 and names it. The request is
then sent again without the parameter, under its other name, or with a value that the host accepts; so are
later requests to that model. A parameter without which the request means something else is never left out.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from ...core.caching.lru import LRU
from . import bodies
from .failures import HostError
from .levels import other_level, set_adaptive, set_levels, switched_off, wants_adaptive
from .output_limits import (
    MARGIN_TOKENS,
    USEFUL_TOKENS,
    affordable,
    is_about_limit,
    is_above,
    lower_limit,
    plain_numbers,
    read_room,
)
from .refusals import RENAMED, refused_names, without_model
from .refused_forms import refuses_no_stream, refuses_stream, refuses_system
from .responses_requests import wants_responses
from .returned_thoughts import Wanted, has_thoughts, wanted_thoughts

__all__ = ["Adjustments", "Change", "Learned"]

MODELS = 1_000
STATUSES = (0, 400, 402, 404, 413, 416, 422, 429, 500, 501)
"""Statuses of a refused parameter. Routers answer 404 if no host of a model accepts all of them; 429 is for a
request over the tokens of a whole minute."""
KINDS = ("refused", "not_found", "malformed")


@dataclass(slots=True)
class Learned:
    """What a model refuses.

    dropped: names of parameters. renamed: old name -> new. max_tokens: its most output tokens. window: its
    most tokens of prompt and output, counted as `tokens_per_byte` of a request. total: tokens that the host
    last counted, prompt and output together. streams: whether it replies as a stream. None: unknown.
    levels: a parameter and a level of thinking -> the level that it takes instead. never_off: parameters that
    turn its thinking on, but not off. adaptive: it decides how
    many tokens it thinks. plain_schema: describe schemas in the prompt. no_system: it has no system role.
    reasons: it has written thoughts. responses: it is asked in the Responses API; False: its host has none.
    thinks_first: its last reply began in the middle of its thoughts. thoughts: how it wants those of turns
    with tool calls back. notes: what to tell the user with the next reply.
    """

    dropped: set[str] = field(default_factory=set)
    renamed: dict[str, str] = field(default_factory=dict)
    max_tokens: int | None = None
    window: int | None = None
    tokens_per_byte: float = 0.0
    total: int = 0
    streams: bool | None = None
    levels: dict[tuple[str, str], str] = field(default_factory=dict)
    never_off: set[str] = field(default_factory=set)
    adaptive: bool = False
    plain_schema: bool = False
    no_system: bool = False
    reasons: bool = False
    responses: bool | None = None
    thinks_first: bool = False
    thoughts: Wanted = ""
    notes: list[str] = field(default_factory=list)

    def take_notes(self) -> tuple[str, ...]:
        """Sentences about what was learned, for the next completion; each once, even if a call failed."""
        notes, self.notes = tuple(self.notes), []
        return notes

    def apply(self, body: dict[str, Any]) -> None:
        """Change the body of a request accordingly."""
        if self.adaptive:
            set_adaptive(body)
        set_levels(body, self.levels)
        bodies.drop(body, self.dropped | (self.never_off & switched_off(body)))
        for holder in bodies.holders(body):
            for name in self.renamed.keys() & holder.keys():
                holder[self.renamed[name]] = holder.pop(name)
        if self.no_system:
            bodies.merge_system(body)
        if self.streams is not None:
            bodies.set_stream(body, self.streams, "stream_options" not in self.dropped)
        bodies.lower_limit(body, self._most(body))

    def _most(self, body: dict[str, Any]) -> int:
        """The most output tokens of a request."""
        limit = 2**31 if self.max_tokens is None else self.max_tokens
        if self.window is None:
            return limit
        room = self.window - round(_size(body) * self.tokens_per_byte) - MARGIN_TOKENS
        # With too little room for a reply, the host says so and the prompt is shortened.
        return min(limit, room) if room >= USEFUL_TOKENS else limit


@dataclass(frozen=True, slots=True)
class Change:
    """A change to a request. note: a sentence for the user, "" if it is known. max_tokens: for this one."""

    note: str
    max_tokens: int | None = None


class Adjustments:
    """What each model of one host refuses."""

    def __init__(self) -> None:
        self._learned = LRU[str, Learned](MODELS, make=lambda model: Learned())

    def of(self, model: str) -> Learned:
        return self._learned[model]

    def learn(self, model: str, refused: HostError, body: dict[str, Any]) -> Change | None:
        """Remember what the host refuses of `body`. Returns None if no other request can help.

        Calls run at the same time: another one may have learned it since `body` was written.
        """
        change = self._learn(model, refused, body)
        if change is not None and change.note:
            self._learned[model].notes.append(change.note)
        return change

    def _learn(self, model: str, refused: HostError, body: dict[str, Any]) -> Change | None:
        found, learned = refused.report, self._learned[model]
        if not (_may_be_of_request(refused) and refused.about_request) or found.is_page:
            return None
        wants_stream = refused.kind in KINDS and refuses_no_stream(found, body)
        if refused.kind in (*KINDS, "too_long", "overloaded") and found.status != 501 and not wants_stream:
            changed, change = _lower_limit(learned, refused, body, model)
            if changed:
                return change
        if refused.kind not in KINDS and not (refused.kind == "overloaded" and found.status == 500):
            return None
        if learned.responses is not False and wants_responses(found, body):
            change = Change(
                "" if learned.responses else "is asked in the Responses API, as its host wants it"
            )
            learned.responses = True
            return change
        if refuses_system(found, body):
            note = "has no system role: instructions are sent in the first message"
            change = Change("" if learned.no_system else note)
            learned.no_system = True
            return change
        if wants_stream or refuses_stream(found, body):
            note = "does not send its reply as a stream" if body.get("stream") else "replies only as a stream"
            change = Change("" if learned.streams is not None else note)
            learned.streams = not body.get("stream")
            return change
        if wanted := wanted_thoughts(found):
            if has_thoughts(body, wanted):
                return None
            learned.thoughts = wanted
            return Change("")
        names = refused_names(found, body, model, refused.kind)
        if set(names) <= {"thinking"} and wants_adaptive(found, body):
            change = Change("" if learned.adaptive else "takes a level of thinking and no number of tokens")
            learned.adaptive = True
            return change
        level = other_level(found.english, names, body)
        if level is not None and level.refused not in learned.levels.values():
            note = f"takes {level.taken} instead of {level.refused} as {level.name}"
            known = learned.levels.get((level.name, level.refused))
            learned.levels[level.name, level.refused] = level.taken
            return Change("" if known == level.taken else note)
        if off := switched_off(body) & set(names):
            # Thinking may be refused too; then the next request shows it.
            new, names = off - learned.never_off, [name for name in names if name not in off]
            learned.never_off |= off
            if not names:
                listed = " or ".join(sorted(new))
                return Change(f"accepts no {listed} that turns thinking off" if new else "")
        return _drop(learned, names)


def _may_be_of_request(refused: HostError) -> bool:
    """Whether the status of an error may be that of a refused parameter; 403 is Cloudflare's for a schema."""
    status = refused.report.status
    return status in STATUSES or (status == 403 and refused.kind == "refused")


def _lower_limit(
    learned: Learned, refused: HostError, body: dict[str, Any], model: str
) -> tuple[bool, Change | None]:
    """Lower the output limit if the host refuses it, or if the prompt leaves less room in its window.

    Returns whether the report is about that, and the change.
    """
    place = bodies.output_limit(body)
    if place is None:
        return False, None
    now = place[0][place[1]]
    message = plain_numbers(without_model(refused.report.english, model))
    if (credit := affordable(message)) is not None:
        if not min(USEFUL_TOKENS, now) <= credit < now:
            return True, None
        learned.max_tokens = credit
        return True, Change(f"has credit for {credit} output tokens: add credit for longer replies")
    if (room := read_room(message, now)) is not None:
        if room.total and room.total == learned.total:
            return True, None  # it counts the prompt alone, whatever the output limit
        learned.total = room.total
        if not min(USEFUL_TOKENS, now) <= room.output < now:
            return True, None
        first = learned.window is None
        learned.window = min(room.window, learned.window or room.window)
        learned.tokens_per_byte = max(learned.tokens_per_byte, room.prompt / _size(body))
        return True, Change(f"takes {room.window} tokens of prompt and reply" if first else "", room.output)
    if refused.report.status == 429 or not is_about_limit(refused.report, message, now):
        return False, None
    if refused.kind == "too_long" and is_above(message, now):
        return False, None  # a limit above this one is that of the prompt
    if learned.max_tokens is not None and learned.max_tokens < now:
        return True, Change("")  # learned by another call
    if (limit := lower_limit(message, now)) is None:
        return False, None
    learned.max_tokens = limit
    return True, Change(f"writes at most {limit} output tokens")


def _drop(learned: Learned, names: list[str]) -> Change | None:
    """Leave out, or rename, the parameters `names`."""
    renamed = [name for name in names if name in RENAMED]
    for name in renamed:
        if name in learned.renamed.values():
            return None  # without a limit, a reply may cost more than is reserved for it
        known = name in learned.renamed
        learned.renamed[name] = RENAMED[name]
        return Change("" if known else f"takes {RENAMED[name]} instead of {name}")
    if not names:
        return None
    new = [name for name in names if name not in learned.dropped]
    learned.dropped.update(names)
    if learned.dropped & bodies.SCHEMA and not learned.plain_schema:
        learned.dropped.update(bodies.SCHEMA)
        learned.plain_schema = True
        name = next(name for name in names if name in bodies.SCHEMA)
        others = [name for name in new if name not in bodies.SCHEMA]
        form = f"does not accept {name}: the form of a reply is described in the prompt"
        return Change(f"{form}; {_left_out(others)}" if others else form)
    return Change(f"does not accept {_left_out(new)}" if new else "")


def _left_out(names: list[str]) -> str:
    return f"{', '.join(names)}: {'it is' if len(names) == 1 else 'they are'} left out"


def _size(body: dict[str, Any]) -> int:
    """Bytes of a request, without its parameters of a few bytes each."""
    parts = [body.get(name) for name in ("messages", "system", "contents", "systemInstruction", "tools")]
    return len(json.dumps(parts, ensure_ascii=False).encode("utf-8", "replace"))
