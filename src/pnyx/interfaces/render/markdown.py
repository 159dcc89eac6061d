"""A run as a file to keep or to pass on: JSON for programs, Markdown for people.

Made of the stored events and the result alone, so that the same run gives the same bytes. What models
and hosts said is quoted in Markdown such that no viewer runs or loads anything of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...core.events import to_json
from ...core.models import money
from ...core.regex import regex
from ...providers.redaction import redact_json
from ..views.records import Record
from ..views.transcript import Entry, Transcript, place_name, quantity, seconds
from .terminal import flat, safe

__all__ = ["Markdown", "Redact", "as_json", "as_markdown", "as_summary", "document"]

Redact = Callable[[str], str]
_FENCE = regex(r"( *)(`{3,}|~{3,})\s*(\w*)[^`]*")
_LIVE = regex(r"(?<!\\)((?:\\\\)*)(<(?=[A-Za-z/!?])|!(?=\[)|\](?=[(\[:])|`{3,}|~{3,})")
"""Where Markdown begins a tag, a comment, an image, a link's address or a code block, and is not escaped."""


def document(record: Record, redact: Redact = str) -> dict[str, Any]:
    """`{"result": …, "events": […]}`, texts redact_json and otherwise exact."""
    whole = {"result": record.document, "events": [to_json(event) for event in record.events]}
    masked: dict[str, Any] = redact_json(whole, redact)
    return masked


def as_json(record: Record, redact: Redact = str) -> str:
    return json.dumps(document(record, redact), indent=2) + "\n"


def as_markdown(record: Record, redact: Redact = str) -> str:
    """The run as a document: question, answer, dissent, cost, and all that was said."""
    return "\n".join(_document(record, Markdown(redact))) + "\n"


def _document(record: Record, page: Markdown) -> Iterator[str]:
    result, view = record.document, Transcript()
    entries = [entry for event in record.events if (entry := view.add(event)) is not None]
    yield from (f"# Run {result['run_id']}", "", "## Question", "", *page.quoted(result["question"]), "")
    yield from _decision(record, page)
    yield from (*page.costs(view), "## What was said", "")
    for entry in entries:
        yield from page.said(entry, "###")


def as_summary(record: Record, redact: Redact = str) -> str:
    """The run in short: answer, how it was decided, what it cost, dissent."""
    page = Markdown(redact)
    return "\n".join([f"# Run {record.row.id}", "", *_decision(record, page)]).rstrip() + "\n"


def _decision(record: Record, page: Markdown) -> Iterator[str]:
    result = record.document
    if result["answer"]:
        yield from ("## Answer", "", *page.quoted(result["answer"]), "")
    yield from ("## How it was decided", "", *page.facts(result, record.row.created_at), "")
    yield from page.dissent(result)


@dataclass(frozen=True, slots=True)
class Markdown:
    """Texts of others as lines of Markdown: nothing in them is live, and secrets are masked."""

    redact: Redact = str

    def plain(self, text: str) -> str:
        """`text` as one line in which Markdown sees nothing."""
        return re.sub(r"([\\`*_\[\]<>|#!~])", r"\\\1", flat(self.redact(text)))

    def quoted(self, text: str) -> Iterator[str]:
        """`text` as a block quote: its Markdown stays its own; its HTML, links and images stay text.

        Code blocks are written anew, at the margin and with a fence that is in none of them, and every
        other fence is escaped: what is code does not depend on how a viewer reads the text before it.
        """
        text = safe(self.redact(text))
        mark = "`" * (1 + max(2, *map(len, re.findall("`+", text)), 0))
        fence = indent = ""
        for line in text.split("\n"):
            if fence:
                closing = line.strip()
                if len(closing) >= len(fence) and not closing.strip(fence[0]):
                    fence, line = "", mark
                else:
                    line = line.removeprefix(indent)
            elif opening := _FENCE.fullmatch(line):
                indent, fence, language = opening.groups()
                line = mark + language
            else:
                line = _LIVE.sub(r"\1\\\2", line)
            yield f"> {line}".rstrip()
        if fence:
            yield f"> {mark}"

    def said(self, entry: Entry, level: str) -> Iterator[str]:
        """One thing of the record under a heading of its own."""
        facts = f" ({', '.join(entry.facts)})" if entry.facts else ""
        yield from (f"{level} {self.plain(entry.title + facts)}", "", *self.quoted(entry.text), "")

    def facts(self, result: Mapping[str, Any], begun: str) -> Iterator[str]:
        """One line for each key of the result that says how; absent ones are left out."""
        yield f"- protocol: {self.plain(result['protocol'])}"
        yield f"- begun: {begun}"
        for key in ("status", "stop_reason", "final_answer", "rigor", "agreement", "confidence", "rounds"):
            if result[key] not in (None, ""):
                yield f"- {key.replace('_', ' ')}: {self.plain(str(result[key]))}"
        if result["confidence_rule"] is not None:
            yield f"- confidence by: {self.plain(result['confidence_rule'])}"
        for seat in result["seats"]:
            role = f", as {seat['role']}" if seat["role"] else ""
            yield f"- seat: {self.plain(place_name(seat['seat'], seat['model']) + role)}"
        for drop in result["dropped"]:
            dropped = place_name(drop["seat"], drop["model"])
            yield f"- dropped: {self.plain(dropped)}: {self.plain(drop['reason'])}"
        usage = result["usage"]
        tokens = f"{usage['input_tokens']:,} tokens in, {usage['output_tokens']:,} out"
        yield f"- {quantity(usage['calls'], 'call')}, {tokens}, {money(usage['cost_usd'])}"
        yield f"- time: {seconds(result['elapsed_s'])}"

    def dissent(self, result: Mapping[str, Any]) -> Iterator[str]:
        """Who still disagrees, and why."""
        if result["dissent"]:
            yield from ("## Dissent", "")
        for dissent in result["dissent"]:
            yield from (f"### {self.plain(place_name(dissent['seat'], dissent['model']))}", "")
            yield from (*self.quoted(dissent["text"]), "")

    def costs(self, view: Transcript) -> Iterator[str]:
        """What each model took."""
        yield from ("## What it took", "", "| model | calls | tokens in | cached | out | cost |")
        yield "|---|--:|--:|--:|--:|--:|"
        for total in view.by_model().values():
            counts = (total.calls, total.input_tokens, total.cached_tokens, total.output_tokens)
            figures = " | ".join(f"{n:,}" for n in counts)
            yield f"| {self.plain(total.model)} | {figures} | {money(total.cost_usd)} |"
        yield ""
