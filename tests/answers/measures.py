"""How often a judge is right about pairs, and how often an answer is read as a careful reader reads it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

from tests.answers.judges import Judge, time_limit
from tests.answers.material import Pair, WrittenReply


@dataclass(slots=True)
class Count:
    """What a judge said of the pairs of one kind."""

    same: int = 0  # pairs that are the same
    different: int = 0
    found: int = 0  # the same, and called so
    false_equal: int = 0  # different, and called the same
    faults: int = 0  # pairs at which the judge raised or ran out of time; counted as called different
    seconds: float = 0.0
    wrong: list[Pair] = field(default_factory=list)

    @property
    def n(self) -> int:
        return self.same + self.different

    @property
    def precision(self) -> float:
        """Of the pairs called the same, the share that is; 1 where none was."""
        called = self.found + self.false_equal
        return self.found / called if called else 1.0

    @property
    def recall(self) -> float:
        return self.found / self.same if self.same else 1.0

    @property
    def false_equal_share(self) -> float:
        """Of the near-misses, the share called the same."""
        return self.false_equal / self.different if self.different else 0.0

    def add(self, pair: Pair, said: bool, seconds: float) -> None:
        self.seconds += seconds
        self.same += pair.same
        self.different += not pair.same
        self.found += pair.same and said
        self.false_equal += said and not pair.same
        if said != pair.same:
            self.wrong.append(pair)


def count(judge: Judge, pairs: Iterable[Pair], *, forgive: bool = False) -> dict[str, Count]:
    """The counts of each kind, in order of appearance. With `forgive`, what a judge raises is counted."""
    kinds: dict[str, Count] = {}
    for pair in pairs:
        kind = kinds.setdefault(pair.kind, Count())
        start = time.perf_counter()
        said = False
        try:
            with time_limit() if forgive else nullcontext():
                said = judge(pair.a, pair.b, pair.question)
        except Exception:  # another's tool may raise anything; the report prints how often it did
            if not forgive:
                raise
            kind.faults += 1
        kind.add(pair, said, time.perf_counter() - start)
    return kinds


def total(kinds: Iterable[Count]) -> Count:
    whole = Count()
    for kind in kinds:
        whole.same += kind.same
        whole.different += kind.different
        whole.found += kind.found
        whole.false_equal += kind.false_equal
        whole.faults += kind.faults
        whole.seconds += kind.seconds
        whole.wrong += kind.wrong
    return whole


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read in a reply."""

    reply: WrittenReply
    answer: str | None
    right: bool


Read = Callable[[str, str | None], str | None]  # a reply, the question → its answer


def read_all(read: Read, judge: Judge, replies: Sequence[WrittenReply]) -> list[Reading]:
    """A reading is right when it is the expected answer, or the same answer by `judge`."""
    readings = []
    for reply in replies:
        answer = read(reply.text, reply.question)
        if answer is None or reply.answer is None:
            right = answer is reply.answer
        else:
            right = answer == reply.answer or judge(answer, reply.answer, reply.question)
        readings.append(Reading(reply, answer, right))
    return readings
