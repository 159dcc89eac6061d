"""What counts as the same answer, and which answer a reply gives, on the corpus of this folder."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache
from random import Random

import pytest

import pnyx
from tests.answers.drawn import drawn
from tests.answers.judges import pnyx_judge
from tests.answers.material import HERE, pairs, read_pairs, replies
from tests.answers.measures import count, read_all, total
from tests.support.properties import THOROUGH

PRECISION, RECALL, FALSE_EQUAL = 0.99, 0.92, 0.01
"""Of all pairs; and of the near-misses of each kind, the most that may be called the same."""
SIGNS = "()[]{}|^_$\\=<>!%,.;:±√∞°'\"`0iCe\n"
READ_RIGHT = 0.95
"""The share of replies that are read as a careful reader reads them."""


def test_the_corpus_has_both_sides_of_every_kind() -> None:
    sizes = Counter(pair.kind for pair in pairs())
    same = Counter(pair.kind for pair in pairs() if pair.same)
    assert len(pairs()) >= 1500
    assert len(sizes) >= 30
    assert {kind: size for kind, size in sizes.items() if size < 25} == {}
    uneven = {
        kind: same[kind] / size for kind, size in sizes.items() if not 0.25 <= same[kind] / size <= 0.65
    }
    assert uneven == {}


def test_no_pair_is_both_the_same_and_not() -> None:
    said: dict[object, set[bool]] = defaultdict(set)
    written = (pair for file in sorted((HERE / "corpus").glob("*.txt")) for pair in read_pairs(file))
    for pair in (*written, *drawn()):
        said[frozenset((pair.a, pair.b)), pair.question].add(pair.same)
    assert [key for key, sides in said.items() if len(sides) > 1] == []


def test_the_replies_cover_forms_and_languages() -> None:
    forms = {reply.form for reply in replies()}
    assert len(replies()) >= 300
    assert len({reply.language for reply in replies()}) >= 25
    assert forms >= {
        "label",
        "bold label",
        "hashes",
        "tag",
        "json",
        "boxed",
        "harmony",
        "quotation",
        "retraction",
    }
    assert forms >= {"two labels", "refusal", "cut off", "thinking", "table", "code"}


@pytest.mark.parametrize("part", range(4))
def test_answers_are_called_the_same_as_a_careful_reader_calls_them(part: int) -> None:
    """Every fourth pair: as a whole, and no kind of near-miss is called the same."""
    counts = count(_judge, pairs()[part::4])
    whole = total(counts.values())
    assert whole.precision >= PRECISION
    assert whole.recall >= RECALL
    wrong = {
        kind: [(pair.a, pair.b, pair.question) for pair in one.wrong if not pair.same]
        for kind, one in counts.items()
        if one.false_equal_share > FALSE_EQUAL
    }
    assert wrong == {}


@pytest.mark.parametrize("part", range(4))
def test_equality_is_symmetric_and_reflexive(part: int) -> None:
    """A third of the pairs in a usual run, in four parts: a resumed run may meet two answers in any order."""
    for pair in pairs()[part :: 4 if THOROUGH else 12]:
        assert _judge(pair.a, pair.b, pair.question) == pnyx_judge(pair.b, pair.a, pair.question), pair
        assert pnyx_judge(pair.b, pair.b, pair.question), pair


@cache
def _judge(a: str, b: str, question: str | None) -> bool:
    """Whether two answers are the same, computed once for both tests of every pair."""
    return pnyx_judge(a, b, question)


def test_nothing_that_a_model_may_write_raises() -> None:
    """Texts of the corpus beside each other, cut off, run together, and with a sign put in."""
    rng = Random(26)
    texts = [text for pair in pairs() for text in (pair.a, pair.b)]
    for _ in range(400):
        one, two = rng.choice(texts), rng.choice(texts)
        cut, place = rng.randint(0, len(one)), rng.randint(0, len(two))
        for a, b in (
            (one, two),
            (one[:cut], one + two),
            (one, two[:place] + rng.choice(SIGNS) + two[place:]),
        ):
            assert pnyx.same_answer(a, b) == pnyx.same_answer(b, a), (a, b)


def test_replies_are_read_as_a_careful_reader_reads_them() -> None:
    readings = read_all(pnyx.final_answer, pnyx_judge, replies())
    assert sum(reading.right for reading in readings) / len(readings) >= READ_RIGHT
