"""Rankings by place in ballots."""

from __future__ import annotations

import pytest

from pnyx.core.parsing.ballots import read_ballot
from tests.support.rows import rows

LABELS = ("A", "B", "C")


@rows(
    "written, ranking",
    [
        ("Ranking: 1) B, 2) A, 3) C", "BAC"),
        ("Ranking: 1. B, 2. A", "BA"),
        ("Ranking: (1) A (2) C (3) B", "ACB"),
        ("My ranking: #1 B, #2 C", "BC"),
        ("Ranking: 1st B, 2nd A", "BA"),
        ("Ranking: 1) Participant B, 2) Participant A", "BA"),
        ("Ranking: 2) A, 1) B", "BA"),
        ("Ranking (worst to best): 1) C, 2) A", "AC"),
        ("First place: A. Second place: C.", "AC"),
        ("First place: A. Second place: C. Third place: B.", "ACB"),
        ("Second place: C. First place: A.", "AC"),
        ("1st place: A\n2nd place: B", "AB"),
        ("**First choice:** A\n**Second choice:** B", "AB"),
        ("First: B; second: A; third: C", "BAC"),
        ("Second: A; third: C; first: B", "BAC"),
        ("First: B\nSecond: A\nThird: C", "BAC"),
        ("Rank 1: B, Rank 2: C, Rank 3: A", "BCA"),
        ("Rang 1: B\nRang 2: A", "BA"),
        ("Platz 1: A, Platz 2: C", "AC"),
        ("第一名：A，第二名：C，第三名：B", "ACB"),
        ("Первое место: A, второе место: C", "AC"),
        ("Primero: A; segundo: C; tercero: B", "ACB"),
        # No ranking, or none that is clear.
        ("First: A says 5. Second: B says 6.", ""),
        ("First: A; second: A; third: C", ""),
        ("1: A makes a sign error\n2: B is right\n3: C too", ""),
        ("Platz 2: A; Platz 3: C", ""),
        ("Participant C wrote: First: A; second: B", ""),
        ("Ranking: 1) B, 1) A", ""),
        ("Ranking: 1) B, 3) A", ""),
        ("First place: A. Second place: A.", ""),
        ("Second place: C. Third place: A.", ""),
        ("The first place to look: B. Second place: C", ""),
        ("Participant B says first place: B. Second place: A.", ""),
        ("Participant A wrote: Ranking: 1) B, 2) A", ""),
        ("1. The costs\n2. The risks", ""),
    ],
)
def test_places_are_a_ranking(written: str, ranking: str) -> None:
    assert "".join(read_ballot(f"FINALIZE: B\n{written}", LABELS, author="C").ranking) == ranking


@pytest.mark.parametrize("joint", [" ", ". ", " \u2014 "])
@pytest.mark.parametrize("ranking", ["Ranking: 1) B, 2) A", "ranking: 1. B, 2. A"])
def test_a_ranking_on_the_line_of_the_vote_counts(joint: str, ranking: str) -> None:
    ballot = read_ballot(f"FINALIZE: B{joint}{ranking}", LABELS, author="C")
    assert (ballot.label, ballot.text, ballot.ranking) == ("B", "", ("B", "A"))
