"""Replies of hosts that search the web themselves: searches, results, citations.

searches: query -> the URLs of the pages found. Shapes are those of the vendors' SDKs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = [
    "LEAD",
    "anthropic_citations",
    "anthropic_search",
    "google_grounding",
    "google_search",
    "openrouter_annotations",
]

Searches = Mapping[str, Sequence[str]]

LEAD = "I will look that up."
"""The text before a search in the Anthropic dialect, as Claude writes one."""


def anthropic_search(searches: Searches) -> list[dict[str, Any]]:
    """Return the blocks before the answer. Results are encrypted, and long."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": LEAD}] if searches else []
    for i, (query, pages) in enumerate(searches.items()):
        use = {
            "type": "server_tool_use",
            "id": f"srvtoolu_{i:05}",
            "name": "web_search",
            "input": {"query": query},
        }
        found = [
            {
                "type": "web_search_result",
                "url": page,
                "title": f"Title of {page}",
                "encrypted_content": "EqgfCio" + "IARgBIi" * 1000,
                "page_age": "April 30, 2025",
            }
            for page in pages
        ]
        blocks += [use, {"type": "web_search_tool_result", "tool_use_id": use["id"], "content": found}]
    return blocks


def anthropic_citations(text: str, searches: Searches) -> list[dict[str, Any]]:
    return [
        {
            "type": "web_search_result_location",
            "url": page,
            "title": f"Title of {page}",
            "encrypted_index": "Eo8BCioIAhgBIiQyYjQ0",
            "cited_text": text[:150],
        }
        for pages in searches.values()
        for page in pages
    ]


def google_search(request: Mapping[str, Any], searches: Searches) -> list[dict[str, Any]]:
    """Return the parts before the answer, which Gemini 3 sends on request."""
    if not request.get("toolConfig", {}).get("includeServerSideToolInvocations"):
        return []
    parts: list[dict[str, Any]] = []
    for i, query in enumerate(searches):
        tool = {"toolType": "GOOGLE_SEARCH_WEB", "id": f"search-{i}"}
        parts += [
            {"toolCall": {**tool, "args": {"queries": [query]}}},
            {"toolResponse": {**tool, "response": {"search_suggestions": "<div>chips</div>"}}},
        ]
    return parts


def google_grounding(text: str, searches: Searches) -> dict[str, Any]:
    pages = [page for found in searches.values() for page in found]
    return {
        "webSearchQueries": list(searches),
        "searchEntryPoint": {"renderedContent": "<div class='chip'>…</div>"},
        "groundingChunks": [{"web": {"uri": page, "title": "example.org"}} for page in pages],
        "groundingSupports": [
            {
                "segment": {"endIndex": len(text.encode()), "text": text},
                "groundingChunkIndices": list(range(len(pages))),
            }
        ],
    }


def openrouter_annotations(text: str, searches: Searches) -> list[dict[str, Any]]:
    place = {"start_index": 0, "end_index": len(text)}
    return [
        {"type": "url_citation", "url_citation": {"url": page, "title": "A page", "content": "…", **place}}
        for pages in searches.values()
        for page in pages
    ]
