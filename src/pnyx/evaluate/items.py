"""A question with its right answer, as every dataset gives it."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from reprlib import repr as brief
from typing import Literal, TypeAlias

from ..core.answers.equivalence import read
from ..errors import UsageError

__all__ = ["GRADERS", "Grader", "Item"]

Grader: TypeAlias = Literal["exact", "choice", "numeric", "judge"]
GRADERS: tuple[Grader, ...] = ("exact", "choice", "numeric", "judge")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A question of a test set.

    target: the right answer; with `choices` the letter of the right one (A for the first), or its text.
    choices: the texts of the options. grader: how answers are compared with the target; None: by the letter
    where there are choices, else exactly after normalisation. tolerance: relative, of `numeric`.
    Raises `UsageError` for what no answer could be right about.
    """

    id: str
    question: str
    target: str
    choices: tuple[str, ...] = ()
    category: str | None = None
    grader: Grader | None = None
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if not self.question.strip() or not self.target.strip():
            raise UsageError(f"question {self.id!r} has no {'text' if self.target.strip() else 'target'}")
        if self.choices:
            object.__setattr__(self, "target", _letter(self))
        elif self.grader == "choice":
            raise UsageError(f"question {self.id!r} is to be graded by choice, and has no choices")
        elif self.grader == "numeric" and read(self.target).quantity is None:
            told = f"its target {brief(self.target)} is no number; another grader can tell"
            raise UsageError(f"question {self.id!r} is to be graded as a number, and {told}")

    @property
    def graded_by(self) -> Grader:
        return self.grader or ("choice" if self.choices else "exact")

    @property
    def asked(self) -> str:
        """The question as it is put to models: with its options, each behind its letter."""
        if not self.choices:
            return self.question
        return "\n".join([self.question, "", *_options(self.choices)])


def _options(choices: Sequence[str]) -> list[str]:
    return [f"{letter}) {text}" for letter, text in zip(string.ascii_uppercase, choices, strict=False)]


def _letter(item: Item) -> str:
    letters = string.ascii_uppercase[: len(item.choices)]
    if not 2 <= len(item.choices) <= len(string.ascii_uppercase):
        raise UsageError(f"question {item.id!r} has {len(item.choices)} choices; 2 to 26 can be lettered")
    lettered = len(item.target) == 1 and item.target in letters
    if item.choices.count(item.target) == 1:
        letter = letters[item.choices.index(item.target)]
        if lettered and letter != item.target:
            told = f"its target {item.target!r} is the letter of one choice and the text of another"
            raise UsageError(f"question {item.id!r}: {told}; reorder the choices, or word them longer")
        return letter
    if lettered:
        return item.target
    raise UsageError(f"question {item.id!r}: its target {item.target!r} is none of its choices")
