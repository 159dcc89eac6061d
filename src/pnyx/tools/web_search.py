"""`web_search`: asks a search service, and shows what it found as a numbered list."""

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
"""Characters of a source that are shown."""
FOUND = 12_000
"""Characters of all sources of a run: less than a tool's result may have."""


class WebSearch:
    """The tool. results: how many a search gives where the model does not say."""

    spec = ToolSpec(
        "web_search",
        "Search the web. Gives titles, addresses and short extracts; read_page reads a whole page.",
        {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "what to look for"},
                "max_results": {"type": "integer", "description": f"how many results, at most {MOST}"},
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
        return numbered(found) or f"nothing was found for {query!r}"


class FindSources:
    """Finds what a whole run is grounded on; offered to no model. Gives a JSON list of {title, url, text}.

    A source whose address is too long to be cited is left out.
    """

    spec = ToolSpec("find_sources", "Find sources on the web for a question.", {"type": "object"})

    def __init__(self, engine: Engine, results: int) -> None:
        self._engine = engine
        self._results = results

    async def run(self, arguments: Mapping[str, Any]) -> str:
        found = await self._engine.search(text(arguments, "query"), self._results)
        kept = [
            {"title": source.title[:TITLE], "url": source.url, "text": source.text[:SNIPPET]}
            for source in found
            if source.url and len(source.url) <= ADDRESS
        ]
        while len(told := json.dumps(kept, ensure_ascii=False)) > FOUND:
            kept.pop()
        return told


def numbered(sources: list[Source]) -> str:
    """Title, address and extract of each source, counted from 1."""
    return "\n".join(
        f"{n}. {source.title}\n   {source.url}\n   {source.text[:SNIPPET]}"
        for n, source in enumerate(sources, 1)
    )
