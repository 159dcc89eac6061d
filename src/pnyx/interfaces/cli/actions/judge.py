"""What `pnyx feedback` and `calibration` do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ....core.answers.extract import same
from ....reliability.calibration import (
    Calibration,
    Outcome,
    brier,
    calibrate,
    ece,
    protocol_of,
    reliability_bins,
)
from ....reliability.feedback import JudgedRun, outcomes, questions
from ....reliability.weights import learn
from ...keys import LOCAL
from ...open_settings import open_settings
from ...render.terminal import columns, flat
from ...views.feedback import judgement
from ...views.transcript import quantity
from ..records import with_records
from ..terminal.output import streams

__all__ = ["calibration", "feedback"]

WIDTH = 20
"""Characters of a bar in the reliability diagram: one for 5 %."""


def feedback(run_id: str, verdict: str, truth: str | None, as_json: bool) -> int:
    output = streams()
    run, judged = with_records(open_settings(), lambda stored: stored.feedback(run_id, verdict, truth))
    if as_json:
        output.json(judgement(run.id, judged))
        return 0
    output.note(f"run {run.id}: {verdict}")
    assert run.result is not None, "only a decision is judged"
    for line in _learned(judged, run.result["final_answer"]):
        output.note(line)
    return 0


def _learned(judged: JudgedRun, own: str | None) -> Iterator[str]:
    """What the models learn. own: the decision's final answer."""
    if not judged.answers:
        yield "no short answer that a model gave alone is on record, so votes learn nothing of it"
    elif judged.gold is None:
        yield "the right answer is not known, so models learn nothing of it; --answer TEXT tells it"
    else:
        right = sum(answer == judged.gold for _, answer in judged.answers)
        yield f"{right} of {quantity(len(judged.answers), 'seat')} had it right alone: {judged.gold}"
        if judged.result == "failure" and own is not None and same(own, judged.gold):
            yield "that is the decision's own answer: models that gave it count as right, though it failed"


def calibration(as_json: bool) -> int:
    output = streams()
    history = with_records(open_settings(), lambda stored: stored.judgements(LOCAL))
    told = _document(history)
    if as_json:
        output.json(told)
    elif history:
        output.out.lines(_diagram(told))
    else:
        output.note("nothing was judged yet: `pnyx feedback ID --result success|partial|failure`")
    return 0


def _document(history: Sequence[JudgedRun]) -> dict[str, Any]:
    found = outcomes(history)
    curves = calibrate(found)
    models = tuple(dict.fromkeys(model for one in history for model, _ in one.answers))
    weights = learn(questions(history), models) if models else None
    # All outcomes of a protocol, and besides those whose confidence is a measure of its own.
    names = sorted({name for one in found for name in (one.protocol, protocol_of(one.protocol))})
    return {
        "n": len(history),
        "partial": sum(one.result == "partial" for one in history),
        "protocols": {
            name: _measured(
                [one for one in found if name in (one.protocol, protocol_of(one.protocol))], name, curves
            )
            for name in names
        },
        "models": {
            "rule": weights.rule if weights else "equal",
            "n": weights.n if weights else 0,
            "weights": dict(weights.models) if weights else {},
            "accuracies": dict(weights.accuracies) if weights else {},
        },
    }


def _measured(found: Sequence[Outcome], measure: str, curves: Calibration) -> dict[str, Any]:
    raw = [(one.raw, one.right) for one in found]
    return {
        "n": len(found),
        "right": sum(one.right for one in found),
        "ece": ece(raw),
        "brier": brier(raw),
        "bins": [
            {
                "low": b.low,
                "high": b.high,
                "n": b.n,
                "confidence": b.confidence,
                "right": b.right,
                "calibrated": _at(curves, measure, b.confidence),
            }
            for b in reliability_bins(raw)
        ],
    }


def _at(curves: Calibration, measure: str, raw: float) -> float | None:
    told = curves.of(measure, raw)
    return None if told is None else told.confidence


def _diagram(told: dict[str, Any]) -> Iterator[str]:
    yield f"{quantity(told['n'], 'judged decision')}; {told['partial']} partly right, which count neither way"
    for name, one in told["protocols"].items():
        yield ""
        share, off = one["right"] / one["n"], f"ECE {one['ece']:.3f}, Brier {one['brier']:.3f} as it was said"
        yield f"{name}: {one['right']} of {one['n']} right ({share:.0%}); {off}"
        rows = [["said", "n", "right", "", "calibrated"]]
        for b in one["bins"]:
            full = round(b["right"] * WIDTH)
            bar = "█" * full + "·" * (WIDTH - full)
            rows.append(
                [f"{b['confidence']:.2f}", str(b["n"]), f"{b['right']:.0%}", bar, f"{b['calibrated']:.2f}"]
            )
        yield from columns(rows, right=(1, 2, 4))
    models = told["models"]
    if models["weights"]:
        yield ""
        yield f"votes by {models['rule']}, from {quantity(models['n'], 'answered question')}"
        rows = [["model", "right", "vote counts"]]
        for model, weight in sorted(models["weights"].items(), key=lambda item: -item[1]):
            accuracy = models["accuracies"].get(model)
            rows.append([flat(model), "?" if accuracy is None else f"{accuracy:.0%}", f"{weight:.2f}"])
        yield from columns(rows, right=(1, 2))
