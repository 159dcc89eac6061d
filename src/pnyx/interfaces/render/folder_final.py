"""`final.md`, the summary of a run: answer, decision, dissent, sources, tools and cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...core.events import ToolCalled, VoteTallied
from ..views.tallies import votes_text
from ..views.transcript import Entry, Transcript
from .markdown import Markdown

__all__ = ["final_lines"]


def final_lines(
    markdown: Markdown,
    view: Transcript,
    result: Mapping[str, Any],
    created_at: str,
    counts: Sequence[tuple[Entry, VoteTallied]],
    tools: Sequence[tuple[Entry, ToolCalled]],
) -> Iterator[str]:
    """The lines of `final.md`. counts, tools: each event with its entry in the transcript."""
    detail = result["detail"]
    yield from ("# Answer", "")
    if result["answer"]:
        yield from (*markdown.quoted(result["answer"]), "")
    else:
        yield from (f"None. {markdown.plain(str(detail.get('message', '')))}".rstrip(), "")
    yield from ("## How it was decided", "", *markdown.facts(result, created_at))
    for key in ("winner", "settled_by", "shipped"):
        if isinstance(detail.get(key), str):
            yield f"- {key.replace('_', ' ')}: {markdown.plain(detail[key])}"
    yield ""
    if counts:
        yield from ("## Tally", "")
    for entry, count in counts:
        yield from (f"### {markdown.plain(entry.title)}", "", *_count(markdown, count), "")
    yield from markdown.dissent(result)
    yield from _sources(markdown, detail.get("sources"))
    if tools:
        yield from ("## Tools used", "")
        for entry, tool in tools:
            failed = "" if tool.ok else ": failed"
            yield f"- {markdown.plain(entry.title)}{failed} ({', '.join(entry.facts)})"
        yield ""
    yield from markdown.costs(view)


def _count(markdown: Markdown, count: VoteTallied) -> Iterator[str]:
    """A count as a table, most votes first, with the vote of each seat if it is recorded."""
    points = {k: v for k, v in _mapping(count.detail.get("borda")).items() if isinstance(v, int | float)}
    ranked = any(points.values())
    self_endorsed = _names(count.detail.get("self_endorsed"))
    summary = f"{count.rule} → {count.winner}" if count.winner else count.rule
    if isinstance(settled_by := count.detail.get("settled_by"), str):
        summary += f", by {settled_by}"
    if isinstance(needed := count.detail.get("needed"), int):
        summary += f"; {needed} of {count.detail.get('live')} live seats are a majority"
    yield from (markdown.plain(summary), "")
    yield f"| for | votes |{' Borda points |' if ranked else ''}"
    yield f"|---|---|{'--:|' if ranked else ''}"
    for name, votes in sorted(count.tally.items(), key=lambda one: -one[1]):
        own = ", its own included" if name in self_endorsed else ""
        borda = f" {points.get(name, 0):g} |" if ranked else ""
        yield f"| {markdown.plain(name)} | {votes_text(votes)}{own} |{borda}"
    if ballots := _mapping(count.detail.get("votes")):
        yield from (
            "",
            *(f"- {markdown.plain(seat)}: {markdown.plain(str(vote))}" for seat, vote in ballots.items()),
        )
    if abstained := _names(count.detail.get("abstained")):
        yield from ("", f"Abstained: {markdown.plain(', '.join(abstained))}")


def _sources(markdown: Markdown, sources: Any) -> Iterator[str]:
    """The sources that seats can cite. sources: a list of `{"n", "title", "url", "cited"}`, or None."""
    valid = [source for source in sources if isinstance(source, Mapping)] if isinstance(sources, list) else []
    if valid:
        yield from ("## Sources", "")
        for source in valid:
            line = f"[{source.get('n')}] {source.get('title')}: {source.get('url')}"
            yield f"- {markdown.plain(line)}{' (cited)' if source.get('cited') else ''}"
        yield ""


# Any protocol, also of another package, may put anything into the detail of a count.
def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _names(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()
