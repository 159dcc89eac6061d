"""What a question says about its answers, wherever in a long text it is asked."""

from __future__ import annotations

import pnyx
from pnyx.core.answers.reading.hints import ends_of, hints_of
from tests.support.rows import rows

DOCUMENT = "The service stores its rows in a table of the cluster, and moves them at night.\n" * 1_000


@rows("form", ["{asked}\n{document}", "{document}\n{asked}", "{document}\n{asked}\n\n"])
@rows(
    "asked, one, two",
    [
        ("Is that true or false?", "F", "false"),
        ("What share moves, in percent?", "50", "50%"),
        ("Which colour is it? A) red B) blue", "B", "blue"),
        ("How many rows are moved?", "none", "0"),
    ],
)
def test_a_question_beside_a_long_document_is_read(form: str, asked: str, one: str, two: str) -> None:
    question = form.format(asked=asked, document=DOCUMENT)
    assert pnyx.same_answer(one, two, question) is pnyx.same_answer(one, two, asked) is True
    assert not pnyx.same_answer(one, two, DOCUMENT)


def test_a_short_question_is_read_as_it_is_and_a_long_one_in_bounds() -> None:
    assert ends_of("Why?") == "Why?"
    assert len(ends_of(DOCUMENT * 10)) < 21_000
    assert hints_of(None) == hints_of("  ")
