"""The last page of a run: its answer, how it was decided, who disagrees, what it used and cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...core.events import ToolCalled, VoteTallied
from ..views.transcript import Entry, Transcript
from .markdown import Markdown

__all__ = ["closing"]


def closing(
    page: Markdown,
    view: Transcript,
    result: Mapping[str, Any],
    begun: str,
    counts: Sequence[tuple[Entry, VoteTallied]],
    tools: Sequence[tuple[Entry, ToolCalled]],
) -> Iterator[str]:
    """The lines of `final.md`. counts and tools: each with what the transcript says of it."""
    detail = result["detail"]
    yield from ("# Answer", "")
    if result["answer"]:
        yield from (*page.quoted(result["answer"]), "")
    else:
        yield from (f"None. {page.plain(str(detail.get('message', '')))}".rstrip(), "")
    yield from ("## How it was decided", "", *page.facts(result, begun))
    for key in ("winner", "settled_by", "shipped"):
        if isinstance(detail.get(key), str):
            yield f"- {key.replace('_', ' ')}: {page.plain(detail[key])}"
    yield ""
    if counts:
        yield from ("## Tally", "")
    for entry, count in counts:
        yield from (f"### {page.plain(entry.title)}", "", *_count(page, count), "")
    yield from page.dissent(result)
    yield from _sources(page, detail.get("sources"))
    if tools:
        yield from ("## Tools used", "")
        for entry, tool in tools:
            failed = "" if tool.ok else ": failed"
            yield f"- {page.plain(entry.title)}{failed} ({', '.join(entry.facts)})"
        yield ""
    yield from page.costs(view)


def _count(page: Markdown, count: VoteTallied) -> Iterator[str]:
    """One count as a table, most votes first, and how each seat voted where the record says so."""
    points = {k: v for k, v in _mapping(count.detail.get("borda")).items() if isinstance(v, int | float)}
    ranked = any(points.values())
    itself = _names(count.detail.get("self_endorsed"))
    told = f"{count.rule} → {count.winner}" if count.winner else count.rule
    if isinstance(settled := count.detail.get("settled_by"), str):
        told += f", by {settled}"
    if isinstance(needed := count.detail.get("needed"), int):
        told += f"; {needed} of {count.detail.get('live')} live seats are a majority"
    yield from (page.plain(told), "")
    yield f"| for | votes |{' Borda points |' if ranked else ''}"
    yield f"|---|---|{'--:|' if ranked else ''}"
    for name, votes in sorted(count.tally.items(), key=lambda one: -one[1]):
        own = ", its own among them" if name in itself else ""
        borda = f" {points.get(name, 0):g} |" if ranked else ""
        yield f"| {page.plain(name)} | {votes:g}{own} |{borda}"
    if ballots := _mapping(count.detail.get("votes")):
        yield from ("", *(f"- {page.plain(seat)}: {page.plain(str(said))}" for seat, said in ballots.items()))
    if abstained := _names(count.detail.get("abstained")):
        yield from ("", f"Abstained: {page.plain(', '.join(abstained))}")


def _sources(page: Markdown, sources: Any) -> Iterator[str]:
    """What the seats were given to cite. sources: of `{"n", "title", "url", "cited"}`, or None."""
    found = [source for source in sources if isinstance(source, Mapping)] if isinstance(sources, list) else []
    if found:
        yield from ("## Sources", "")
        for source in found:
            told = f"[{source.get('n')}] {source.get('title')}: {source.get('url')}"
            yield f"- {page.plain(told)}{' (cited)' if source.get('cited') else ''}"
        yield ""


# What a count says beside its tally is the protocol's own business, and protocols come from anywhere.
def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _names(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()
