"""A conversation is a list of runs: what the next one is told of those before it, and all of it as a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...core.decision import DECIDED
from ...core.models import Seat, money
from ...core.text import Material, estimate_tokens
from ..views.records import Record
from ..views.transcript import quantity
from .markdown import Markdown, Redact

__all__ = ["as_page", "cost", "earlier"]

MOST_TOKENS = 6_000
"""Of earlier decisions, by `estimate_tokens`: some 12,000 characters of English, a handful of answers. A
debate sends them with each of its calls, so that more would soon cost more than the question itself."""
WINDOW_SHARE = 4
"""At most one part in so many of the smallest window: the rest is for question, debate and reply."""
LEAST_TOKENS = 50
"""Less than this of a turn would be a riddle, so it is left out."""
CUT = " […] (cut here)"


def earlier(turns: Sequence[Record], seats: Sequence[Seat]) -> tuple[Material, ...]:
    """The questions of `turns` and what was decided, for `Spec.context`: in order, within bounds.

    Room goes to the newest turns first, and each but the oldest takes at most half of what is left, so
    that one long answer does not hide all the others. What is cut or left out says so.
    """
    left = min([MOST_TOKENS, *(seat.context // WINDOW_SHARE for seat in seats if seat.context is not None)])
    answered = [(n, turn) for n, turn in enumerate(turns, 1) if turn.result.answer]
    shown: list[Material] = []
    while answered:
        share = left if len(answered) == 1 else left // 2
        if share < LEAST_TOKENS:
            shown.append(Material("Earlier turns", f"Left out: {len(answered)}."))
            break
        number, turn = answered.pop()
        text = _told(turn, share)
        left -= estimate_tokens(text)
        shown.append(Material(f"Turn {number}", text))
    return tuple(reversed(shown))


def _told(turn: Record, tokens: int) -> str:
    status = turn.result.status
    decided = status in DECIDED
    kind = f"Decision ({status})" if decided else "Best answer so far; nothing was decided"
    asked = _cut(f"Question: {turn.result.question.strip()}", tokens // 4)
    head = f"{asked}\n\n{kind}: "
    return _cut(head + turn.result.answer.strip(), tokens)


def _cut(text: str, tokens: int) -> str:
    """`text`, or as much of its beginning as fits, with a mark that says so."""
    if estimate_tokens(text) <= tokens:
        return text
    # A token is two bytes to `estimate_tokens`.
    room = 2 * (tokens - estimate_tokens(CUT))
    return text.encode("utf-8", "surrogatepass")[: max(room, 0)].decode("utf-8", "ignore") + CUT


def cost(turns: Sequence[Record]) -> float | None:
    """What the turns cost together, in USD; None where the price of one is unknown."""
    costs = [turn.result.usage["cost_usd"] for turn in turns]
    return None if None in costs else sum(costs)


def as_page(name: str, turns: Sequence[Record], redact: Redact = str) -> str:
    """The conversation `name` as Markdown: what was asked, answered and disputed, and what it cost."""
    return "\n".join(_page(name, turns, Markdown(redact))) + "\n"


def _page(name: str, turns: Sequence[Record], page: Markdown) -> Iterator[str]:
    yield from (f"# Conversation {name}", "", f"{quantity(len(turns), 'turn')}, {money(cost(turns))}", "")
    for number, turn in enumerate(turns, 1):
        result = turn.document
        yield from (f"# Turn {number}: run {result['run_id']}", "")
        yield from ("## Question", "", *page.quoted(result["question"]), "")
        if result["answer"]:
            yield from ("## Answer", "", *page.quoted(result["answer"]), "")
        yield from page.dissent(result)
        yield from ("## How it was decided", "", *page.facts(result, turn.row.created_at), "")
