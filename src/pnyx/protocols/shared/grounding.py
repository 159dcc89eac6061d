"""Grounding (`--ground`): the web is searched for the question, and every seat gets the same sources.

Seats cite a source by its number in brackets; the decision says which sources its answer cites, and
which numbers it cites that no source has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...core.protocol import Script
from ...core.regex import regex
from ...core.steps import Brief, Decision, Panel, Use
from ...core.text import Material
from ...errors import NoSources

__all__ = ["TOOL", "citations", "grounded"]

TOOL = "find_sources"
"""The tool that searches; its result is a JSON list of {title, url, text}."""
QUERY = 400
"""Characters of the question that are searched for; services refuse much more."""
WIDEST = 20
"""Sources that one range may span: a wider one, as in "a scale of [1-100]", counts something else."""
_SPAN = r"[1-9]\d{0,2}(?:\s*[-\u2013\u2014]\s*[1-9]\d{0,2})?"
_LIST = rf"{_SPAN}(?:\s*[,;]\s*{_SPAN})*"
_RUN = rf"(?:\[{_LIST}\]|【{_LIST}】)+"
# Right behind a word it may be an index; only a sentence pauses or ends there, or goes on in words.
_PAUSE = r"(?=[.,;!?)\"'\u201d\u2019]*(?:\Z|\s(?!\s*[=+*/<>])))"
_CITED = regex(rf"(?<![\w\]]){_RUN}(?![(:])|(?<=[^\W\d_]){_RUN}{_PAUSE}")
_CODE = regex(r"\n[ \t]*(```|~~~).*?\n[ \t]*\1", re.DOTALL)
"""A fence of code; one that opens the text is around all of it."""
_FROM_TO = regex(r"(\d+)(?:\s*[-\u2013\u2014]\s*(\d+))?")


def grounded(script: Script) -> Script:
    """`script`, with a search before it. It raises `NoSources` when the search fails or finds nothing."""

    async def search_first(brief: Brief, panel: Panel) -> Decision:
        query = " ".join(brief.question.split())[:QUERY]
        found = await Use(None, TOOL, {"query": query})
        if not found.ok:
            raise NoSources(f"the search for sources failed: {found.text}")
        sources: list[Mapping[str, str]] = json.loads(found.text)
        if not sources:
            raise NoSources("the search found no source for the question: reword it, or ask without --ground")
        shown = tuple(_shown(n, source) for n, source in enumerate(sources, 1))
        decision = await script(replace(brief, context=(*brief.context, *shown)), panel)
        return replace(decision, detail={**decision.detail, **_cited(decision.answer, sources)})

    return search_first


def citations(text: str) -> list[int]:
    """The numbers cited in `text`, as in "[2]", "[1, 3]" or "[1-3]", each once, in order."""
    spans = _FROM_TO.findall(" ".join(_CITED.findall(_CODE.sub("\n", text))))
    return list(dict.fromkeys(n for first, last in spans for n in _between(int(first), int(last or first))))


def _between(first: int, last: int) -> range:
    return range(first, last + 1) if last - first < WIDEST else range(0)


def _shown(n: int, source: Mapping[str, str]) -> Material:
    return Material(f"source [{n}]", "\n".join((source["title"], source["url"], source["text"])))


def _cited(answer: str, sources: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    cited = citations(answer)
    return {
        "sources": [
            {"n": n, "title": source["title"], "url": source["url"], "cited": n in cited}
            for n, source in enumerate(sources, 1)
        ],
        "unknown_citations": [n for n in cited if not 1 <= n <= len(sources)],
    }
