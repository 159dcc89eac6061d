"""Results of earlier versions: their confidence, a share or a curve of few outcomes, is support today."""

from __future__ import annotations

from typing import Any

import pytest

from pnyx.core.decision import Decision
from pnyx.reliability.feedback import judge
from pnyx.run.calls.limits import Limits
from pnyx.run.learned import calibrate_decision
from pnyx.run.result import Result, exit_code
from pnyx.run.spec import Spec

OLD: dict[str, Any] = {
    "run_id": "r",
    "status": "majority",
    "protocol": "voting",
    "question": "Why?",
    "answer": "So.\nFinal answer: 4",
    "final_answer": "4",
    "confidence": 2 / 3,
    "confidence_rule": "vote share",
    "seats": [{"seat": "Participant A", "model": "lab:a", "role": None}],
    "detail": {"native": {"Participant A": "4"}},
}
FEW = {
    "confidence": 0.69,
    "confidence_rule": "calibrated (n=1)",
    "detail": {"raw_confidence": 2 / 3, "raw_rule": "vote share"},
}


@pytest.mark.parametrize("stored", [OLD, OLD | FEW], ids=["share", "from one outcome"])
def test_an_uncalibrated_confidence_is_read_as_support(stored: dict[str, Any]) -> None:
    before = repr(stored)
    result = Result.from_json(stored)
    assert (result.confidence, result.confidence_rule) == (None, None)
    assert (result.support, result.support_rule) == (2 / 3, "vote share")
    shown = result.to_json()
    assert (shown["confidence"], shown["detail"]["raw_confidence"]) == (None, 2 / 3)
    assert Result.from_json(shown) == result
    assert repr(stored) == before
    judged = judge(stored, "success")
    assert judged == judge(shown, "success")
    assert (judged.raw, judged.rule, judged.panel) == (2 / 3, "vote share", ("lab:a",))


def test_a_calibrated_confidence_is_read_as_it_is() -> None:
    learned = {"calibration": {"n": 20}, "raw_confidence": 0.7, "raw_rule": "posterior of the votes"}
    rule = "beta calibration on 20 outcomes of this panel"
    result = Result.from_json(OLD | {"confidence": 0.8, "confidence_rule": rule, "detail": learned})
    assert (result.confidence, result.confidence_rule, result.support) == (0.8, rule, 0.7)
    assert Result.from_json(result.to_json()) == result


def test_a_run_with_the_calibration_of_an_earlier_version_ends_without_a_confidence() -> None:
    curve = {"knots": [[0.5, 1.0]], "n": 40}
    stored = {"share": 0.9, "all": curve, "protocols": {"voting": curve}}
    spec = Spec(question="Why?", protocol="voting", seats=(), limits=Limits(60.0, 512), calibration=stored)
    decision = Decision(answer="So.", support=0.7, support_rule="posterior of the votes")
    fields = calibrate_decision(spec, decision)
    assert (fields["confidence"], fields["confidence_rule"]) == (None, None)
    assert fields["detail"] == {"raw_confidence": 0.7, "raw_rule": "posterior of the votes"}


def test_what_a_package_sets_as_confidence_is_its_support() -> None:
    decision = Decision(answer="So.", confidence=0.7, confidence_rule="felt")
    assert (decision.support, decision.support_rule) == (0.7, "felt")
    spec = Spec(question="Why?", protocol="odd", seats=(), limits=Limits(60.0, 512))
    fields = calibrate_decision(spec, decision)
    assert fields["confidence"] is None
    assert fields["detail"] == {"raw_confidence": 0.7, "raw_rule": "felt"}


@pytest.mark.parametrize(
    ("status", "reached", "code"),
    [("stalled", False, 3), ("decided", False, 3), ("deadlock", False, 3), ("consensus", True, 0)],
)
def test_required_consensus_is_agreement_on_the_answer(status: Any, reached: bool, code: int) -> None:
    result = Result.from_json(OLD | {"status": status, "consensus_reached": reached})
    assert exit_code(result, require_consensus=True) == code
    assert exit_code(result) == 0
