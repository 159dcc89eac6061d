"""The input of a protocol (`Brief`), its result (`Decision`), and the statuses of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from .context.files import File
from .text import Material
from .tool_calls import ToolOffer

__all__ = [
    "AGREEMENT_KNOWN",
    "DECIDED",
    "FINAL",
    "STATUSES",
    "UNDECIDED",
    "Brief",
    "Decided",
    "Decision",
    "Dissent",
    "Given",
    "Status",
]

Decided: TypeAlias = Literal["consensus", "majority", "plurality", "decided", "stalled", "deadlock", "single"]
"""The status of a decision."""
Status: TypeAlias = Literal[Decided, "failed", "cancelled", "paused", "waiting", "running"]
"""The status of a run: of its decision, or why it has none. A waiting run is stored as running."""

DECIDED: tuple[Decided, ...] = get_args(Decided)
STATUSES: tuple[Status, ...] = get_args(Status)
UNDECIDED: tuple[Status, ...] = STATUSES[len(DECIDED) :]
"""Statuses of runs without a decision."""
FINAL: frozenset[Status] = frozenset((*DECIDED, "failed", "cancelled"))
"""Statuses of runs that are over."""
AGREEMENT_KNOWN: frozenset[Status] = frozenset(("consensus", "majority", "plurality", "stalled", "deadlock"))
"""Statuses that determine `consensus_reached` if the protocol does not set it."""


@dataclass(frozen=True, slots=True)
class Given:
    """An answer from before the run, with its reasoning, for protocols that accept such answers."""

    answer: str
    reasoning: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Brief:
    """The input of a run. today: ISO date; an input, so that a replay has the same date.

    context: material for the seats (earlier decisions, sources), fenced in prompts. responses: existing
    answers, one per seat in order. instructions: of the asker, for the content and form of the answer.
    offer: the asker's tools, None without any. files: what the question is about.
    """

    question: str
    today: str
    options: Mapping[str, Any] = field(default_factory=dict)
    context: tuple[Material, ...] = ()
    responses: tuple[Given, ...] = ()
    instructions: str = ""
    offer: ToolOffer | None = None
    files: tuple[File, ...] = ()


@dataclass(frozen=True, slots=True)
class Dissent:
    """A remaining objection. seat, model: who holds it, by label and model."""

    seat: str
    model: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The result of a protocol. Absent is None; shares, support and confidence are in [0, 1].

    status: consensus | majority | plurality | decided | stalled (the same objections again) | deadlock |
    single.
    support: the evidence for the answer, such as its posterior among the votes; not a probability that it is
    right, but what one is learned from. support_rule: the name of the rule that computed it.
    confidence, confidence_rule: filled by the run, from outcomes. A protocol leaves them alone; if it sets
    `confidence` and no `support`, that is read as its support.
    agreement: share of live seats that ended on this answer; None if the seats did not vote.
    rigor: the share of critiques that were substantive.
    consensus_reached: whether the seats agree on the answer; None: derived from the status.
    """

    answer: str
    status: Status = "decided"
    final_answer: str | None = None
    support: float | None = None
    support_rule: str | None = None
    confidence: float | None = None
    confidence_rule: str | None = None
    rigor: float | None = None
    agreement: float | None = None
    consensus_reached: bool | None = None
    dissent: tuple[Dissent, ...] = ()
    rounds: int = 1
    converged: bool | None = None
    stop_reason: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Protocols of before `support`, of packages and of stored runs, set `confidence` instead.
        if self.support is None and self.confidence is not None:
            object.__setattr__(self, "support", self.confidence)
            object.__setattr__(self, "support_rule", self.confidence_rule)
