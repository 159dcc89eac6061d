"""What judged runs say of support and confidence: reliability diagrams, errors, weights of models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...reliability.calibration import (
    ENOUGH,
    Bin,
    Outcome,
    brier,
    cross_fitted,
    ece,
    fit,
    others,
    protocol_of,
    reliability_bins,
)
from ...reliability.curves import Curve
from ...reliability.feedback import JudgedRun, outcomes, questions
from ...reliability.weights import learn

__all__ = ["calibration_document"]

FIGURES = ("n", "right", "needs", "ece", "brier", "confidence", "bins")


def calibration_document(history: Sequence[JudgedRun]) -> dict[str, Any]:
    """The reliability of each protocol and panel, and the weights of models, as `pnyx calibration` has it."""
    results = outcomes(history)
    models = tuple(dict.fromkeys(model for one in history for model, _ in one.answers))
    weights = learn(questions(history), models) if models else None
    # All outcomes of a protocol together, and those of each of its measures.
    names = sorted({name for one in results for name in (one.protocol, protocol_of(one.protocol))})
    return {
        "n": len(history),
        "partial": sum(one.result == "partial" for one in history),
        "needed": ENOUGH,
        "protocols": {
            name: _protocol(
                [one for one in results if name in (one.protocol, protocol_of(one.protocol))], results
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


def _protocol(results: Sequence[Outcome], every: Sequence[Outcome]) -> dict[str, Any]:
    """The figures of a protocol: of all its outcomes, and of each kind, which has its own curve."""
    kinds: dict[tuple[str, tuple[str, ...], str | None], list[tuple[float, bool]]] = {}
    beside: dict[tuple[str, tuple[str, ...], str | None], list[tuple[float, bool]]] = {}
    for one in results:
        kinds.setdefault(one.kind, []).append((one.raw, one.right))
        if one.kind not in beside:
            beside[one.kind] = others(one, every)
    ranked = sorted(kinds.items(), key=lambda item: (-len(item[1]), str(item[0])))
    figures = [
        {"measure": kind[0], "panel": list(kind[1]), "rule": kind[2], **_figures(pairs, beside[kind])}
        for kind, pairs in ranked
    ]
    whole = [pair for pairs in kinds.values() for pair in pairs]
    found = figures[0] if len(kinds) == 1 else _figures(whole, [], False)
    return {**{name: found[name] for name in FIGURES}, "panels": figures}


def _figures(
    pairs: Sequence[tuple[float, bool]], beside: Sequence[tuple[float, bool]], is_kind: bool = True
) -> dict[str, Any]:
    """n, right, needs: outcomes, right ones, and how many are missing for a confidence.

    ece, brier: of support. confidence: method, the number of outcomes behind it, and its errors, which are
    cross-fitted, and null with too few outcomes in the other folds; null if there is no confidence. beside:
    outcomes of the other kind, which may count for the confidence too. is_kind: whether `pairs` are of one
    kind, since several have no curve.
    """
    curve = fit(pairs, beside) if is_kind else None
    learned = cross_fitted(pairs, beside) if curve else []
    return {
        "n": len(pairs),
        "right": sum(right for _, right in pairs),
        "needs": max(0, ENOUGH - len(pairs) - len(beside)),
        "ece": ece(pairs),
        "brier": brier(pairs),
        "confidence": curve
        and {
            "method": curve.method,
            "n": curve.n,
            "ece": ece(learned) if learned else None,
            "brier": brier(learned) if learned else None,
        },
        "bins": [_bin(one, curve) for one in reliability_bins(pairs)],
    }


def _bin(one: Bin, curve: Curve | None) -> dict[str, Any]:
    value, low, high = curve.at(one.confidence) if curve else (None, None, None)
    shown = {"low": one.low, "high": one.high, "n": one.n, "confidence": one.confidence, "right": one.right}
    return {**shown, "calibrated": value, "interval": None if low is None else [low, high]}
