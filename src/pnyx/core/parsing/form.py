"""Forms: what a verdict asks a model for, and how its reply is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ..steps import Reply, Schema
from ..thinking import Effort

__all__ = ["Form"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Form(Generic[T]):
    """The schema of a verdict and its two readers. Both raise `Unreadable`, with a message for the author.

    from_data: reads an object that satisfies the schema. from_prose: reads any other reply. schema,
    from_data: None if the verdict is a line of a text that is needed as well. effort: "none" for a short
    reply; see `Ask`. max_tokens: the limit of a short reply, see `reply_sizes`.
    """

    schema: Schema | None
    from_data: Callable[[Mapping[str, Any]], T] | None
    from_prose: Callable[[str], T]
    effort: Effort | None = None
    max_tokens: int | None = None

    def read(self, reply: Reply) -> T:
        """The verdict in `reply`, from its data if it is nothing but an object of the schema."""
        if self.from_data is not None and reply.source == "json":
            return self.from_data(reply.data)
        return self.from_prose(reply.text)
