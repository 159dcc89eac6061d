"""The actions of `pnyx feedback` and `pnyx calibration`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
from ...views.feedback import feedback_document
from ...views.transcript import quantity
from ..records import with_records
from ..terminal.output import Stream, streams
from ..terminal.plain import paragraph

__all__ = ["calibration", "feedback"]

WIDTH = 20
"""Characters of a bar in the reliability diagram, each for 5 %."""


def feedback(run_id: str, verdict: str, truth: str | None, as_json: bool) -> int:
    output = streams()
    run, judged = with_records(open_settings(), lambda stored: stored.feedback(run_id, verdict, truth))
    if as_json:
        output.json(feedback_document(run.id, judged))
        return 0
    output.note(f"Saved: run {run.id} is a {verdict}.")
    assert run.result is not None, "only a decision is judged"
    for line in _explain(judged, run.result):
        output.err.lines(paragraph(output.err, line))
    return 0


def _explain(judged: JudgedRun, result: Mapping[str, Any]) -> Iterator[str]:
    """Say how this feedback changes the weights of votes. result: of the run."""
    if not judged.answers:
        yield "This does not change the weights of votes: the run has no short first answers of its models."
    elif judged.gold is None:
        yield "This does not change the weights of votes. Add the right answer with --answer TEXT."
    else:
        right = sum(answer == judged.gold for _, answer in judged.answers)
        yield f"{right} of {quantity(len(judged.answers), 'seat')} first answered {judged.gold}."
        final, question = result["final_answer"], result.get("question")
        if judged.result == "failure" and final is not None and same(final, judged.gold, question):
            yield "This is the decision's final answer, so these seats count as right although it failed."


def calibration(as_json: bool) -> int:
    output = streams()
    history = with_records(open_settings(), lambda stored: stored.judgements(LOCAL))
    document = _document(history)
    if as_json:
        output.json(document)
    elif history:
        output.out.lines(_diagram(document, output.out))
    else:
        output.note("no feedback yet. Add some with: pnyx feedback ID --result success|partial|failure")
    return 0


def _document(history: Sequence[JudgedRun]) -> dict[str, Any]:
    results = outcomes(history)
    curves = calibrate(results)
    models = tuple(dict.fromkeys(model for one in history for model, _ in one.answers))
    weights = learn(questions(history), models) if models else None
    # All outcomes of a protocol together, and those of each of its confidence measures.
    names = sorted({name for one in results for name in (one.protocol, protocol_of(one.protocol))})
    return {
        "n": len(history),
        "partial": sum(one.result == "partial" for one in history),
        "protocols": {
            name: _measures(
                [one for one in results if name in (one.protocol, protocol_of(one.protocol))], name, curves
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


def _measures(results: Sequence[Outcome], measure: str, curves: Calibration) -> dict[str, Any]:
    raw = [(one.raw, one.right) for one in results]
    return {
        "n": len(results),
        "right": sum(one.right for one in results),
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
    calibrated = curves.of(measure, raw)
    return None if calibrated is None else calibrated.confidence


def _diagram(document: dict[str, Any], stream: Stream) -> Iterator[str]:
    partial = f"{document['partial']} partly right, which are not counted below"
    yield from paragraph(stream, f"feedback on {quantity(document['n'], 'decision')}; {partial}")
    for name, one in document["protocols"].items():
        yield ""
        share, error = one["right"] / one["n"], f"ECE {one['ece']:.3f}, Brier {one['brier']:.3f}"
        summary = f"{name}: {one['right']} of {one['n']} right ({share:.0%}); {error} before calibration"
        yield from paragraph(stream, summary)
        rows = [["confidence", "n", "right", "", "calibrated"]]
        for b in one["bins"]:
            full = round(b["right"] * WIDTH)
            bar = "█" * full + "·" * (WIDTH - full)
            rows.append(
                [f"{b['confidence']:.2f}", str(b["n"]), f"{b['right']:.0%}", bar, f"{b['calibrated']:.2f}"]
            )
        yield from columns(rows, right=(1, 2, 4))
    models = document["models"]
    if models["weights"]:
        yield ""
        yield f"weights of votes: {models['rule']}, from {quantity(models['n'], 'question')}"
        rows = [["model", "right", "weight"]]
        for model, weight in sorted(models["weights"].items(), key=lambda item: -item[1]):
            accuracy = models["accuracies"].get(model)
            rows.append([flat(model), "?" if accuracy is None else f"{accuracy:.0%}", f"{weight:.2f}"])
        yield from columns(rows, right=(1, 2))
