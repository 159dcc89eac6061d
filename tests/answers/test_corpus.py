"""What counts as the same answer, and which answer a reply gives, on the corpus of this folder."""

from __future__ import annotations

from collections import Counter, defaultdict

from tests.answers.drawn import drawn
from tests.answers.material import HERE, pairs, read_pairs, replies


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
