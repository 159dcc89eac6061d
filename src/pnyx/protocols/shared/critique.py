"""What the challenges of a round say: which are substantive, which object, and who agrees on the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...core.answers.replies.extract import final_answer, same
from ...core.prose.substance import is_rubbish, is_substantive, names_something
from ...core.steps import Dissent, Reply
from ...core.sycophancy.detect import find_praise, has_objection, is_only_praise
from .evidence import OPEN, POOLED, Statement, agreed, stated, support_of

__all__ = ["CAPS", "Critique", "agreed_on", "decision_fields"]

CAPS = {"factual": 0.95, "technical": 0.90, "creative": 0.85, "judgment": 0.80, "strategic": 0.70}
"""The most support of an answer to a question of a kind."""


@dataclass(frozen=True, slots=True)
class Critique:
    """A challenge. flagged: the praise or agreement that it opens with, None for none.

    question: of the run, which can decide how its short answer is read. answer: the short answer of the
    decision, None without one.
    """

    reply: Reply
    flagged: str | None
    question: str | None = None
    answer: str | None = None

    @classmethod
    def of(cls, reply: Reply, question: str | None = None, answer: str | None = None) -> Critique:
        return cls(reply, find_praise(reply.text), question, answer)

    @property
    def is_substantive(self) -> bool:
        """Whether it counts for rigor: it does not open with praise, and says more than a verdict.

        To repeat the answer of the decision is to say nothing.
        """
        repeated = self.answer if self.answer and self.agrees_on(self.answer) else None
        return self.flagged is None and is_substantive(self.reply.text, repeated or "")

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
        if short is not None and (own := self.short) is not None:
            return names_something(own) and same(own, short)
        return self.flagged is not None and not self.objects and not is_rubbish(self.reply.text)


def decision_fields(
    replies: Sequence[Sequence[Reply]], critiques: Sequence[Critique], kind: str
) -> dict[str, Any]:
    """Return the fields of the `Decision` that follow from what seats wrote.

    replies: those of each phase, from the first proposal to the last revision, which is the answer.
    critiques: of the last round, at least one. kind: a key of `CAPS`, or "".
    """
    answer = replies[-1][0]
    short, counts = final_answer(answer.text, critiques[0].question), agreed_on(answer, critiques)
    # One that only repeats the answer does not object to it.
    objecting = [one for one in critiques if one.objects]
    against = [one.reply for one in objecting if one.is_substantive or not one.agrees_on(short)]
    return {
        "final_answer": short,
        "consensus_reached": counts["seats"] == counts["of"] > 1,
        "rigor": sum(one.is_substantive for one in critiques) / len(critiques),
        "dissent": tuple(Dissent(reply.seat.label, reply.seat.model, reply.text) for reply in against),
        **_support(replies, critiques, short, kind),
    }


def _support(
    replies: Sequence[Sequence[Reply]], critiques: Sequence[Critique], short: str | None, kind: str
) -> dict[str, Any]:
    """Return `support` and its rule; nothing if one seat wrote everything, or no critique says anything."""
    every = [(reply, turn) for turn, some in enumerate(replies) for reply in some]
    agreeing = [one.reply for one in critiques if one.agrees_on(short)]
    is_empty = not agreeing and not any(one.is_substantive for one in critiques)
    if short is None and is_only_praise(replies[-1][0].text):
        return {}
    if is_empty or len({reply.seat for reply, _ in every}) < 2:
        return {}
    if short is None:
        counts = agreed_on(replies[-1][0], critiques)
        found, rule = counts["seats"] / counts["of"], OPEN
    else:
        question = critiques[0].question
        known = [
            Statement(reply.seat, short, turn)
            if any(reply is one for one in agreeing)
            else stated(reply, turn, question)
            for reply, turn in every
        ]
        found, rule = support_of(short, known) or 0.0, POOLED
        if all(one.group is None for one in known):
            return {}
    capped = f", capped for {kind} questions" if kind else ""
    return {"support": min(found, CAPS.get(kind, 1.0)), "support_rule": rule + capped}


def agreed_on(answer: Reply, critiques: Sequence[Critique]) -> dict[str, int]:
    """Return `detail.agreed`: the author of the answer, and the other seats that hold it after the round.

    Nobody holds an answer that only praises: it answers nothing.
    """
    short = None if answer.truncated else final_answer(answer.text, critiques[0].question)
    is_answer = short is not None or not is_only_praise(answer.text)
    others = [one for one in critiques if one.reply.seat != answer.seat]
    behind = [(one.reply.seat, is_answer and one.agrees_on(short)) for one in others]
    return agreed([(answer.seat, True), *behind])
