"""Grounding (`--ground`): a web search for the question before the run; every seat reads the same sources.

Seats cite a source by its number in brackets. The decision lists the sources that its answer cites, and the
cited numbers that no source has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...core.caching.regex import regex
from ...core.protocol import Script
from ...core.steps import Brief, Decision, Panel, Use
from ...core.text import Material
from ...errors import NoSources

__all__ = ["TOOL", "citations", "grounded"]

TOOL = "find_sources"
"""The tool that searches; its result is a JSON list of {title, url, text}."""
QUERY = 400
"""Characters of the question that are searched for; search services refuse much longer queries."""
WIDEST = 20
"""Sources that one range may span. A wider range, as in "a scale of [1-100]", is no citation."""
_SPAN = r"[1-9]\d{0,2}(?:\s*[-\u2013\u2014]\s*[1-9]\d{0,2})?"
_LIST = rf"{_SPAN}(?:\s*[,;]\s*{_SPAN})*"
_RUN = rf"(?:\[{_LIST}\]|【{_LIST}】)+"
# Directly behind a word, brackets may be an index: a citation only if the sentence pauses or goes on.
_PAUSE = r"(?=[.,;!?)\"'\u201d\u2019]*(?:\Z|\s(?!\s*[=+*/<>])))"
_CITED = regex(rf"(?<![\w\]]){_RUN}(?![(:])|(?<=[^\W\d_]){_RUN}{_PAUSE}")
_CODE = regex(r"\n[ \t]*(```|~~~).*?\n[ \t]*\1", re.DOTALL)
"""A fence of code. One that opens the text encloses all of it, and does not match."""
_FROM_TO = regex(r"(\d+)(?:\s*[-\u2013\u2014]\s*(\d+))?")


def grounded(script: Script) -> Script:
    """Return `script` with a search before it. It raises `NoSources` if the search fails or finds nothing."""

    async def search_first(brief: Brief, panel: Panel) -> Decision:
        query = " ".join(brief.question.split())[:QUERY]
        found = await Use(None, TOOL, {"query": query})
        if not found.ok:
            raise NoSources(f"the search for sources failed: {found.text}")
        sources: list[Mapping[str, str]] = json.loads(found.text)
        if not sources:
            raise NoSources('the search found no source for the question: reword it, or ask without "ground"')
        materials = tuple(_material(n, source) for n, source in enumerate(sources, 1))
        decision = await script(replace(brief, context=(*brief.context, *materials)), panel)
        return replace(decision, detail={**decision.detail, **_citation_detail(decision.answer, sources)})

    return search_first


def citations(text: str) -> list[int]:
    """Return the numbers that `text` cites, as in "[2]", "[1, 3]" or "[1-3]", each once, in order."""
    spans = _FROM_TO.findall(" ".join(_CITED.findall(_CODE.sub("\n", text))))
    return list(dict.fromkeys(n for first, last in spans for n in _between(int(first), int(last or first))))


def _between(first: int, last: int) -> range:
    return range(first, last + 1) if last - first < WIDEST else range(0)


def _material(n: int, source: Mapping[str, str]) -> Material:
    return Material(f"source [{n}]", "\n".join((source["title"], source["url"], source["text"])))


def _citation_detail(answer: str, sources: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    cited = citations(answer)
    return {
        "sources": [
            {"n": n, "title": source["title"], "url": source["url"], "cited": n in cited}
            for n, source in enumerate(sources, 1)
        ],
        "unknown_citations": [n for n in cited if not 1 <= n <= len(sources)],
    }
