"""The debate at a glance in Markdown: positions, votes as tables, changes of mind, cost by seat and phase."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ...core.models import money
from ...phrases import listed
from ..views.tallies import votes_text
from ..views.transcript import seconds

__all__ = ["change_words", "overview_lines"]


def overview_lines(found: Mapping[str, Any], plain: Callable[[str], str]) -> Iterator[str]:
    """The overview as lines of Markdown. plain: makes a text safe as one line."""
    if any(found["panel"].values()):
        yield from ("## The panel", "")
        yield from (f"- {plain(sentence)}" for group in found["panel"].values() for sentence in group)
        yield ""
    if found["votes"]:
        yield from ("## Votes", "")
    for count in found["votes"]:
        yield from _count(count, plain)
    if found["changes"]:
        yield from ("## Changes of mind", "")
        yield from (f"- {plain(change_words(change))}" for change in found["changes"])
        yield ""
    if found["costs"]:
        yield from ("## Cost by seat and phase", "")
        yield from _table(
            ["seat", "phase", "calls", "tokens in", "out", "cost", "time"],
            [
                [
                    plain(row["seat"]),
                    plain(row["phase"]),
                    *(f"{row[name]:,}" for name in ("calls", "input_tokens", "output_tokens")),
                    money(row["cost_usd"]),
                    seconds(row["elapsed_s"]),
                ]
                for row in found["costs"]
            ],
            left=2,
        )


def change_words(change: Mapping[str, Any]) -> str:
    """A change of mind as a sentence: who, from what to what, when, after what."""
    verb = "endorsed" if change["kind"] == "endorsement" else "said"
    read = "; ".join(f"{one['phase']} by {listed(one['seats'])}" for one in change["after"])
    after = f", after {read}" if read else ""
    return (
        f"{change['seat']} {verb} {change['before']}, and in round {change['round']} ({change['phase']}) "
        f"{change['now']}{after}."
    )


def _count(count: Mapping[str, Any], plain: Callable[[str], str]) -> Iterator[str]:
    """A count: the voters as rows, what they voted for as columns, the sums below."""
    names = list(count["counts"])
    where = f", round {count['round']}" if count["round"] else ""
    end = "a tie" if count["tied"] else f"most for {count['winner']}" if count["winner"] else ""
    title = ": ".join(filter(None, (count["rule"] + where, end)))
    yield from (f"### {plain(title)}", "")
    rows = []
    for ballot in count["ballots"]:
        marks = ["✓" if name == ballot["of"] else "" for name in names]
        text = ballot["text"] + (f" Ranking: {' > '.join(ballot['ranking'])}" if ballot["ranking"] else "")
        rows.append([plain(ballot["seat"]), *marks, plain(text.strip())])
    sums = [votes_text(count["counts"][name]) for name in names]
    yield from _table(["voter", *map(plain, names), ""], [*rows, ["sum", *sums, ""]], left=len(names) + 2)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * left}{'--:|' * (len(head) - left)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""
