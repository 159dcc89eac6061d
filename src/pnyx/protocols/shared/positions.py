"""Answer groups: which seats hold the same answer. Code compares short answers, a judge compares texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...core.answers.replies.extract import final_answer
from ...core.answers.same.grouping import find_group, group_answers
from ...core.models import Seat, strongest
from ...core.parsing.partitions import groups_form
from ...core.parsing.positions import Position
from ...core.steps import Panel, Reply
from ...core.text import Draft, Material
from ...core.voting.stopping import MIN_ANSWERS, STOP_POSTERIOR, posterior
from ...core.voting.tally import VoteCount, break_tie, by_seat
from ...errors import SeatAbsent
from ...prompts import load
from .transcript import Transcript
from .verdict import ask_verdict

__all__ = ["AnswerGroups", "StatedAnswer", "is_sure", "leader", "representative", "tally"]

SAME, TEXTS, LABELS = load("camps"), load("camps-texts"), load("camps-labels")
JUDGES = 2
"""Seats, cheapest first, that are called as judges before texts count as different."""


@dataclass(frozen=True, slots=True)
class StatedAnswer:
    """An answer and its author.

    short: its short answer, None without one. group: the name of its answer group. critique: the author's
    objections to other answers, shown to the other seats only. repeated: kept from an earlier round, because
    the seat took no new position in this one.
    """

    seat: Seat
    text: str
    short: str | None
    group: str = ""
    critique: str = ""
    repeated: bool = False

    @classmethod
    def of(cls, reply: Reply, question: str | None = None) -> StatedAnswer:
        """The answer of a reply to `question`; one that was cut off has no short answer."""
        short = None if reply.truncated else final_answer(reply.text, question)
        return cls(reply.seat, reply.text, short)

    @classmethod
    def of_position(cls, seat: Seat, position: Position, question: str | None) -> StatedAnswer:
        """The answer of a debate's turn, with its short answer in its text."""
        complete = position.answer is None or final_answer(position.decision, question) is not None
        text = position.decision if complete else f"{position.decision}\n\nFinal answer: {position.answer}"
        return cls(seat, text, position.answer, critique=position.critique)

    @property
    def text_for_seats(self) -> str:
        """The text that the other seats read."""
        return f"{self.text}\n\nWhat it finds wrong: {self.critique}" if self.critique else self.text

    @property
    def ballot(self) -> dict[str, Any]:
        """The seat, its model and its answer, for `Result.detail`."""
        return {"seat": self.seat.label, "model": self.seat.model, "answer": self.group}


@dataclass(slots=True)
class AnswerGroups:
    """The answer groups of a run. Each keeps its name for the whole run.

    A group is named after its short answer, or after the first seat that stated it. shown: text of an answer
    -> label of the contribution to the transcript that contains it. texts: name -> a text that states it.
    wordings: name -> short answers. judged: whether a judge compared texts; None if none was
    needed.
    """

    panel: Panel
    transcript: Transcript
    shown: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    wordings: dict[str, tuple[str, ...]] = field(default_factory=dict)
    judged: bool | None = None

    def show(self, kind: str, answers: Sequence[StatedAnswer]) -> dict[str, str]:
        """Add answers to the transcript; returns their labels in it, by author."""
        labels = self.transcript.add_all(kind, {one.seat.label: one.text_for_seats for one in answers})
        self.shown |= {one.text: labels[one.seat.label] for one in answers}
        return labels

    async def assign(self, answers: Sequence[StatedAnswer]) -> list[StatedAnswer]:
        """Return `answers` with their groups; calls the cheapest model once if an answer is not short."""
        question = self.transcript.question
        names = [find_group(one.short, self.wordings, question) for one in answers]
        unknown = [one.short for one, name in zip(answers, names, strict=True) if name is None]
        new = group_answers(unknown, question)
        self.wordings |= new
        names = [
            name or find_group(one.short, new, question) for one, name in zip(answers, names, strict=True)
        ]
        for one, name in zip(answers, names, strict=True):
            if name is not None:
                self.texts.setdefault(name, one.text)
        loose = [one for one, name in zip(answers, names, strict=True) if name is None]
        judged = iter(await self._judge(loose) if loose else ())
        return [replace(one, group=name or next(judged)) for one, name in zip(answers, names, strict=True)]

    async def _judge(self, loose: Sequence[StatedAnswer]) -> list[str]:
        """Return the groups of answers that code cannot compare; without a verdict each has its own group."""
        known = list(self.texts)
        texts = [*self.texts.values(), *(one.text for one in loose)]
        order = self.panel.shuffle(range(len(texts)), "camps", len(known), loose[0].seat.label)
        partition = await self._partition([texts[place] for place in order]) if len(texts) > 1 else []
        together = [{order[n - 1] for n in group} for group in partition]
        names: list[str] = []
        for place, one in enumerate(loose, len(known)):
            mates = sorted(next((group for group in together if place in group), ()))
            # The judge may not merge groups that code separates: a text in two known groups joins neither.
            old = [known[mate] for mate in mates if mate < len(known)]
            new = [names[mate - len(known)] for mate in mates if len(known) <= mate < place]
            found = (old or new)[:1] if len(old) < 2 else []
            names.append(found[0] if found else self._add_group(one))
        return names

    async def _partition(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the judge's groups of equal texts, by number from 1; empty without a verdict."""
        draft, form = self._draft(texts), groups_form(len(texts))
        for seat in self.panel.by_cost[:JUDGES]:
            try:
                verdict = await ask_verdict(self.panel, seat, draft, form)
            except SeatAbsent:
                continue
            self.judged = self.judged is not False
            return verdict.value
        self.judged = False
        return []

    def _draft(self, texts: Sequence[str]) -> Draft:
        """Return the prompt for the judge, which refers to the transcript if that has all texts."""
        numbered = TEXTS(texts=[Material(f"Text {n}", text) for n, text in enumerate(texts, 1)])
        labels = [self.shown[text] for text in texts if text in self.shown]
        if len(labels) < len(texts):
            return self.transcript.opening(SAME(texts=numbered))
        listed = LABELS(labels="\n".join(f'{n}: "{label}"' for n, label in enumerate(labels, 1)))
        draft = SAME(texts=replace(listed, short=numbered.variant(short=True)))
        return self.transcript.task(draft, labels, short=())

    def _add_group(self, one: StatedAnswer) -> str:
        """Add a group named after the author of its first answer; returns the name."""
        name = f"{one.seat.label}'s answer"
        taken = sum(group == name or group.startswith(f"{name} (") for group in self.texts)
        name = f"{name} ({taken + 1})" if taken else name
        self.texts[name] = one.text
        return name


def leader(answers: Sequence[StatedAnswer], by: Sequence[Mapping[str, float]] = ()) -> str:
    """Return the group with the most answers; a tie goes by `by`, then by the strongest seat."""
    ranked = _ranked(answers)
    return break_tie(tally(ranked).leaders, by, [one.group for one in ranked])


def tally(answers: Sequence[StatedAnswer]) -> VoteCount:
    """Return the votes for each group."""
    return by_seat([one.group for one in answers], [one.seat for one in answers])


def is_sure(answers: Sequence[StatedAnswer]) -> bool:
    """Whether the posterior of the leading answer reaches `STOP_POSTERIOR`; never without learned weights.

    Each model counts once: a model that repeats itself is no further evidence.
    """
    models = list({one.seat.model: one for one in reversed(answers)}.values())
    if len(models) < MIN_ANSWERS or any(one.seat.weight is None for one in models):
        return False
    weights = {one.seat.weight for one in models}
    return weights != {0.0} and max(posterior(tally(models).counts).values()) >= STOP_POSTERIOR


def representative(answers: Sequence[StatedAnswer], group: str) -> StatedAnswer:
    """Return the strongest seat's answer in `group`, or of all answers if the group has none."""
    ranked = _ranked(answers)
    return next((one for one in ranked if one.group == group), ranked[0])


def _ranked(answers: Sequence[StatedAnswer]) -> list[StatedAnswer]:
    rank = {seat: place for place, seat in enumerate(strongest(tuple(one.seat for one in answers)))}
    return sorted(answers, key=lambda one: rank[one.seat])
