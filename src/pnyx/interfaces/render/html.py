"""A run as one HTML page, for people to read and to send on.

Made of the same events and result as the other exports, and of nothing that varies: the same run gives
the same bytes. What others wrote is text here, or Markdown that `markup` has made harmless.
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
from ..views.outcome import headline, taken, why
from ..views.records import Record
from ..views.transcript import Entry, Place, Transcript, place_name, whereabouts
from .markdown import Redact
from .terminal import clip, flat, safe
from .untrusted_markdown import link, rendered

__all__ = ["as_html"]

STYLE = Path(__file__).with_name("html.css")
TITLE = 160
"""Characters of a question that stand as the title; a longer one follows whole."""
FOLDED = 6_000
"""Characters that were said, beyond which they are folded away, each behind how it begins."""
COLOURS = 8
SAID = ("reply", "tool")


@dataclass(frozen=True, slots=True)
class Told:
    """An event that a reader is told of, and as what."""

    event: Event
    entry: Entry


def as_html(record: Record, redact: Redact = str) -> str:
    """The run as a page: question, answer, how sure, who disagrees, what it took, and all that was said."""
    result = redact_json(record.document, redact)
    view = Transcript()
    told = [Told(event, entry) for event in record.events if (entry := view.add(event)) is not None]
    return _Page(result, view, told, record.row.created_at, redact).whole()


@dataclass(slots=True)
class _Page:
    result: Mapping[str, Any]
    view: Transcript
    told: list[Told]
    begun: str
    redact: Redact
    seats: list[str] = field(default_factory=list)

    def whole(self) -> str:
        self.seats = [label for label in self.view.places if label]
        sections = [
            ("answer", "Answer", self._answer()),
            ("dissent", "Dissent", self._dissent()),
            ("decided", "How it was decided", self._decided()),
            ("sources", "Sources", self._sources()),
            ("seats", "Seats", self._seats()),
            ("said", "What was said", self._said()),
        ]
        shown = [(name, title, body) for name, title, body in sections if body]
        contents = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title, _ in shown)
        body = "".join(
            f'<section id="{name}"><h2>{title}</h2>{body}</section>\n' for name, title, body in shown
        )
        nav = f'<nav aria-label="Contents"><ul>{contents}</ul></nav>'
        return self_contained(
            f"{self._title()} · pnyx", f"{self._header()}{nav}{body}{self._footer()}", STYLE
        )

    def _line(self, text: object, most: int = 0) -> str:
        """`text` on one line, of at most `most` characters."""
        told = self.redact(str(text))
        return escape(clip(told, most) if most else flat(told))

    def _name(self, text: object) -> str:
        """The same where it may run the other way, and must not turn its surroundings round."""
        return f"<bdi>{self._line(text)}</bdi>"

    def _block(self, text: str, level: int) -> str:
        return f'<div class="text" dir="auto">{rendered(self.redact(text), level)}</div>'

    def _header(self) -> str:
        result = self.result
        question = result["question"].strip()
        whole = f'<div class="question">{self._block(question, 2)}</div>'
        if len(question) <= TITLE and "\n" not in question:
            whole = ""
        about = f"{self._line(result['protocol'])} · {self.begun[:16].replace('T', ' ')} UTC"
        return (
            f'<header><p class="about">pnyx · {about}</p>'
            f'<h1 dir="auto">{self._title()}</h1>{whole}'
            f'<p class="state {self._mood()}">{self._line(self._state())}</p></header>'
        )

    def _title(self) -> str:
        return self._line(self.result["question"].strip().partition("\n")[0], TITLE)

    def _state(self) -> str:
        return why(self.result) if self.result["status"] in UNDECIDED else headline(self.result)

    def _mood(self) -> str:
        status = self.result["status"]
        return "open" if status in UNDECIDED else "divided" if status == "deadlock" else "settled"

    def _answer(self) -> str:
        result = self.result
        if not result["answer"]:
            return "<p>There is none.</p>"
        so_far = (
            f'<p class="note">{self._line(headline(result))}</p>' if result["status"] in UNDECIDED else ""
        )
        final = result["final_answer"]
        short = (
            f'<p class="final">Final answer: <strong dir="auto">{self._line(final)}</strong></p>'
            if final
            else ""
        )
        return f"{so_far}{short}{self._block(result['answer'], 3)}"

    def _dissent(self) -> str:
        return "".join(
            f'<article class="said {self._colour(one["seat"])}">'
            f"<h3>{self._badge(one['seat'])}{self._name(place_name(one['seat'], one['model']))}</h3>"
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
            ("agreement", _share(result["agreement"], _by(self._rule()))),
            ("confidence", _share(result["confidence"], _by(result["confidence_rule"]))),
            ("rigor", _share(result["rigor"], "the share of challenges that were genuine")),
            ("took", taken(result)),
            ("settings", settings),
        ]
        rows = "".join(
            f"<div><dt>{name}</dt><dd>{self._name(value)}</dd></div>"
            for name, value in facts
            if value not in (None, "")
        )
        dropped = "".join(
            f'<p class="aside bad">dropped: {self._name(place_name(one["seat"], one["model"]))}: '
            f"{self._line(one['reason'])}</p>"
            for one in result["dropped"]
        )
        # Of the counts of each rule the last one decided; the others are told where they were made.
        last = {count.rule: (count, title) for count, title in self._counts()}
        counts = "".join(
            f"<h3>{self._line(title)}</h3>{self._count(count)}" for count, title in last.values()
        )
        return f"<dl>{rows}</dl>{dropped}{counts}"

    def _counts(self) -> list[tuple[VoteTallied, str]]:
        return [(one.event, one.entry.title) for one in self.told if isinstance(one.event, VoteTallied)]

    def _rule(self) -> str:
        """What the last count went by."""
        return "".join([count.rule for count, _ in self._counts()][-1:])

    def _count(self, count: VoteTallied) -> str:
        votes = sorted(count.tally.items(), key=lambda one: -one[1])
        cast = sum(count.tally.values()) or 1
        rows = [
            [
                self._name(name) + (" ✓" if name == count.winner else ""),
                f"{number:g}",
                f'<meter max="{cast:g}" value="{number:g}">{number:g}</meter>',
            ]
            for name, number in votes
        ]
        return table(f"Votes by {self._line(count.rule)}", ["for", "votes", ""], rows)

    def _sources(self) -> str:
        sources = self.result["detail"].get("sources")
        found = [one for one in sources if isinstance(one, Mapping)] if isinstance(sources, list) else []
        items = "".join(
            f"<li>[{self._line(one.get('n'))}] {link(flat(str(one.get('url'))), flat(str(one.get('title'))))}"
            f"{'' if one.get('cited') else ' <small>not cited</small>'}</li>"
            for one in found
        )
        unknown = ", ".join(f"[{n}]" for n in self.result["detail"].get("unknown_citations") or ())
        note = f'<p class="aside bad">cited, but no such source: {self._line(unknown)}</p>' if unknown else ""
        return f'<ul class="sources">{items}</ul>{note}' if items else ""

    def _seats(self) -> str:
        named = any(place.role for place in self.view.places.values())
        head = ["seat", "model", *(["role"] if named else []), "calls", "tokens in", "cached", "out", "cost"]
        rows = []
        for label in self.seats:
            place = self.view.places[label]
            who = [self._badge(label) + self._name(label), self._name(place.model)]
            rows.append([*who, *([self._name(place.role)] if named else []), *_figures(place)])
        return table("Seats", head, rows) if rows else ""

    def _said(self) -> str:
        size = sum(len(one.entry.text) for one in self.told if one.entry.kind in SAID)
        places = groupby(self.told, key=lambda one: whereabouts(one.event))
        return "".join(
            f'<section class="phase">{f"<h3>{self._line(where)}</h3>" if where else ""}'
            f"{''.join(self._one(one, where, size > FOLDED) for one in group)}</section>"
            for where, group in places
        )

    def _one(self, one: Told, where: str, folded: bool) -> str:
        event, entry = one.event, one.entry
        title = entry.title.removeprefix(where).removeprefix(" · ")
        facts = self._line(" · ".join(entry.facts))
        if isinstance(event, VoteTallied):
            return self._count(event)
        if entry.kind not in SAID:
            bad = "bad" if entry.kind in ("dropped", "unknown") else "odd"
            who = f"{self._name(title)}: " if title else ""
            return f'<p class="aside {bad}">{who}{self._line(entry.text)} <small>{facts}</small></p>'
        tool = entry.kind == "tool"
        body = f"<pre>{escape(safe(self.redact(entry.text)))}</pre>" if tool else self._block(entry.text, 4)
        begins = clip(unescape(re.sub(r"<[^>]*>", "", body)), 140)
        return (
            f'<details id="event-{event.seq}" class="said {"tool" if tool else self._colour(event.seat)}"'
            f"{'' if folded or tool else ' open'}>"
            f"<summary>{self._badge(event.seat)}<b>{self._name(title)}</b> "
            f'<small>{facts}</small><span class="begins" dir="auto">{escape(begins)}</span></summary>'
            f"{body}</details>"
        )

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
        return f'<footer class="note">run {run} · pnyx {version} · {self._line(taken(self.result))}</footer>'


def _share(share: float | None, rule: str) -> str | None:
    return None if share is None else f"{share:.0%}" + (f" ({rule})" if rule else "")


def _by(rule: str | None) -> str:
    return f"by {rule.replace('_', ' ')}" if rule else ""


def _figures(place: Place) -> Iterable[str]:
    counts = (place.calls, place.input_tokens, place.cached_tokens, place.output_tokens)
    return [*(f"{n:,}" for n in counts), money(place.cost_usd)]
