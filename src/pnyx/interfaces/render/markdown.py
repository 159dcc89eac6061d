"""A run as Markdown, for people; `run_json` has the JSON.

It depends on the stored events and the result only, so the same run always produces the same bytes. Text
from models and hosts is quoted such that no Markdown viewer runs or loads anything in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...core.caching.regex import regex
from ...core.models import money
from ..views.certainty import certainty
from ..views.files import file_words, files_of
from ..views.overview import overview
from ..views.records import Record
from ..views.transcript import Entry, Transcript, quantity, seat_name, seconds
from ..views.vote_only import vote_line
from .markdown_overview import overview_lines
from .terminal import flat, safe

__all__ = ["Markdown", "Redact", "as_markdown", "as_summary", "part_of_transcript"]

Redact = Callable[[str], str]
_FENCE = regex(r"( *)(`{3,}|~{3,})\s*(\w*)[^`]*")
_LIVE = regex(r"(?<!\\)((?:\\\\)*)(<(?=[A-Za-z/!?])|!(?=\[)|\](?=[(\[:])|`{3,}|~{3,})")
"""The start of a tag, comment, image, link address or code block in Markdown that is not escaped."""
_MARKS = ("<", "![", "](", "][", "]:", "```", "~~~")
"""One of these is in every match."""


def as_markdown(record: Record, redact: Redact = str, reasoning: bool = True) -> str:
    """The run as a document: question, answer, dissent, cost and transcript. reasoning: include it."""
    return "\n".join(_document(record, Markdown(redact), reasoning)) + "\n"


def _document(record: Record, markdown: Markdown, reasoning: bool) -> Iterator[str]:
    view = Transcript()
    entries = [entry for event in record.events if (entry := view.add(event)) is not None]
    yield from _head(record, markdown, view, overview(record.events))
    for entry in entries:
        yield from markdown.entry(entry, "###")
        if reasoning:
            yield from markdown.reasoning(entry, "####")


def _head(record: Record, markdown: Markdown, view: Transcript, found: Mapping[str, Any]) -> Iterator[str]:
    """What comes before the entries. view: after all events. found: the overview."""
    result = record.document
    yield from (f"# Run {result['run_id']}", "", "## Question", "", *markdown.quoted(result["question"]), "")
    if files := files_of(record.events):
        yield from ("## Files", "", *(f"- {markdown.plain(file_words(row))}" for row in files), "")
    yield from _decision(record, markdown)
    yield from overview_lines(found, markdown.plain)
    yield from (*markdown.costs(view), "## Transcript", "")


def part_of_transcript(
    record: Record, redact: Redact, found: Mapping[str, Any], after: int, most_chars: int
) -> tuple[str, int | None]:
    """A part of the document without reasoning, and the `after` of the next part, None after the last.

    found: the overview of the run. after: the `seq` of the last event of the part before; 0 for the first
    part, which has all that comes before the entries too. most_chars: of a part with more than one entry.
    """
    markdown, view, chars, last = Markdown(redact), Transcript(), 0, after
    entries: list[str] = []
    following: int | None = None
    for event in record.events:
        entry = view.add(event)
        if entry is None or following is not None or (event.seq or 0) <= after:
            continue
        text = "\n".join(markdown.entry(entry, "###"))
        chars += len(text)
        if entries and chars > most_chars:
            following = last
            continue
        entries.append(text)
        last = event.seq or last
    head = [] if after else _head(record, markdown, view, found)
    return "\n".join([*head, *entries]) + "\n", following


def as_summary(record: Record, redact: Redact) -> str:
    """A summary of the run: answer, decision, cost and dissent."""
    markdown = Markdown(redact)
    return "\n".join([f"# Run {record.row.id}", "", *_decision(record, markdown)]).rstrip() + "\n"


def _decision(record: Record, markdown: Markdown) -> Iterator[str]:
    result = record.document
    if result["answer"]:
        yield from ("## Answer", "", *markdown.quoted(result["answer"]), "")
    yield from ("## How it was decided", "", *markdown.facts(result, record.row.created_at), "")
    yield from markdown.dissent(result)


@dataclass(frozen=True, slots=True)
class Markdown:
    """Untrusted text as lines of Markdown: nothing in it is active, and secrets are masked."""

    redact: Redact = str

    def plain(self, text: str) -> str:
        """`text` as one line with all Markdown escaped."""
        return re.sub(r"([\\`*_\[\]<>|#!~])", r"\\\1", flat(self.redact(text)))

    def quoted(self, text: str) -> Iterator[str]:
        """`text` as a block quote. Its Markdown works inside the quote; HTML, links and images are escaped.

        Code blocks are rewritten with a fence that does not occur in the text, and every other fence is
        escaped, so that what is code does not depend on the viewer.
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
            elif any(map(line.__contains__, _MARKS)):  # the pattern is tried at every character
                line = _LIVE.sub(r"\1\\\2", line)
            yield f"> {line}".rstrip()
        if fence:
            yield f"> {mark}"

    def entry(self, entry: Entry, level: str) -> Iterator[str]:
        """An entry of the transcript under a heading. level: the marks of the heading, such as "##"."""
        facts = f" ({', '.join(entry.facts)})" if entry.facts else ""
        yield from (f"{level} {self.plain(entry.title + facts)}", "", *self.quoted(entry.text), "")

    def reasoning(self, entry: Entry, level: str) -> Iterator[str]:
        """The reasoning of an entry under a heading; nothing if it has none."""
        if entry.reasoning:
            yield from (f"{level} Reasoning", "", *self.quoted(entry.reasoning), "")

    def facts(self, result: Mapping[str, Any], created_at: str) -> Iterator[str]:
        """The facts of the decision, one line each; unknown ones are left out."""
        yield f"- protocol: {self.plain(result['protocol'])}"
        yield f"- started: {created_at}"
        for key in ("status", "stop_reason", "final_answer", "rounds"):
            if result[key] not in (None, ""):
                yield f"- {key.replace('_', ' ')}: {self.plain(str(result[key]))}"
        for name, words in certainty(result).items():
            yield f"- {name}: {self.plain(words)}"
        if vote := vote_line(result):
            yield f"- {self.plain(vote)}"
        for seat in result["seats"]:
            role = f", as {seat['role']}" if seat["role"] else ""
            yield f"- seat: {self.plain(seat_name(seat['seat'], seat['model']) + role)}"
        for drop in result["dropped"]:
            dropped = seat_name(drop["seat"], drop["model"])
            yield f"- dropped: {self.plain(dropped)}: {self.plain(drop['reason'])}"
        usage = result["usage"]
        tokens = f"{usage['input_tokens']:,} tokens in, {usage['output_tokens']:,} out"
        yield f"- {quantity(usage['calls'], 'call')}, {tokens}, {money(usage['cost_usd'])}"
        yield f"- time: {seconds(result['elapsed_s'])}"

    def dissent(self, result: Mapping[str, Any]) -> Iterator[str]:
        """The remaining objections, each with its seat and model."""
        if result["dissent"]:
            yield from ("## Dissent", "")
        for dissent in result["dissent"]:
            yield from (f"### {self.plain(seat_name(dissent['seat'], dissent['model']))}", "")
            yield from (*self.quoted(dissent["text"]), "")

    def costs(self, view: Transcript) -> Iterator[str]:
        """The usage and cost of each model."""
        yield from ("## Usage", "", "| model | calls | tokens in | cached | out | cost |")
        yield "|---|--:|--:|--:|--:|--:|"
        for total in view.by_model().values():
            counts = (total.calls, total.input_tokens, total.cached_tokens, total.output_tokens)
            figures = " | ".join(f"{n:,}" for n in counts)
            yield f"| {self.plain(total.model)} | {figures} | {money(total.cost_usd)} |"
        yield ""
