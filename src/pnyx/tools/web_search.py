"""`web_search`: asks a search service, and shows what it found as a numbered list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.toolcalls import ToolSpec
from .arguments import number, text
from .engines import Engine, Source

__all__ = ["WebSearch", "numbered"]

MOST = 20
SNIPPET = 600


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


def numbered(sources: list[Source]) -> str:
    """Title, address and extract of each source, counted from 1."""
    return "\n".join(
        f"{n}. {source.title}\n   {source.url}\n   {source.text[:SNIPPET]}"
        for n, source in enumerate(sources, 1)
    )
