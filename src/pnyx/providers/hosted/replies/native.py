"""Replies in a server's own form, which holds little but a text: of TGI, KoboldCpp, Triton, Titan, watsonx, …

Requests are never written in these forms. A gateway, or an address of the own API of a server, may answer
with one all the same, and what it wrote is paid for. One table serves all: where a text stands, how it ended
and what it cost have few names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..usage import counts_in, find
from .finishes import reason_of
from .reply import ENDS, THOUGHT_PARTS, Reader, items, mapping, text_of

__all__ = ["NativeReader", "is_native"]

_SIGNS = frozenset(
    (
        *(
            "generated_text",
            "generated_texts",
            "reply",
            "text_output",
            "outputText",
            "generation",
            "answer",
            "output",
            "token",
        ),
        *("results", "outputs", "generations", "completion", "completions", "predictions", "alternatives"),
    )
)
"""Keys of documents of these forms, whose values are texts or lists."""
_HOLDERS = frozenset(("token", "predictions"))
"""Those whose values may also be objects, which other forms have under the rest."""
_COMPANY = frozenset(("meta_info", "input_tokens", *ENDS))
"""What stands beside a text: of SGLang, LMDeploy and Cohere's first API."""
_GROWING = frozenset(("meta_info", "result"))
"""Keys of documents of a stream that have all of the text so far: of SGLang and of Yandex."""
_TEXTS = (
    *("token", "generated_text", "text_output", "outputText", "generation", "completion", "answer"),
    *("reply", "generated_texts"),
    *("text", "content", "results", "outputs", "generations", "completions", "predictions", "alternatives"),
    *("output", "candidates", "choices", "message", "data", "result", "tokens"),
)
"""Where a text is, or what holds it, in the order in which they are tried."""
_MAX_DEPTH = 6
_MAX_ITEMS = 100_000
"""Of texts in a list: Replicate sends one for each token."""
_FINISHED = ("succeeded", "COMPLETED", "_FINAL", "message_end")
"""States of Replicate, RunPod and Yandex, and an event of Dify, whose replies say no reason."""


def is_native(document: Mapping[str, Any]) -> bool:
    """Whether a document that has no other form has a text in one of these."""
    signs = [name for name in _SIGNS & document.keys() if isinstance(document[name], str | list)]
    signs += [name for name in _HOLDERS if isinstance(document.get(name), Mapping)]
    if isinstance(document.get("stop"), bool) and isinstance(document.get("content"), str):
        signs.append("stop")  # of llama.cpp
    if "alternatives" in mapping(document.get("result")):  # of Yandex
        signs.append("result")
    if isinstance(document.get("text"), str) and _COMPANY & document.keys():
        signs.append("text")
    return bool(signs) and _text(document) is not None


class NativeReader(Reader):
    def read(self, document: Mapping[str, Any]) -> Iterator[str]:
        text = _text(document)
        self.any = self.any or text is not None
        token = mapping(document.get("token"))
        if token and document.get("generated_text") is not None and self.text:
            text = None  # TGI's last event repeats all text
        if text and _GROWING & document.keys():
            text = text.removeprefix("".join(self.text))
        for name in ("output", "outputs"):
            for part in items(document.get(name)):
                if _is_thought(part):
                    self.think(text_of(part))
        if text and not token.get("special"):
            yield from self.piece(text)
        leaves = dict(_leaves(document))
        self.report_usage(find(document) or counts_in(leaves))
        self.end(
            next((leaves[name] for name in (*ENDS, "reason") if isinstance(leaves.get(name), str)), None)
        )
        state = text_of(document.get("status") or document.get("event") or leaves.get("status"))
        if reason_of(state) != "stop":
            self.end(state)
        self.done = self.done or state.endswith(_FINISHED) or document.get("stop") is True


def _is_thought(part: Any) -> bool:
    return mapping(part).get("type") in THOUGHT_PARTS


def _text(value: Any, depth: int = 0) -> str | None:
    """The first text in `value`; None if it holds none."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        texts = [one for one in value[:_MAX_ITEMS] if not _is_thought(one)]
        if texts and all(isinstance(one, str) for one in texts):
            return "".join(texts)
        value = texts[0] if texts else None
    if not isinstance(value, Mapping) or depth >= _MAX_DEPTH:
        return None
    found = (_text(value[name], depth + 1) for name in _TEXTS if value.get(name) is not None)
    return next((one for one in found if one is not None), None)


def _leaves(value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield names and values that are no object or list, the outer ones last."""
    for name, one in value.items() if isinstance(value, Mapping) else ():
        first = one[0] if isinstance(one, list) and one else one
        if isinstance(first, Mapping) and depth < _MAX_DEPTH:
            yield from _leaves(first, depth + 1)
        elif not isinstance(one, list):
            yield str(name), one
