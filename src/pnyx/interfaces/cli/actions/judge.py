"""The actions of `pnyx feedback` and `pnyx calibration`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ....core.answers.replies.extract import same
from ....reliability.curves import LEVEL
from ....reliability.feedback import JudgedRun
from ...access.keys import LOCAL
from ...process.open_settings import open_settings
from ...render.terminal import columns, flat
from ...views.calibration import calibration_document
from ...views.feedback import feedback_document
from ...views.transcript import quantity
from ..records import with_records
from ..terminal.output import Stream, streams
from ..terminal.plain import paragraph

__all__ = ["calibration", "feedback"]

WIDTH = 10
"""Characters of a bar in the reliability diagram, each for 10 %. A row fits in 60 columns."""


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
    document = calibration_document(history)
    if as_json:
        output.json(document)
    elif history:
        output.out.lines(_diagram(document, output.out))
    else:
        output.note("no feedback yet. Add some with: pnyx feedback ID --result success|partial|failure")
    return 0


def _diagram(document: dict[str, Any], stream: Stream) -> Iterator[str]:
    partial = f"{document['partial']} partly right, which are not counted below"
    yield from paragraph(stream, f"feedback on {quantity(document['n'], 'decision')}; {partial}")
    # A protocol has the outcomes of its measures too, which have entries of their own.
    every = [one for found in document["protocols"].values() for one in found["panels"]]
    for one in {(p["measure"], *p["panel"], p["rule"]): p for p in every}.values():
        yield ""
        yield from paragraph(stream, f"{one['measure']} · {_panel(one['panel'])}", "bold")
        share = f"{one['right']} of {one['n']} right ({one['right'] / one['n']:.0%})"
        yield from paragraph(stream, f"{share}; support: {one['rule'] or 'unknown rule'}")
        yield from paragraph(stream, _learned(one))
        yield from columns(list(_rows(one)), right=(1, 2, 4))
    models = document["models"]
    if models["weights"]:
        yield ""
        yield f"weights of votes: {models['rule']}, from {quantity(models['n'], 'question')}"
        rows = [["model", "right", "weight"]]
        for model, weight in sorted(models["weights"].items(), key=lambda item: -item[1]):
            accuracy = models["accuracies"].get(model)
            rows.append([flat(model), "?" if accuracy is None else f"{accuracy:.0%}", f"{weight:.2f}"])
        yield from columns(rows, right=(1, 2))


def _panel(models: Sequence[str]) -> str:
    return ", ".join(map(flat, models)) or "panel unknown, since an earlier version stored these outcomes"


def _learned(one: dict[str, Any]) -> str:
    """What confidence is learned from these outcomes."""
    known = one["confidence"]
    if known is None:
        return f"not calibrated: needs {quantity(one['needs'], 'more outcome')}"
    rule = "beta calibration" if known["method"] == "beta" else known["method"]
    if known["ece"] is None:
        return f"confidence: {rule} on {one['confidence']['n']} outcomes"
    errors = f"ECE {known['ece']:.3f}, Brier {known['brier']:.3f} on outcomes it has not seen"
    return f"confidence: {rule} on {one['confidence']['n']} outcomes; {errors}"


def _rows(one: dict[str, Any]) -> Iterator[list[str]]:
    is_known = one["confidence"] is not None
    yield ["support", "n", "right", "", *(["confidence", f"{LEVEL:.0%} interval"] if is_known else [])]
    for b in one["bins"]:
        full = round(b["right"] * WIDTH)
        bar = "█" * full + "·" * (WIDTH - full)
        shown = [f"{b['calibrated']:.2f}", "{:.2f} to {:.2f}".format(*b["interval"])] if is_known else []
        yield [f"{b['confidence']:.2f}", str(b["n"]), f"{b['right']:.0%}", bar, *shown]
