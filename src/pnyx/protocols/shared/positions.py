"""Who holds the same answer as whom: told by code from short answers, by a judge where there are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...core.answers.extract import final_answer
from ...core.answers.grouping import find_group, group_answers
from ...core.models import Seat, cheapest, strongest
from ...core.parsing.partitions import groups_form
from ...core.steps import Panel, Reply
from ...core.tally import VoteCount, break_tie, by_seat
from ...core.text import Draft, Material
from ...errors import SeatAbsent
from ...prompts import load
from .verdict import ask_verdict

__all__ = ["Camps", "Stated", "leader", "tally", "voice"]

SAME = load("camps")
JUDGES = 2
"""Seats, cheapest first, that are tried as judges before texts count as different."""


@dataclass(frozen=True, slots=True)
class Stated:
    """An answer and its author.

    short: None where it has no short answer. camp: the answer it amounts to. critique: what its author says
    against other answers, which is for the others and not for the asker. held: not said anew in its round.
    """

    seat: Seat
    text: str
    short: str | None
    camp: str = ""
    critique: str = ""
    held: bool = False

    @classmethod
    def of(cls, reply: Reply) -> Stated:
        return cls(reply.seat, reply.text, None if reply.truncated else final_answer(reply.text))

    @property
    def shown(self) -> str:
        """What the other seats read of it."""
        return f"{self.text}\n\nWhat it finds wrong: {self.critique}" if self.critique else self.text

    @property
    def ballot(self) -> dict[str, Any]:
        """Who is for what, for the result."""
        return {"seat": self.seat.label, "model": self.seat.model, "answer": self.camp}


@dataclass(slots=True)
class Camps:
    """The different answers that are on the table so far; each keeps its name for the whole run.

    A camp is named after its short answer, or after who stated it first. texts: name -> a text that states
    it. wordings: name -> short answers. judged: whether a judge told free texts apart; None where code could.
    """

    panel: Panel
    asked: str | Draft
    texts: dict[str, str] = field(default_factory=dict)
    wordings: dict[str, tuple[str, ...]] = field(default_factory=dict)
    judged: bool | None = None

    async def place(self, said: Sequence[Stated]) -> list[Stated]:
        """`said`, each with its camp; takes one call of the cheapest model where an answer is not short."""
        names = [find_group(one.short, self.wordings) for one in said]
        fresh = group_answers([one.short for one, name in zip(said, names, strict=True) if name is None])
        self.wordings |= fresh
        names = [name or find_group(one.short, fresh) for one, name in zip(said, names, strict=True)]
        for one, name in zip(said, names, strict=True):
            if name is not None:
                self.texts.setdefault(name, one.text)
        loose = [one for one, name in zip(said, names, strict=True) if name is None]
        told = iter(await self._judge(loose) if loose else ())
        return [replace(one, camp=name or next(told)) for one, name in zip(said, names, strict=True)]

    async def _judge(self, loose: Sequence[Stated]) -> list[str]:
        """The camps of answers that code cannot compare; without a verdict each has one of its own."""
        known = list(self.texts)
        texts = [*self.texts.values(), *(one.text for one in loose)]
        order = self.panel.shuffle(range(len(texts)), "camps", len(known), loose[0].seat.label)
        groups = await self._groups([texts[place] for place in order]) if len(texts) > 1 else []
        together = [{order[n - 1] for n in group} for group in groups]
        out: list[str] = []
        for place, one in enumerate(loose, len(known)):
            mates = sorted(next((group for group in together if place in group), ()))
            # The judge may not join what code has told apart, so a text beside two known camps is in neither.
            old = [known[mate] for mate in mates if mate < len(known)]
            new = [out[mate - len(known)] for mate in mates if len(known) <= mate < place]
            found = (old or new)[:1] if len(old) < 2 else []
            out.append(found[0] if found else self._found(one))
        return out

    async def _groups(self, texts: Sequence[str]) -> list[list[int]]:
        shown = [Material(f"Text {n}", text) for n, text in enumerate(texts, 1)]
        draft, form = SAME(question=self.asked, texts=shown), groups_form(len(texts))
        for seat in cheapest(self.panel.seats)[:JUDGES]:
            try:
                verdict = await ask_verdict(self.panel, seat, draft, form)
            except SeatAbsent:
                continue
            self.judged = self.judged is not False
            return verdict.value
        self.judged = False
        return []

    def _found(self, one: Stated) -> str:
        """A new camp with the name of its founder."""
        name = f"{one.seat.label}'s answer"
        taken = sum(camp == name or camp.startswith(f"{name} (") for camp in self.texts)
        name = f"{name} ({taken + 1})" if taken else name
        self.texts[name] = one.text
        return name


def leader(said: Sequence[Stated], by: Sequence[Mapping[str, float]] = ()) -> str:
    """The camp with the most of `said`; of several the first in `by`, then the one of the strongest seat."""
    ranked = _ranked(said)
    return break_tie(tally(ranked).leaders, by, [one.camp for one in ranked])


def tally(said: Sequence[Stated]) -> VoteCount:
    """The camps by the votes for them."""
    return by_seat([one.camp for one in said], [one.seat for one in said])


def voice(said: Sequence[Stated], camp: str) -> Stated:
    """Of those who hold the answer `camp`, the strongest seat; all of `said` where nobody does."""
    ranked = _ranked(said)
    return next((one for one in ranked if one.camp == camp), ranked[0])


def _ranked(said: Sequence[Stated]) -> list[Stated]:
    rank = {seat: place for place, seat in enumerate(strongest(tuple(one.seat for one in said)))}
    return sorted(said, key=lambda one: rank[one.seat])
