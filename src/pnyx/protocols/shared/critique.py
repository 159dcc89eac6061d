"""What the challenges of a round say: which are substantive, which object, and who agrees on the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...core.answers.extract import final_answer, same
from ...core.steps import Dissent, Reply
from ...core.substance import is_rubbish, is_substantive, names_something
from ...core.sycophancy.detect import find_praise, has_objection
from .evidence import agreed

__all__ = ["Critique", "agreed_on", "dissent", "rigor"]


@dataclass(frozen=True, slots=True)
class Critique:
    """A challenge. flagged: the praise or agreement that it opens with, None for none.

    question: of the run, which can decide how its short answer is read.
    """

    reply: Reply
    flagged: str | None
    question: str | None = None

    @classmethod
    def of(cls, reply: Reply, question: str | None = None) -> Critique:
        return cls(reply, find_praise(reply.text), question)

    @property
    def is_substantive(self) -> bool:
        """Whether it counts for rigor: it does not open with praise, and says more than a verdict."""
        return self.flagged is None and is_substantive(self.reply.text)

    @property
    def objects(self) -> bool:
        """Whether it objects. An objection after praise is one too; blank text and loops are none."""
        text = self.reply.text
        return not is_rubbish(text) and (self.flagged is None or has_objection(text))

    @property
    def short(self) -> str | None:
        """The short answer that it ends on."""
        return None if self.reply.truncated else final_answer(self.reply.text, self.question)

    def agrees_on(self, short: str | None) -> bool:
        """Whether its seat holds the same answer: it ends on the same short one, or only agrees.

        What says nothing is no agreement, nor is the "wrong" that is read at the end of an empty sentence.
        """
        if self.short is not None and short is not None:
            return names_something(self.short) and same(self.short, short)
        return self.flagged is not None and not self.objects and not is_rubbish(self.reply.text)


def rigor(critiques: Sequence[Critique]) -> float:
    """Return the share of critiques that are substantive, in [0, 1]."""
    return sum(one.is_substantive for one in critiques) / len(critiques)


def dissent(critiques: Sequence[Critique], short: str | None) -> tuple[Dissent, ...]:
    """Return the critiques that object. short: of the decision; what only repeats it does not object."""
    objecting = [one for one in critiques if one.objects]
    replies = [one.reply for one in objecting if one.is_substantive or not one.agrees_on(short)]
    return tuple(Dissent(reply.seat.label, reply.seat.model, reply.text) for reply in replies)


def agreed_on(answer: Reply, critiques: Sequence[Critique]) -> dict[str, int]:
    """Return `detail.agreed`: the author of the answer, and the other seats that hold it after the round."""
    short = None if answer.truncated else final_answer(answer.text, critiques[0].question)
    others = [one for one in critiques if one.reply.seat != answer.seat]
    return agreed([(answer.seat, True), *((one.reply.seat, one.agrees_on(short)) for one in others)])
