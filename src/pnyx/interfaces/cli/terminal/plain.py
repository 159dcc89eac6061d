"""The progress and the result of a run as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ....core.events import Budget, Event
from ...render.terminal import clip, excerpt, flat, safe, wrap
from ...views.certainty import certainty
from ...views.outcome import panel_line, usage_line
from ...views.transcript import Entry, Transcript, seat_name
from ...views.vote_only import vote_line
from .output import Output, Stream

__all__ = ["Progress", "answer_lines", "end_lines", "entry_lines", "paragraph"]

INDENT = "    "
LOOKS = dict.fromkeys(("silence", "retry", "unknown", "budget", "cut"), ("yellow",)) | {"dropped": ("red",)}
WIDE = 1_000_000
"""Columns of a stream that is not a terminal: lines are not wrapped there."""


class Progress:
    """Prints events as lines on stderr; the base of the live view. cap_usd: of the run.

    explained: reasons of failures so far.
    """

    def __init__(self, output: Output) -> None:
        self.output = output
        self.view = Transcript()
        self.cap_usd: float | None = None
        self._started = False
        self.explained: set[str] = set()

    async def __aenter__(self) -> Progress:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    def add(self, event: Event, shown: bool = False) -> None:
        """Add an event and print it. shown: an earlier process has printed it, so that it only counts."""
        entry = self.view.add(event)
        if not shown and not self._started and self.view.run_id:
            self._started = True
            self.say(*self.heading())
        # The message at the end of the run says why a budget was too small, and what to type.
        ends = isinstance(event, Budget) and event.kind == "exhausted"
        if entry is not None and not shown and not ends and not self._is_repeated(entry):
            self.say(*entry_lines(self.output.err, entry, whole=self.output.verbose))
        for note in getattr(event, "notes", ()):
            self.note(note)

    def _is_repeated(self, entry: Entry) -> bool:
        """Whether the entry is a failed attempt whose reason has been shown, for this seat or another one.

        The end of the run says which seats it cost.
        """
        if self.output.verbose or entry.kind not in ("retry", "dropped"):
            return False
        reason = entry.text.removeprefix("dropped: ")
        known = reason in self.explained
        self.explained.add(reason)
        return known

    def say(self, *lines: str) -> None:
        """Write lines that are already safe and painted."""
        if not self.output.quiet:
            self.output.err.lines(lines)

    def note(self, text: str) -> None:
        self.say(*paragraph(self.output.err, text, "yellow"))

    def heading(self) -> Iterator[str]:
        """The first lines: run, protocol and panel."""
        view = self.view
        panel = panel_line(seat.model for seat in view.seats.values())
        text = f"run {view.run_id} · {view.protocol} · {panel}"
        return paragraph(self.output.err, text, "dim")


def entry_lines(stream: Stream, entry: Entry, *, whole: bool, reasoning: bool = False) -> Iterator[str]:
    """An entry as lines, safe and painted. whole: its full text instead of an excerpt. reasoning: add it."""
    facts = " · ".join(entry.facts)
    look = LOOKS.get(entry.kind, ("bold",))
    if entry.kind in ("reply", "tool"):
        title = flat(entry.title)
        if len(title) + 2 + len(facts) <= (stream.width or WIDE):
            yield stream.paint(title, *look) + stream.paint(safe(facts and f"  {facts}"), "dim")
        else:
            yield from paragraph(stream, title, *look)
            yield from paragraph(stream, facts, "dim")
        text = safe(entry.text) if whole else excerpt(entry.text)
        yield from wrap(text.strip("\n"), stream.width or WIDE, INDENT)
    else:
        yield from paragraph(
            stream, f"{entry.title}: {clip(entry.text, 300)}{facts and f' · {facts}'}", *look
        )
    if reasoning and entry.reasoning:
        yield f"{INDENT}{stream.paint('Reasoning', 'dim', 'bold')}"
        for line in wrap(safe(entry.reasoning).strip("\n"), stream.width or WIDE, 2 * INDENT):
            yield stream.paint(line, "dim")


def paragraph(stream: Stream, text: str, *styles: str) -> Iterator[str]:
    """`text` as one paragraph, wrapped to the width of the terminal."""
    for line in wrap(flat(text), stream.width or WIDE):
        yield stream.paint(line, *styles)


def answer_lines(stream: Stream, answer: str) -> Iterator[str]:
    """The full answer: rendered on a terminal that shows styles, wrapped between words on any other."""
    if stream.painted and stream.width is not None:
        # Only a terminal requires rich.
        from ...render.terminal_markdown import render_markdown

        yield from render_markdown(answer.strip("\n"), stream.width)
    else:
        yield from wrap(safe(answer).strip("\n"), stream.width or WIDE)


def end_lines(stream: Stream, result: Mapping[str, Any], tools: Sequence[Entry]) -> Iterator[str]:
    """The lines below the answer: certainty, first vote, dissent, sources, tools, dropped seats, usage."""
    if measures := _measures(result):
        yield from paragraph(stream, measures, "bold")
    if vote := vote_line(result):
        yield from paragraph(stream, clip(vote, 300))
    if result["dissent"]:
        yield stream.paint(f"dissent ({len(result['dissent'])})", "bold", "yellow")
    for dissent in result["dissent"]:
        yield stream.paint(f"  {flat(seat_name(dissent['seat'], dissent['model']))}", "bold")
        yield from wrap(excerpt(dissent["text"], lines=4, chars=300), stream.width or WIDE, INDENT)
    yield from _sources(stream, result["detail"])
    if tools:
        yield stream.paint(f"tools used ({len(tools)})", "bold")
    for tool in tools:
        yield from paragraph(stream, f"{clip(tool.title, 200)}: {clip(tool.text, 80)}")
    failure = str(result["detail"].get("message") or "")
    for reason, seats in _dropped(result).items():
        why = "" if reason in failure else f": {clip(reason, 300)}"
        yield from paragraph(stream, f"dropped: {flat(', '.join(seats))}{why}", "red")
    yield from paragraph(stream, usage_line(result), "dim")


def _dropped(result: Mapping[str, Any]) -> dict[str, list[str]]:
    """The reasons why seats were dropped, each with the seats."""
    reasons: dict[str, list[str]] = {}
    for drop in result["dropped"]:
        reasons.setdefault(drop["reason"], []).append(seat_name(drop["seat"], drop["model"]))
    return reasons


def _sources(stream: Stream, detail: Mapping[str, Any]) -> Iterator[str]:
    """The sources that the answer cites, and citations of sources that do not exist."""
    sources: Sequence[Mapping[str, Any]] = detail.get("sources") or ()
    cited = [source for source in sources if source["cited"]]
    if sources:
        yield from paragraph(stream, f"sources ({len(cited)} of {len(sources)} cited)", "bold")
    for source in cited:
        yield from paragraph(stream, f"[{source['n']}] {clip(source['title'], 100)} · {source['url']}")
    if unknown := detail.get("unknown_citations"):
        numbers = ", ".join(f"[{n}]" for n in unknown)
        yield from paragraph(stream, f"cites sources that do not exist: {numbers}", "yellow")


def _measures(result: Mapping[str, Any]) -> str:
    final = result["final_answer"]
    parts = [] if final is None else [f"final answer: {clip(final, 80)}"]
    for name, words in certainty(result).items():
        named = name in ("rigor", "confidence")
        parts.append(flat(f"{name} {words}" if named else words))
    return " · ".join(parts)
