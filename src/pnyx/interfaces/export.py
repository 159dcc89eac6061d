"""A run as a file to keep or to pass on: JSON for programs, Markdown for people.

Made of the stored events and the result alone, so that the same run gives the same bytes. What models
and hosts said is quoted in Markdown such that no viewer runs or loads anything of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..core.events import to_json
from .records import Record
from .terminal import flat, safe
from .transcript import Transcript, money, place_name, quantity, seconds

__all__ = ["as_json", "as_markdown", "document"]

Redact = Callable[[str], str]
_FENCE = re.compile(r"( *)(`{3,}|~{3,})\s*(\w*)[^`]*")
_LIVE = re.compile(r"(?<!\\)((?:\\\\)*)(<(?=[A-Za-z/!?])|!(?=\[)|\](?=[(\[:])|`{3,}|~{3,})")
"""Where Markdown begins a tag, a comment, an image, a link's address or a code block, and is not escaped."""


def document(record: Record, redact: Redact = str) -> dict[str, Any]:
    """`{"result": …, "events": […]}`, texts redacted and otherwise exact."""
    whole = {"result": record.result.to_json(), "events": [to_json(event) for event in record.events]}
    redacted: dict[str, Any] = _mapped(whole, redact)
    return redacted


def as_json(record: Record, redact: Redact = str) -> str:
    return json.dumps(document(record, redact), indent=2) + "\n"


def _mapped(value: Any, change: Redact) -> Any:
    match value:
        case str():
            return change(value)
        case Mapping():
            return {change(str(key)): _mapped(item, change) for key, item in value.items()}
        case list() | tuple():
            return [_mapped(item, change) for item in value]
        case _:
            return value


def as_markdown(record: Record, redact: Redact = str) -> str:
    """The run as a document: question, answer, dissent, cost, and all that was said."""
    return redact("\n".join(_document(record)) + "\n")


def _document(record: Record) -> Iterator[str]:
    result, view = record.result.to_json(), Transcript()
    entries = [entry for event in record.events if (entry := view.add(event)) is not None]
    yield from (f"# Run {result['run_id']}", "", "## Question", "", *_quoted(result["question"]), "")
    if result["answer"]:
        yield from ("## Answer", "", *_quoted(result["answer"]), "")
    yield from ("## How it was decided", "", *_facts(result, record), "")
    if result["dissent"]:
        yield from ("## Dissent", "")
    for dissent in result["dissent"]:
        yield from (f"### {_plain(place_name(dissent['seat'], dissent['model']))}", "")
        yield from (*_quoted(dissent["text"]), "")
    yield from ("## What it took", "", "| model | calls | tokens in | cached | out | cost |")
    yield "|---|--:|--:|--:|--:|--:|"
    for total in view.by_model().values():
        counts = (total.calls, total.input_tokens, total.cached_tokens, total.output_tokens)
        yield f"| {_plain(total.model)} | {' | '.join(f'{n:,}' for n in counts)} | {money(total.cost_usd)} |"
    yield from ("", "## What was said", "")
    for entry in entries:
        facts = f" ({', '.join(entry.facts)})" if entry.facts else ""
        yield from (f"### {_plain(entry.title + facts)}", "", *_quoted(entry.text), "")


def _facts(result: Mapping[str, Any], record: Record) -> Iterator[str]:
    """One line for each key of the result that says how; absent ones are left out."""
    yield f"- protocol: {_plain(result['protocol'])}"
    yield f"- begun: {record.row.created_at}"
    for key in ("status", "stop_reason", "final_answer", "rigor", "agreement", "confidence", "rounds"):
        if result[key] not in (None, ""):
            yield f"- {key.replace('_', ' ')}: {_plain(str(result[key]))}"
    if result["confidence_rule"] is not None:
        yield f"- confidence by: {_plain(result['confidence_rule'])}"
    for seat in result["seats"]:
        role = f", as {seat['role']}" if seat["role"] else ""
        yield f"- seat: {_plain(place_name(seat['seat'], seat['model']) + role)}"
    for drop in result["dropped"]:
        yield f"- dropped: {_plain(place_name(drop['seat'], drop['model']))}: {_plain(drop['reason'])}"
    usage = result["usage"]
    tokens = f"{usage['input_tokens']:,} tokens in, {usage['output_tokens']:,} out"
    yield f"- {quantity(usage['calls'], 'call')}, {tokens}, {money(usage['cost_usd'])}"
    yield f"- time: {seconds(result['elapsed_s'])}"


def _plain(text: str) -> str:
    """`text` as one line in which Markdown sees nothing."""
    return re.sub(r"([\\`*_\[\]<>|#!~])", r"\\\1", flat(text))


def _quoted(text: str) -> Iterator[str]:
    """`text` as a block quote: its Markdown stays its own; its HTML, links and images stay text.

    Code blocks are written anew, at the margin and with a fence that is in none of them, and every
    other fence is escaped: what is code does not depend on how a viewer reads the text before it.
    """
    text = safe(text)
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
