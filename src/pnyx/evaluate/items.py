"""A question with its right answer, in the form that every dataset returns."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from reprlib import repr as brief
from typing import Literal, TypeAlias

from ..core.answers.same.equivalence import read
from ..errors import UsageError

__all__ = ["GRADERS", "Grader", "Item"]

Grader: TypeAlias = Literal["exact", "choice", "numeric", "judge"]
GRADERS: tuple[Grader, ...] = ("exact", "choice", "numeric", "judge")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A question of a test set.

    target: the right answer; with `choices`, the letter of the right option (A for the first) or its text.
    choices: the texts of the options. grader: how an answer is compared with the target; None selects
    `choice` if there are choices, else `exact`. tolerance: the relative error that `numeric` accepts.
    Raises `UsageError` if no answer could be right.
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
            raise UsageError(f"question {self.id!r} uses the choice grader but has no choices; add them")
        elif self.grader == "numeric" and read(self.target).quantity is None:
            problem = f"its target {brief(self.target)} is not a number; choose another grader"
            raise UsageError(f"question {self.id!r} uses the numeric grader, but {problem}")

    @property
    def effective_grader(self) -> Grader:
        """The grader, after the default."""
        return self.grader or ("choice" if self.choices else "exact")

    @property
    def prompt(self) -> str:
        """The question as the models receive it: with its options, each after its letter."""
        if not self.choices:
            return self.question
        return "\n".join([self.question, "", *_options(self.choices)])


def _options(choices: Sequence[str]) -> list[str]:
    return [f"{letter}) {text}" for letter, text in zip(string.ascii_uppercase, choices, strict=False)]


def _letter(item: Item) -> str:
    letters = string.ascii_uppercase[: len(item.choices)]
    if not 2 <= len(item.choices) <= len(string.ascii_uppercase):
        raise UsageError(f"question {item.id!r} has {len(item.choices)} choices; it needs 2 to 26")
    is_letter = len(item.target) == 1 and item.target in letters
    if item.choices.count(item.target) == 1:
        letter = letters[item.choices.index(item.target)]
        if is_letter and letter != item.target:
            problem = f"its target {item.target!r} is the letter of one choice and the text of another"
            raise UsageError(f"question {item.id!r}: {problem}; reorder the choices or use longer texts")
        return letter
    if is_letter:
        return item.target
    raise UsageError(f"question {item.id!r}: its target {item.target!r} is not one of its choices")
