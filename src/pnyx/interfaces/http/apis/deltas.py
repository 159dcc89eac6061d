"""The text of an answer while it is written: which part of it can be sent already.

Only what is certain to be in the answer is sent: the limits of the request act on the text so far, and white
space at its end waits. What the final answer does not begin with was not certain after all. That is so if the
writer's call failed and another one wrote the answer, and for models that end their thinking without having
begun it; the text of such a model is not sent early again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ....core.events import CallFailed, CallStarted, Event, Token
from .answer import limited
from .conversation import Conversation

__all__ = ["Deltas"]


@dataclass
class Deltas:
    """The text of one answer. rewriters: models whose text was not the final one before; it is added to."""

    conversation: Conversation
    rewriters: set[str]
    sent: str = ""
    _text: str = ""
    _key: str | None = None
    _stopped: bool = False
    _failed: bool = False
    _models: dict[str, str] = field(default_factory=dict)

    def add(self, event: Event) -> str:
        """Return the next piece of the answer, "" if there is none."""
        match event:
            case CallStarted():
                self._models[event.key] = event.model
                self._restart(event.key)
            case CallFailed():
                self._restart(event.key)
            case Token(answer=True):
                return self._written(event)
        return ""

    def rest(self, text: str) -> str | None:
        """Return what is left to send of the final text, without white space before it.

        None if other text was sent.
        """
        if not self.sent:
            return text
        final = text.lstrip()
        if final.startswith(self.sent):
            return final[len(self.sent) :]
        if not self._failed and self._key in self._models:
            self.rewriters.add(self._models[self._key])
        return None

    def _restart(self, key: str) -> None:
        """Forget the text of a call that has failed or begins again; what was sent of it stays sent."""
        if key == self._key:
            self._key, self._text = None, ""
            self._failed = self._stopped = bool(self.sent)

    def _written(self, token: Token) -> str:
        if self._key is None and not self._stopped:
            self._key = token.key
        if self._stopped or token.key != self._key or self._models.get(token.key) in self.rewriters:
            return ""
        self._text += token.text
        text, finish, _ = limited(self._text, self.conversation)
        if finish != "stop_sequence":
            # The end may be the start of a sequence that ends the answer.
            waits = max((len(one) - 1 for one in self.conversation.stop if one), default=0)
            text, _, _ = limited(self._text[: max(0, len(self._text) - waits)], self.conversation)
        certain = text.strip()
        piece = certain[len(self.sent) :]
        self.sent += piece
        return piece
