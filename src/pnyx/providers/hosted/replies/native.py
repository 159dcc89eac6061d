"""Replies in a server's own form, which holds little but a text: of TGI, KoboldCpp, Triton, Titan, watsonx, …

Requests are never written in these forms. A gateway, or an address of the own API of a server, may answer
with one all the same, and what it wrote is paid for. One table serves all: where a text stands, how it ended
and what it cost have few names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .reply import Reader, mapping

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
_TEXTS = (
    *("token", "generated_text", "text_output", "outputText", "generation", "completion", "answer"),
    *("reply", "generated_texts"),
    *("text", "content", "results", "outputs", "generations", "completions", "predictions", "alternatives"),
    *("output", "candidates", "choices", "message", "data", "result", "tokens"),
)
"""Where a text is, or what holds it, in the order in which they are tried."""
_ENDS = (
    "finish_reason",
    "stop_reason",
    "finishReason",
    "completionReason",
    "done_reason",
    "reason",
    "stop_type",
)
_INPUT = (
    *("prompt_tokens", "input_tokens", "input_token_count", "prompt_token_count", "inputTextTokenCount"),
    *("inputTokenCount", "inputTextTokens", "num_tokens_prompt_total", "tokens_evaluated", "input"),
)
_OUTPUT = (
    *("completion_tokens", "output_tokens", "output_token_count", "generated_token_count"),
    *("generation_token_count", "generated_tokens", "totalOutputTextTokenCount", "outputTokenCount"),
    *("completionTokens", "tokenCount", "num_tokens_generated", "tokens_predicted", "output"),
)
_MAX_DEPTH = 6
_MAX_ITEMS = 100_000
"""Of texts in a list: Replicate sends one for each token."""
_FINISHED = ("succeeded", "COMPLETED")
"""States of Replicate and RunPod, whose replies say no reason."""


def is_native(document: Mapping[str, Any]) -> bool:
    """Whether a document that has no other form has a text in one of these."""
    signs = [name for name in _SIGNS & document.keys() if isinstance(document[name], str | list)]
    signs += [name for name in _HOLDERS if isinstance(document.get(name), Mapping)]
    if isinstance(document.get("stop"), bool) and isinstance(document.get("content"), str):
        signs.append("stop")  # of llama.cpp
    if "alternatives" in mapping(document.get("result")):  # of Yandex
        signs.append("result")
    return bool(signs) and _text(document) is not None


class NativeReader(Reader):
    def read(self, document: Mapping[str, Any]) -> Iterator[str]:
        text = _text(document)
        self.any = self.any or text is not None
        token = mapping(document.get("token"))
        if token and document.get("generated_text") is not None and self.text:
            text = None  # TGI's last event repeats all text
        if text and not token.get("special"):
            yield from self.piece(text)
        leaves = dict(_leaves(document))
        counts = {"prompt_tokens": _INPUT, "completion_tokens": _OUTPUT}
        found = {ours: _first(leaves, names) for ours, names in counts.items()}
        self.report_usage({ours: count for ours, count in found.items() if isinstance(count, int | str)})
        self.end(next((leaves[name] for name in _ENDS if isinstance(leaves.get(name), str)), None))
        self.done = self.done or document.get("status") in _FINISHED or document.get("stop") is True


def _text(value: Any, depth: int = 0) -> str | None:
    """The first text in `value`; None if it holds none."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        texts = value[:_MAX_ITEMS]
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


def _first(leaves: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((leaves[name] for name in names if isinstance(leaves.get(name), int | str)), None)
