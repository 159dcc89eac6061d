"""A conversation as a list of runs: the material that the next run sees, and a Markdown document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...core.decision import DECIDED
from ...core.models import Seat, money, total_usd
from ...core.text import Material, estimate_tokens
from ...run.spec import Spec
from ...store.records.run_row import RunRow
from ..views.records import Record
from ..views.transcript import quantity
from .markdown import Markdown, Redact

__all__ = ["as_markdown", "cost", "earlier_turns", "next_turn"]

MOST_TOKENS = 6_000
"""Most tokens of earlier turns, by `estimate_tokens`: about 12,000 characters of English, a few answers.
Every call of a debate includes them, so more would soon cost more than the question itself."""
WINDOW_SHARE = 4
"""Earlier turns take at most one part in this many of the smallest window; the rest is for the debate."""
LEAST_TOKENS = 50
"""A turn with less room than this is left out, because nobody could understand it."""
CUT = " […] (cut here)"


def earlier_turns(turns: Sequence[Record], seats: Sequence[Seat]) -> tuple[Material, ...]:
    """The questions and decisions of `turns` for `Spec.context`: in order, within bounds.

    The newest turns come first, and each but the oldest takes at most half of the remaining room, so that
    one long answer does not displace all others. Cuts and omissions are marked.
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
        text = _summary(turn, share)
        left -= estimate_tokens(text)
        shown.append(Material(f"Turn {number}", text))
    return tuple(reversed(shown))


def next_turn(spec: Spec, before: RunRow) -> Spec:
    """`spec` as the turn after the run `before`: with its salt, so that their prompts share a prefix."""
    return replace(spec, salt=before.spec.get("salt", spec.salt))


def _summary(turn: Record, tokens: int) -> str:
    status = turn.result.status
    decided = status in DECIDED
    kind = f"Decision ({status})" if decided else "Best answer so far; nothing was decided"
    question = _cut(f"Question: {turn.result.question.strip()}", tokens // 4)
    head = f"{question}\n\n{kind}: "
    return _cut(head + turn.result.answer.strip(), tokens)


def _cut(text: str, tokens: int) -> str:
    """`text`, or as much of its start as fits, with a mark."""
    if estimate_tokens(text) <= tokens:
        return text
    data = text.encode("utf-8", "surrogatepass")
    # `estimate_tokens` counts a token for two bytes, or for fewer in text such as hashes.
    room = 2 * max(tokens - estimate_tokens(CUT), 0)
    while True:
        shown = data[:room].decode("utf-8", "ignore") + CUT
        if (needed := estimate_tokens(shown)) <= tokens or not room:
            return shown
        room = room * tokens // needed


def cost(turns: Sequence[Record]) -> float | None:
    """The total cost of the turns in USD; None if a price is unknown."""
    return total_usd(turn.result.usage["cost_usd"] for turn in turns)


def as_markdown(name: str, turns: Sequence[Record], redact: Redact = str) -> str:
    """The conversation `name` as Markdown: questions, answers, dissent and cost."""
    return "\n".join(_document(name, turns, Markdown(redact))) + "\n"


def _document(name: str, turns: Sequence[Record], markdown: Markdown) -> Iterator[str]:
    yield from (f"# Conversation {name}", "", f"{quantity(len(turns), 'turn')}, {money(cost(turns))}", "")
    for number, turn in enumerate(turns, 1):
        result = turn.document
        yield from (f"# Turn {number}: run {result['run_id']}", "")
        yield from ("## Question", "", *markdown.quoted(result["question"]), "")
        if result["answer"]:
            yield from ("## Answer", "", *markdown.quoted(result["answer"]), "")
        yield from markdown.dissent(result)
        yield from ("## How it was decided", "", *markdown.facts(result, turn.row.created_at), "")
