"""Replies of the Gemini dialect."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from ...base import FinishReason
from .reply import Reader, ToolCallParts, first_of, items, mapping, text_of

__all__ = ["GoogleReader"]

NUMBERS = {1: "STOP", 2: "MAX_TOKENS", 3: "SAFETY", 4: "RECITATION"}
"""Finish reasons as protocol buffers number them, where all versions of the API agree."""


class GoogleReader(Reader):
    def read(self, document: Mapping[str, Any]) -> Iterator[str]:
        document = mapping(document.get("response")) or document  # of Google's own gateways
        self.model = text_of(_get(document, "modelVersion")) or self.model
        self.report_usage(_get(document, "usageMetadata"))
        block = text_of(_get(mapping(_get(document, "promptFeedback")), "blockReason"))
        if block and block != "BLOCK_REASON_UNSPECIFIED":
            self.any, self.finish = True, block
            self.blocked = True
        if document.get("candidates") == [] and self.usage:
            self.any = self.done = True  # an empty reply
        for candidate in first_of(document.get("candidates")):
            yield from self._candidate(candidate)

    blocked = False
    """Whether the request itself was blocked."""

    def finish_reason(self) -> FinishReason:
        return "filter" if self.blocked else super().finish_reason()

    def _candidate(self, candidate: Mapping[str, Any]) -> Iterator[str]:
        content = candidate.get("content")
        self.any = self.any or "content" in candidate or bool(_get(candidate, "finishReason"))
        parts = mapping(content).get("parts") if isinstance(content, Mapping) else content
        for part in [parts] if isinstance(parts, str) else items(parts):
            yield from self._part({"text": part} if isinstance(part, str) else mapping(part))
        finish = _get(candidate, "finishReason")
        if finish not in (0, "FINISH_REASON_UNSPECIFIED"):
            self.end(NUMBERS.get(finish, finish) if isinstance(finish, int) else finish)
        self._ground(mapping(_get(candidate, "groundingMetadata")))

    def _part(self, part: Mapping[str, Any]) -> Iterator[str]:
        if call := mapping(_get(part, "functionCall")):
            tool = ToolCallParts(text_of(call.get("id")), text_of(call.get("name")))
            arguments = call.get("args")
            if isinstance(arguments, str):
                tool.written.append(arguments)
            else:
                tool.value = arguments if isinstance(arguments, Mapping) else {}
            self.tools[len(self.tools)] = tool
        elif _get(part, "toolCall") or _get(part, "toolResponse") or _get(part, "executableCode"):
            self.interrupt()
        elif part.get("thought") in (True, "true"):
            self.think(part.get("text"))
        else:
            yield from self.piece(part.get("text"))

    def _ground(self, found: Mapping[str, Any]) -> None:
        queries = _get(found, "webSearchQueries")
        if isinstance(queries, list) and queries:
            # Gemini bills each query from version 3 on, before that each reply that searched.
            version = re.search(r"gemini-(\d+)", self.model)
            self.searches = len(queries) if version is None or int(version[1]) >= 3 else 1
        chunks = items(_get(found, "groundingChunks"))
        pages = [mapping(mapping(chunk).get("web")).get("uri") for chunk in chunks]
        for support in items(_get(found, "groundingSupports")):
            for n in items(_get(mapping(support), "groundingChunkIndices")):
                if isinstance(n, int) and 0 <= n < len(pages):
                    self.cite(pages[n])


def _get(document: Mapping[str, Any], name: str) -> Any:
    """A field by its name in JSON, or by its name in the protocol buffers, which some proxies use."""
    found = document.get(name)
    return document.get(_snake_case(name)) if found is None else found


@cache
def _snake_case(name: str) -> str:
    return re.sub("[A-Z]", lambda match: f"_{match[0].lower()}", name)
