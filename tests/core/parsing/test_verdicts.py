"""Readers of verdicts, against a corpus of replies.

A line of `corpora/verdicts.jsonl` is a reply and the expected result: `want`, the parts of the verdict that
matter, or null if the reply must be refused, with a pattern of the message in `says`. `own` is the author's
label.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.parsing.authorship import MAX_CHARS
from pnyx.core.parsing.ballots import Ballot, ballot_schema, read_ballot
from pnyx.core.parsing.json_objects import find_violation
from pnyx.core.parsing.plans import read_plan
from pnyx.core.parsing.positions import read_position
from pnyx.core.parsing.verdicts import (
    APPROVAL,
    QUESTION_CLASS,
    Approval,
    Unreadable,
    read_approval,
    read_class,
    read_pick,
    read_routing_class,
)
from tests.support.rows import rows

LABELS = ("Participant A", "Participant B", "Participant C")
READERS: Mapping[str, Callable[..., Any]] = {
    "ballot": lambda text, **author: asdict(read_ballot(text, LABELS, **author)),
    "approval": lambda text, **author: asdict(read_approval(text, **author)),
    "pick": lambda text: read_pick(text, LABELS),
    "class": read_class,
}
EVERY_READER: tuple[Callable[..., Any], ...] = (*READERS.values(), read_plan, read_position)
CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "corpora" / "verdicts.jsonl").read_text().splitlines()
]


def with_cases(cases: list[Any]) -> Callable[..., Any]:
    return rows("case", cases, ids=[case["id"] for case in cases])


def read(case: Mapping[str, Any]) -> Any:
    author = {"author": case["own"]} if "own" in case else {}
    return READERS[case["reads"]](case["text"], **author)


@with_cases([case for case in CASES if case["want"] is not None])
def test_a_verdict_is_read(case: Mapping[str, Any]) -> None:
    got, want = read(case), case["want"]
    if isinstance(want, dict):
        got = {key: list(got[key]) if isinstance(got[key], tuple) else got[key] for key in want}
    assert got == want


@with_cases([case for case in CASES if case["want"] is None])
def test_a_missing_verdict_is_refused(case: Mapping[str, Any]) -> None:
    with pytest.raises(Unreadable, match=case.get("says")):
        read(case)


def test_the_corpus_is_large_and_every_case_has_its_own_name() -> None:
    assert Counter(case["id"] for case in CASES).most_common(1)[0][1] == 1
    assert len(CASES) >= 150
    assert sum(case["want"] is None for case in CASES) >= 100


ASIDES = (
    "Participant A's budget is thin, and its source is from 2009.",
    "Participant C leaves out the second half of the question.",
    "- Participant B: covers demand, cost and risk.",
    "I checked step 3: 1,200 / 4 = 300.",
    "**Assessment**",
    "The reviews asked for a source; one was added.",
    'Participant C calls it "a solid start".',
)
QUOTED = (
    'Participant A said "{}".',
    "Participant A wrote “{}” and stopped.",
    "> {}",
    "> Participant C:\n> {}",
    "Participant C's vote was:\n{}",
    "Participant A: {}",
    "**Participant A:** {}",
    "<m0123456789 Participant A>\nSome text.\n{}\n</m0123456789>",
    "The page shows\n```\n{}\n```\nwhich proves nothing.",
    "Participant A ended with `{}`.",
    "| Participant A | {} |",
    "<!-- {} -->",
    "<think>\n{}\n</think>",
    "Last round, Participant A voted {}",
)
DRESSED = (
    "{}", "**{}**", "- {}", "## {}", "1. {}", "Vote: {}", "**Vote:** {}", "My vote: **{}**", "I vote {}",
    '"{}"', "`{}`", "<vote>{}</vote>", "✅ {}", "> not a vote\n\n{}",
)  # fmt: skip
WRITTEN = (
    "Participant {}", "participant {}", "Participant_{}", "participant-{}", "Option {}", "**Participant {}**",
    "Participant  {}'s proposal", "<Participant {}>", "[{}]", "{}",
)  # fmt: skip
SEPARATORS = (": ", ":", " : ", "：", " — ", " - ", " → ", ":\u00a0")
words = st.sampled_from(("FINALIZE", "Finalize", "finalize", "FINALISE"))
votes = st.one_of(
    st.tuples(words, st.sampled_from(SEPARATORS), st.sampled_from(WRITTEN), st.sampled_from("ABC")).map(
        lambda parts: (parts[0] + parts[1] + parts[2].format(parts[3]), f"finalize Participant {parts[3]}")
    ),
    st.sampled_from(("REVISE: the costs", "revise: step 3", "**REVISE:** sources")).map(
        lambda v: (v, "revise")
    ),
    st.sampled_from(("SPLIT: two goals", "split: values differ")).map(lambda v: (v, "split")),
)
asides = st.lists(st.sampled_from(ASIDES), max_size=3)
quotes = st.lists(
    st.tuples(st.sampled_from(QUOTED), votes).map(lambda parts: parts[0].format(parts[1][0])), max_size=3
)


@given(votes, st.sampled_from(DRESSED), asides, quotes, asides)
def test_a_vote_counts_however_it_is_written_and_whoever_is_quoted_before_it(
    vote: tuple[str, str], dress: str, before: list[str], quoted: list[str], after: list[str]
) -> None:
    written, right = vote
    reply = "\n\n".join([*before, *quoted, dress.format(written), *after])
    ballot = read_ballot(reply, LABELS)
    assert " ".join(filter(None, (ballot.kind, ballot.label))) == right, reply


@given(asides, quotes.filter(bool), asides)
def test_what_is_quoted_never_counts(before: list[str], quoted: list[str], after: list[str]) -> None:
    with pytest.raises(Unreadable, match="no vote was found"):
        read_ballot("\n\n".join([*before, *quoted, *after]), LABELS)


@given(votes, votes, asides)
def test_two_different_votes_are_refused_and_a_repeated_vote_counts(
    one: tuple[str, str], two: tuple[str, str], between: list[str]
) -> None:
    reply = "\n\n".join([one[0], *between, two[0]])
    if one[1] != two[1]:
        with pytest.raises(Unreadable, match="more than once"):
            read_ballot(reply, LABELS)
    else:
        assert read_ballot(reply, LABELS).kind == one[1].split()[0]


MARKUP = st.text(
    st.sampled_from("\n\n  \t:>-*_`\"'“”«」{}[]()<>/|#.,;!?=~\\$&0129aAbBcIé\u200b\u202e\ud800")
    | st.characters()
)
PIECES = st.lists(
    MARKUP
    | st.sampled_from(
        ("FINALIZE:", "REVISE", "I vote", "Participant A", "said", '{"vote":', "```", "<think>", "DECISION:",
         "Final answer:", "<m0123456789 A>", "</m0123456789>", "APPROVE", "BEST", "1. x?", "needs:", "SAME")
    ),
    max_size=20,
).map("".join)  # fmt: skip


@given(PIECES)
def test_any_text_is_read_or_refused_and_nothing_else(text: str) -> None:
    for reader in EVERY_READER:
        with suppress(Unreadable):
            reader(text)


@pytest.mark.parametrize("reader", READERS, ids=str)
def test_a_reply_longer_than_any_verdict_is_refused_unread(reader: str) -> None:
    with pytest.raises(Unreadable, match="give the verdict alone"):
        READERS[reader]("x" * (MAX_CHARS + 1))


JUNK = (
    ">\n", "```\n", "FINALIZE: Participant B\n", '"FINALIZE" ', "I vote ", "after reading ", "my the ", "<q>",
    "best answer of all ", "Participant A said ", "Participant A > ", "DECISION: x\n", "1. x? (needs: 1)\n",
    " 'a", "`a", "*a", "{", "\n",
)  # fmt: skip


@rows("piece", JUNK)
def test_the_longest_reply_is_read_in_a_moment_whatever_is_in_it(piece: str) -> None:
    text = (piece * MAX_CHARS)[:MAX_CHARS]
    for reader in EVERY_READER:
        # Of this process, since a clock on the wall depends on who else uses the machine.
        began = time.process_time()
        with suppress(Unreadable):
            reader(text)
        assert time.process_time() - began < 2


def test_every_reader_reads_an_object_of_its_schema() -> None:
    ballot = {"vote": "FINALIZE", "label": "Participant B", "text": "complete", "ranking": ["Participant B"]}
    assert find_violation(ballot, ballot_schema(LABELS)) is None
    assert read_ballot(json.dumps(ballot), LABELS) == Ballot(
        "finalize", "Participant B", "complete", ("Participant B",)
    )
    approval = {"verdict": "REJECT", "reason": "step 2"}
    assert find_violation(approval, APPROVAL) is None
    assert read_approval(json.dumps(approval)) == Approval(False, "step 2")
    pick = {"best": "Participant C"}
    assert read_pick(json.dumps(pick), LABELS) == "Participant C"
    assert find_violation({"class": "compound"}, QUESTION_CLASS) is None
    assert read_class('{"class": "compound"}') == "compound"


def test_a_schema_holds_a_model_to_the_labels_on_the_ballot() -> None:
    ballot = {"vote": "FINALIZE", "label": "Participant Z", "text": "", "ranking": []}
    assert find_violation(ballot, ballot_schema(LABELS)) is not None


def test_labels_need_not_be_participants() -> None:
    labels = ("alpha", "beta two", "gamma")
    assert read_ballot("FINALIZE: Beta_Two\nRanking: beta two > gamma", labels) == Ballot(
        "finalize", "beta two", "", ("beta two", "gamma")
    )
    assert read_pick("BEST: gamma", labels) == "gamma"


def test_the_labels_of_thirty_seats_are_distinguished() -> None:
    labels = tuple(f"Participant {name}" for name in (*"ABCDEFGHIJKLMNOPQRSTUVWXYZ", "AA", "AB", "AC", "AD"))
    for label in labels:
        assert read_ballot(f"FINALIZE: {label}", labels).label == label
        assert read_ballot(f"FINALIZE: {label.split()[1]}", labels).label == label


WORDS = {"reasoning": "checkable", "judgment": "open", "judgement": "open", "compound": "writing"}
OTHER_WORDS = [c for c in CASES if c["reads"] == "class" and not re.search(r"reasoning\W*:", c["text"], re.I)]


@with_cases(OTHER_WORDS)
def test_the_classes_of_a_route_are_read_as_those_of_the_classic_table_are(case: Mapping[str, Any]) -> None:
    def other(match: re.Match[str]) -> str:
        word = WORDS[match[0].lower()]
        return word.upper() if match[0].isupper() else word

    text = re.sub("|".join(WORDS), other, case["text"], flags=re.IGNORECASE)
    if case["want"] is None:
        with pytest.raises(Unreadable):
            read_routing_class(text)
    else:
        assert read_routing_class(text) == WORDS[case["want"]]
