"""Text of a stream, held back where it may be a tool call that a model writes as text.

What follows an opening of `written_calls` is held until the reply ends, unless it shows that it is none: it
is then passed on at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from ....core.caching.regex import regex

__all__ = ["HeldText"]

_CHANNEL = "<|channel|>commentary to="
_SURE = (
    *("<|python_tag|>", "<|tool_call|>", "<|tool_calls_section_begin|>", "<|tool_call_begin|>"),
    *("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜DSML｜", "<minimax:tool_call>"),
    *("<｜tool_calls_begin｜>", "<steptml:invoke", "<seed:tool_call>", "<longcat_tool_call>", "<TOOLCALL>"),
    *("<|START_ACTION|>", "<|action_start|>", "<|tool_call>", "<|tool_call_start|>"),
    *("<|open|>tools<|sep|>", "<|open|>call ", "<|content_invoke_tool_json|>"),
    "<|message_model|><|content_invoke_tool_json|>",
    *(_CHANNEL, f"<|start|>assistant{_CHANNEL}", f"<|end|><|start|>assistant{_CHANNEL}"),
    *("<|start|>assistant to=", "<|end|><|start|>assistant to="),
)
"""Openings that no text has."""
_TAGS = (
    *("<tool_call>", "<tool_calls>", "<function_call>", "<function_calls>", "<tool>", "<tools>"),
    *("[TOOL_CALLS]", "<function=", '<invoke name="'),
)
"""Openings that an answer may explain, or use for things of its own."""
_OPENINGS = (*_SURE, *_TAGS)
_OPENING = regex("|".join(map(re.escape, sorted(_OPENINGS, key=len, reverse=True))))
_LONGEST = max(map(len, _OPENINGS))
_THOUGHTS = {
    **{f"<{name}>": f"</{name}>" for name in ("think", "thinking", "thought", "reasoning")},
    **{"[THINK]": "[/THINK]", "◁think▷": "◁/think▷"},
}
_DECIDED = 400
"""Characters behind an opening after which it stays what it seems."""
_WORD = regex(r"[\w.-]*")
_KEY = regex(r"\{\s*\"([^\"]*)(\"?)|\{\s*$")
_KEYS = ("name", "type", "function", "arguments", "parameters")


class HeldText:
    """Passes pieces of a reply on to `show`, except what may be, or is, a call of a tool in `names`."""

    def __init__(self, names: Collection[str], show: Callable[[str], None]) -> None:
        self._names, self._show = names, show
        self._text, self._shown, self._tried = "", 0, 0
        self._is_first = True
        """Whether nothing but thoughts stands before `_shown`."""
        self._is_call = False

    def add(self, piece: str) -> None:
        self._text += piece
        if self._is_call:
            return
        while (place := self._opening()) is not None:
            self._pass_on(place)
            if self._may_be_call(place):
                self._is_call = len(self._text) - place > _DECIDED
                return
            self._tried, self._is_first = place + 1, False
        self._tried = self._certain()
        self._pass_on(self._tried)

    def end(self, text: str) -> None:
        """Pass on what the text of the reply, from which calls are taken out, has beyond what was shown."""
        shown = self._text[: self._shown]
        if text.startswith(shown):
            self._show(text[len(shown) :])

    def _pass_on(self, end: int) -> None:
        if end > self._shown:
            self._show(self._text[self._shown : end])
            self._shown = end

    def _opening(self) -> int | None:
        """Where the next text that may be a call starts."""
        found = _OPENING.search(self._text, self._tried)
        while found is not None and self._is_elsewhere(found.start()):
            found = _OPENING.search(self._text, found.end())
        if self._is_first and (place := self._text.find("{", self._tried)) >= 0:
            before = self._text[:place].strip()
            self._is_first = not before or before.endswith(tuple(_THOUGHTS.values()))
            if self._is_first and (found is None or place < found.start()):
                return place
        return None if found is None else found.start()

    def _is_elsewhere(self, place: int) -> bool:
        """Whether `place` is in code, or in thoughts, where nothing is a call."""
        if self._text.count("```", 0, place) % 2:
            return True
        rfind = self._text.rfind
        return any(rfind(opens, 0, place) > rfind(closes, 0, place) for opens, closes in _THOUGHTS.items())

    def _may_be_call(self, place: int) -> bool:
        """Whether the text from `place` on is a call, or may become one."""
        text = self._text
        if text.startswith("{", place):
            key = _KEY.match(text, place)
            return key is not None and (
                key[1] is None or key[1] in _KEYS or (not key[2] and any(k.startswith(key[1]) for k in _KEYS))
            )
        opening = _OPENING.match(text, place)
        if opening is None or opening[0] in _SURE:
            return True
        rest = text[opening.end() : opening.end() + _DECIDED].lstrip()
        if not rest or rest[0] in "{[<":
            return True
        word = _WORD.match(rest)[0]  # type: ignore[index]
        is_whole = len(word) < len(rest)
        return word in self._names or (not is_whole and any(name.startswith(word) for name in self._names))

    def _certain(self) -> int:
        """Where the end of the text may become an opening; else its length."""
        text = self._text
        for place in range(max(self._shown, self._tried, len(text) - _LONGEST), len(text)):
            if text[place] in "<[" and any(one.startswith(text[place:]) for one in _OPENINGS):
                return place
        return len(text)
