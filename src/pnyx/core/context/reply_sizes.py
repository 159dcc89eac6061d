"""How long replies are, by what they are: their limit and their usual length. The only table of these.

A limit holds the longest valid reply with its reasons in any language: about 100 words for a ballot, and some
languages take four tokens for a word. It makes the reservation of a short call small. It never cuts a reply
off for good: one that ends there is asked for again under the limit of the run (`run.calls.call`).

The usual lengths are those of English replies to our prompts. They only serve the expected cost of a run.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "ANSWER",
    "APPROVAL",
    "BALLOT",
    "CHALLENGE",
    "GROUPS",
    "PLAN",
    "QUESTION_CLASS",
    "RAISE",
    "REBUTTAL",
    "REVIEW",
    "ReplySize",
]


RAISE = 2
"""Times the limit of the run that a reply without an answer is asked for again with."""


@dataclass(frozen=True, slots=True)
class ReplySize:
    """The length of one kind of reply, in tokens. limit: None is that of the run, `run.max_output_tokens`."""

    usual: int
    limit: int | None = None


ANSWER = ReplySize(450)
"""An answer, a proposal, a position, a revision, a merged text, or a judgement with the better answer."""
CHALLENGE = ReplySize(250, 2048)
"""The objections of one seat to one answer, at most 250 words."""
REVIEW = ReplySize(250)
"""What one seat finds wrong with one proposal. A review of several is as many times as long."""
REBUTTAL = ReplySize(250)
"""A reply to reviews. It has no limit of its own, since it may contain a new proposal."""
BALLOT = ReplySize(80, 1024)
"""A vote with its reason and a ranking."""
APPROVAL = ReplySize(30, 1024)
"""A yes, or a no with its reason."""
QUESTION_CLASS = ReplySize(15, 512)
"""One word out of a few."""
GROUPS = ReplySize(40, 1024)
"""The numbers of texts that say the same."""
PLAN = ReplySize(250, 2048)
"""At most seven subtasks, each a question of its own."""
