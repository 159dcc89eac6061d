"""`web_search`: queries a search service and returns the results as a numbered list."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..core.tool_calls import ToolSpec
from .arguments import number, text
from .engines import Engine, Source

__all__ = ["FindSources", "WebSearch", "numbered"]

MOST = 20
SNIPPET, TITLE, ADDRESS = 600, 200, 500
"""Characters of a source that are used."""
FOUND = 12_000
"""Characters of all sources of a run together: less than the limit of a tool's result."""


class WebSearch:
    """The tool. results: number of results by default."""

    spec = ToolSpec(
        "web_search",
        "Search the web. Returns titles, URLs and short extracts; read_page reads a whole page.",
        {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "search terms"},
                "max_results": {"type": "integer", "description": f"number of results, at most {MOST}"},
            },
            "required": ["query"],
        },
    )

    def __init__(self, engine: Engine, results: int) -> None:
        self._engine = engine
        self._results = results

    async def run(self, arguments: Mapping[str, Any]) -> str:
        query = " ".join(text(arguments, "query").split())[:400]
        found = await self._engine.search(query, number(arguments, "max_results", self._results, MOST))
        return numbered(found) or f"no results for {query!r}"


class FindSources:
    """The search of a grounded run, not offered to models. Returns a JSON list of {title, url, text}.

    Sources whose URL is too long to cite are left out.
    """

    spec = ToolSpec("find_sources", "Find sources on the web for a question.", {"type": "object"})

    def __init__(self, engine: Engine, results: int) -> None:
        self._engine = engine
        self._results = results

    async def run(self, arguments: Mapping[str, Any]) -> str:
        found = await self._engine.search(text(arguments, "query"), self._results)
        sources = [
            {"title": source.title[:TITLE], "url": source.url, "text": source.text[:SNIPPET]}
            for source in found
            if source.url and len(source.url) <= ADDRESS
        ]
        while len(document := json.dumps(sources, ensure_ascii=False)) > FOUND:
            sources.pop()
        return document


def numbered(sources: list[Source]) -> str:
    """Return the title, URL and extract of each source, numbered from 1."""
    return "\n".join(
        f"{n}. {source.title}\n   {source.url}\n   {source.text[:SNIPPET]}"
        for n, source in enumerate(sources, 1)
    )
