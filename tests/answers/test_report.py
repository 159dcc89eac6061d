"""The report of `make answers-report`."""

from __future__ import annotations

import sys

import pytest

from tests.answers import report
from tests.answers.material import Pair, WrittenReply
from tests.answers.measures import count, read_all, total

SAME, NEAR = Pair("sums", "2", "1 + 1", True), Pair("sums", "2", "1 - 1", False)


def test_a_judge_that_calls_all_the_same_has_full_recall_and_every_false_equal() -> None:
    whole = total(count(lambda a, b, question: True, [SAME, NEAR, NEAR]).values())
    assert (whole.n, whole.recall, whole.false_equal_share) == (3, 1.0, 1.0)
    assert whole.precision == pytest.approx(1 / 3)
    assert whole.wrong == [NEAR, NEAR]


def test_a_judge_that_calls_none_the_same_has_no_recall() -> None:
    whole = total(count(lambda a, b, question: False, [SAME, NEAR]).values())
    assert (whole.precision, whole.recall, whole.false_equal_share) == (1.0, 0.0, 0.0)


def test_what_another_tool_raises_is_counted_and_what_pnyx_raises_is_not_hidden() -> None:
    def broken(a: str, b: str, question: str | None) -> bool:
        raise RuntimeError(a)

    whole = total(count(broken, [SAME, NEAR], forgive=True).values())
    assert (whole.faults, whole.recall) == (2, 0.0)
    with pytest.raises(RuntimeError):
        count(broken, [SAME])


def test_no_answer_is_read_right_only_where_there_is_none() -> None:
    written = [
        WrittenReply("label", "en", "Answer: 2", "2"),
        WrittenReply("refusal", "en", "I cannot.", None),
    ]
    readings = read_all(lambda text, question: None, lambda a, b, question: a == b, written)
    assert [reading.right for reading in readings] == [False, True]


@pytest.mark.parametrize(
    ("module", "judge"), [("math_verify", "math-verify"), ("inspect_ai", "inspect math()")]
)
def test_a_missing_tool_is_an_error_that_says_what_to_run(
    module: str, judge: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(sys, "argv", ["report", "--only", judge])
    assert report.main() == 1
    assert "make setup" in capsys.readouterr().err


def test_an_unknown_judge_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["report", "--only", "nobody"])
    with pytest.raises(SystemExit):
        report.main()
