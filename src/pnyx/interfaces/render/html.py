"""A run as one HTML page, for people to read and to send.

It depends on the events and the result only, so the same run always produces the same bytes. Untrusted text
is escaped, or rendered by `untrusted_markdown`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape, unescape
from itertools import groupby
from pathlib import Path
from typing import Any

from ...core.decision import UNDECIDED
from ...core.events import Event, VoteTallied
from ...core.models import money
from ...evaluate.report.html_document import self_contained, table
from ...providers.redaction import redact_json
from ..views.certainty import certainty
from ..views.files import file_words
from ..views.outcome import headline, stop_message, usage_line
from ..views.records import Record
from ..views.tallies import votes_text, winner_of
from ..views.transcript import Entry, SeatState, Transcript, location, seat_name
from ..views.vote_only import vote_line
from .markdown import Redact
from .terminal import clip, flat, safe
from .untrusted_markdown import link, to_html

__all__ = ["as_html"]

STYLE = Path(__file__).with_name("html.css")
TITLE = 160
"""Characters of a question in the title; a longer question follows in full."""
FOLDED = 6_000
"""Characters of all replies and tool results above which each is folded, with its start as summary."""
COLOURS = 8
TEXTS = ("reply", "tool")


@dataclass(frozen=True, slots=True)
class Item:
    """An event with its entry in the transcript."""

    event: Event
    entry: Entry


def as_html(record: Record, redact: Redact = str) -> str:
    """The run as a page: question, answer, dissent, decision, sources, usage and transcript."""
    result = redact_json(record.document, redact)
    view = Transcript()
    items = [Item(event, entry) for event in record.events if (entry := view.add(event)) is not None]
    return _Page(result, view, items, record.row.created_at, redact).render()


@dataclass(slots=True)
class _Page:
    result: Mapping[str, Any]
    view: Transcript
    items: list[Item]
    created_at: str
    redact: Redact
    seats: list[str] = field(default_factory=list)

    def render(self) -> str:
        self.seats = [label for label in self.view.seats if label]
        sections = [
            ("answer", "Answer", self._answer()),
            ("dissent", "Dissent", self._dissent()),
            ("decided", "How it was decided", self._decided()),
            ("files", "Files", self._files()),
            ("sources", "Sources", self._sources()),
            ("seats", "Seats", self._seats()),
            ("said", "Transcript", self._transcript()),
        ]
        filled = [(name, title, body) for name, title, body in sections if body]
        contents = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title, _ in filled)
        body = "".join(
            f'<section id="{name}"><h2>{title}</h2>{body}</section>\n' for name, title, body in filled
        )
        nav = f'<nav aria-label="Contents"><ul>{contents}</ul></nav>'
        return self_contained(
            f"{self._title()} · pnyx", f"{self._header()}{nav}{body}{self._footer()}", STYLE
        )

    def _line(self, text: object, most: int = 0) -> str:
        """`text` on one line, cut to `most` characters if that is not 0."""
        masked = self.redact(str(text))
        return escape(clip(masked, most) if most else flat(masked))

    def _name(self, text: object) -> str:
        """`text` on one line, isolated so that right-to-left text does not reorder its surroundings."""
        return f"<bdi>{self._line(text)}</bdi>"

    def _block(self, text: str, level: int) -> str:
        return f'<div class="text" dir="auto">{to_html(self.redact(text), level)}</div>'

    def _header(self) -> str:
        result = self.result
        question = result["question"].strip()
        full = f'<div class="question">{self._block(question, 2)}</div>'
        if len(question) <= TITLE and "\n" not in question:
            full = ""
        about = f"{self._line(result['protocol'])} · {self.created_at[:16].replace('T', ' ')} UTC"
        return (
            f'<header><p class="about">pnyx · {about}</p>'
            f'<h1 dir="auto">{self._title()}</h1>{full}'
            f'<p class="state {self._mood()}">{self._line(self._state())}</p></header>'
        )

    def _title(self) -> str:
        return self._line(self.result["question"].strip().partition("\n")[0], TITLE)

    def _state(self) -> str:
        return stop_message(self.result) if self.result["status"] in UNDECIDED else headline(self.result)

    def _mood(self) -> str:
        status = self.result["status"]
        return (
            "open" if status in UNDECIDED else "divided" if status in ("deadlock", "stalled") else "settled"
        )

    def _answer(self) -> str:
        result = self.result
        if not result["answer"]:
            return "<p>There is no answer.</p>"
        note = f'<p class="note">{self._line(headline(result))}</p>' if result["status"] in UNDECIDED else ""
        final = result["final_answer"]
        short = (
            f'<p class="final">Final answer: <strong dir="auto">{self._line(final)}</strong></p>'
            if final
            else ""
        )
        return f"{note}{short}{self._block(result['answer'], 3)}"

    def _dissent(self) -> str:
        return "".join(
            f'<article class="said {self._colour(one["seat"])}">'
            f"<h3>{self._badge(one['seat'])}{self._name(seat_name(one['seat'], one['model']))}</h3>"
            f"{self._block(one['text'], 4)}</article>"
            for one in self.result["dissent"]
        )

    def _decided(self) -> str:
        result, options = self.result, self.view.options
        settings = ", ".join(f"{name} {value}" for name, value in options.items() if value not in (None, ""))
        facts = [
            ("status", result["status"]),
            ("stop reason", (result["stop_reason"] or "").replace("_", " ")),
            ("rounds", result["rounds"]),
            *certainty(result).items(),
            ("took", usage_line(result)),
            ("settings", settings),
        ]
        rows = "".join(
            f"<div><dt>{name}</dt><dd>{self._name(value)}</dd></div>"
            for name, value in facts
            if value not in (None, "")
        )
        dropped = "".join(
            f'<p class="aside bad">dropped: {self._name(seat_name(one["seat"], one["model"]))}: '
            f"{self._line(one['reason'])}</p>"
            for one in result["dropped"]
        )
        # The last count of each rule decided; the transcript has the others.
        last = {count.rule: (count, title) for count, title in self._counts()}
        counts = "".join(
            f"<h3>{self._line(title)}</h3>{self._count(count)}" for count, title in last.values()
        )
        vote = vote_line(result)
        before = f'<p dir="auto">{self._line(vote)}</p>' if vote else ""
        return f"<dl>{rows}</dl>{before}{dropped}{counts}"

    def _counts(self) -> list[tuple[VoteTallied, str]]:
        return [(one.event, one.entry.title) for one in self.items if isinstance(one.event, VoteTallied)]

    def _count(self, count: VoteTallied) -> str:
        votes = sorted(count.tally.items(), key=lambda one: -one[1])
        cast = sum(count.tally.values()) or 1
        rows = [
            [
                self._name(name) + (" ✓" if name == winner_of(count) else ""),
                votes_text(number),
                f'<meter max="{cast:g}" value="{number:g}">{votes_text(number)}</meter>',
            ]
            for name, number in votes
        ]
        return table(f"Votes by {self._line(count.rule)}", ["for", "votes", ""], rows)

    def _files(self) -> str:
        items = "".join(f"<li>{self._name(file_words(row))}</li>" for row in self.view.files)
        return f"<ul>{items}</ul>" if items else ""

    def _sources(self) -> str:
        sources = self.result["detail"].get("sources")
        valid = [one for one in sources if isinstance(one, Mapping)] if isinstance(sources, list) else []
        items = "".join(
            f"<li>[{self._line(one.get('n'))}] {link(flat(str(one.get('url'))), flat(str(one.get('title'))))}"
            f"{'' if one.get('cited') else ' <small>not cited</small>'}</li>"
            for one in valid
        )
        unknown = ", ".join(f"[{n}]" for n in self.result["detail"].get("unknown_citations") or ())
        note = (
            f'<p class="aside bad">cites sources that do not exist: {self._line(unknown)}</p>'
            if unknown
            else ""
        )
        return f'<ul class="sources">{items}</ul>{note}' if items else ""

    def _seats(self) -> str:
        roles = any(seat.role for seat in self.view.seats.values())
        head = ["seat", "model", *(["role"] if roles else []), "calls", "tokens in", "cached", "out", "cost"]
        rows = []
        for label in self.seats:
            seat = self.view.seats[label]
            names = [self._badge(label) + self._name(label), self._name(seat.model)]
            rows.append([*names, *([self._name(seat.role)] if roles else []), *_figures(seat)])
        return table("Seats", head, rows) if rows else ""

    def _transcript(self) -> str:
        size = sum(len(one.entry.text) for one in self.items if one.entry.kind in TEXTS)
        groups = groupby(self.items, key=lambda one: location(one.event))
        return "".join(
            f'<section class="phase">{f"<h3>{self._line(where)}</h3>" if where else ""}'
            f"{''.join(self._item(item, where, size > FOLDED) for item in group)}</section>"
            for where, group in groups
        )

    def _item(self, item: Item, where: str, folded: bool) -> str:
        event, entry = item.event, item.entry
        title = entry.title.removeprefix(where).removeprefix(" · ")
        facts = self._line(" · ".join(entry.facts))
        if isinstance(event, VoteTallied):
            return self._count(event)
        if entry.kind not in TEXTS:
            style = "bad" if entry.kind in ("dropped", "unknown") else "odd"
            head = f"{self._name(title)}: " if title else ""
            text = f"{head}{self._line(entry.text)} <small>{facts}</small>"
            return f'<p class="aside {style}">{text}</p>{self._reasoning(entry)}'
        tool = entry.kind == "tool"
        body = f"<pre>{escape(safe(self.redact(entry.text)))}</pre>" if tool else self._block(entry.text, 4)
        start = clip(unescape(re.sub(r"<[^>]*>", "", body)), 140)
        return (
            f'<details id="event-{event.seq}" class="said {"tool" if tool else self._colour(event.seat)}"'
            f"{'' if folded or tool else ' open'}>"
            f"<summary>{self._badge(event.seat)}<b>{self._name(title)}</b> "
            f'<small>{facts}</small><span class="begins" dir="auto">{escape(start)}</span></summary>'
            f"{body}{self._reasoning(entry)}</details>"
        )

    def _reasoning(self, entry: Entry) -> str:
        if not entry.reasoning:
            return ""
        text = escape(safe(self.redact(entry.reasoning)))
        return f'<details class="reasoning"><summary>Reasoning</summary><pre>{text}</pre></details>'

    def _badge(self, seat: str | None) -> str:
        """The letter of a seat, in its colour."""
        letter = (seat or "").rpartition(" ")[2][:2]
        return (
            f'<i class="badge {self._colour(seat)}" aria-hidden="true">{self._line(letter)}</i> '
            if letter
            else ""
        )

    def _colour(self, seat: str | None) -> str:
        return f"l{self.seats.index(seat) % COLOURS}" if seat in self.seats else ""

    def _footer(self) -> str:
        run, version = self._line(self.result["run_id"]), self._line(self.view.version)
        usage = self._line(usage_line(self.result))
        return f'<footer class="note">run {run} · pnyx {version} · {usage}</footer>'


def _figures(seat: SeatState) -> Iterable[str]:
    counts = (seat.calls, seat.input_tokens, seat.cached_tokens, seat.output_tokens)
    return [*(f"{n:,}" for n in counts), money(seat.cost_usd)]
