"""Did talking help? Each debate is compared with the vote before it."""

from __future__ import annotations

import re
from math import comb

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pnyx.evaluate.report.document import document
from pnyx.evaluate.report.page import page
from pnyx.evaluate.report.text import render
from tests.evaluate.logs import log
from tests.evaluate.report.test_document import arm


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    answers=st.lists(
        st.tuples(st.sampled_from([True, False, None]), st.sampled_from("+x.!")), min_size=1, max_size=40
    )
)
def test_a_debate_is_compared_with_the_vote_before_it(
    unweighted: None, answers: list[tuple[bool | None, str]]
) -> None:
    votes = iter([vote for vote, _ in answers])
    made = log(
        {"a": "+" * len(answers)},
        {"council": "".join(letter for _, letter in answers)},
        change=lambda r: {"vote_only": next(votes)} if r.arm == "council" else {},
    )
    report = document(made)
    assert arm(report, "a")["talk"] is None
    talk, known = arm(report, "council")["talk"], [(v, c == "+") for v, c in answers if v is not None]
    if not known:
        assert talk is None
        return
    rescued, lost = known.count((False, True)), known.count((True, False))
    assert (talk["n"], talk["rescued"], talk["lost"]) == (len(known), rescued, lost)
    assert (talk["vote_right"], talk["right"]) == (sum(v for v, _ in known), sum(right for _, right in known))
    assert talk["difference"]["mean"] == pytest.approx((rescued - lost) / len(known))
    # The sign test, from the binomial distribution itself.
    differing, extreme = rescued + lost, max(rescued, lost)
    tail = sum(comb(differing, k) for k in range(extreme, differing + 1)) / 2**differing
    assert talk["p"] == pytest.approx(min(1.0, 2 * tail))


def test_the_report_says_whether_talking_helped_in_text_and_on_the_page() -> None:
    votes = iter([False, False, True, True, None])
    made = log(
        {"a": "+x+x+", "b": "xx+x+"},
        {"moa": "++x++"},
        change=lambda r: {"vote_only": next(votes)} if r.arm == "moa" else {},
    )
    report = document(made)
    (line,) = [line for line in report["verdict"] if line.startswith("Did talking help?")]
    assert "moa rescued 2 and lost 1 of 4 (p = 1.000)" in line
    for shown in (render(report), page(report)):
        assert re.search("did talking help", shown, re.IGNORECASE)
        cells = re.sub(r"<[^>]+>|\s+", " ", shown)
        assert re.search(r"moa\s+4\s+50\.0\s+75\.0\s+2\s+1\s+\+25\.0", cells)
    assert not [
        line for line in document(log({"a": "+x", "b": "xx"}, {"moa": "x+"}))["verdict"] if "talking" in line
    ]
