"""The report as an HTML page: one file, without script or outside resource."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...phrases import listed
from ..analysis.arms import ORACLE, SINGLE
from .html_document import self_contained, table
from .plots import Bar, Dot, Line, bars, forest, lines, scatter, text
from .sheets import Sheet, about, sheets

__all__ = ["page"]

Values = Mapping[str, Any]
COLOURS = 8
"""Colours of lines. Further lines repeat them, dashed."""

STYLE = Path(__file__).with_name("page.css")
KINDS = {
    "single": "one model",
    "pool": "combined from the models",
    "samples": "one model, sampled",
    "protocol": "protocol",
}


def page(document: Mapping[str, Any]) -> str:
    """The whole report as HTML. Names and categories are untrusted and escaped."""
    plots = {
        "accuracy": _accuracy,
        "cost": _cost,
        "pairs": _pairs,
        "rounds": _rounds,
        "confidence": _confidence,
    }
    body, drawn = [], set[str]()
    for sheet in sheets(document):
        body.append(f"<section><h2>{text(sheet.title)}</h2>")
        # Only the first table of pairs, against the best single model, has a plot.
        if sheet.key in plots and sheet.key not in drawn:
            body.append(plots[sheet.key](document))
            drawn.add(sheet.key)
        body.append(f"{_table(sheet)}</section>\n")
    sentences = "".join(f"<li>{text(sentence)}</li>" for sentence in document["verdict"])
    title = f"pnyx eval: {document['dataset']}"
    head = f'<header><h1>{text(title)}</h1><p class="about">{text(about(document))}</p></header>'
    verdict = f'<section class="verdict" aria-label="Verdict"><ul>{sentences}</ul></section>'
    return self_contained(text(title), f"{head}{verdict}\n{''.join(body)}", STYLE)


def _table(sheet: Sheet) -> str:
    rows = [[_name(name), *map(text, figures)] for name, *figures in sheet.rows]
    note = f'<p class="note">{text(sheet.note)}</p>' if sheet.note else ""
    return table(text(sheet.title), [_name(cell) for cell in sheet.head], rows) + note


def _name(name: str) -> str:
    """A name, isolated: one in a right-to-left script must not reorder the text around it."""
    return f"<bdi>{text(name)}</bdi>"


def _figure(caption: str, drawn: str, key: Sequence[tuple[str, str]] = ()) -> str:
    items = "".join(f'<li class="{look}"><i></i>{_name(name)}</li>' for look, name in key)
    legend = f'<ul class="key">{items}</ul>' if key else ""
    return f"<figure><figcaption>{text(caption)}</figcaption>{legend}{drawn}</figure>"


def _look(arm: Values) -> str:
    return "oracle" if arm["name"] == ORACLE else str(arm["kind"])


def _kinds(report: Values) -> list[tuple[str, str]]:
    kinds = {arm["kind"] for arm in report["arms"]}
    return [*((kind, name) for kind, name in KINDS.items() if kind in kinds), ("oracle", "oracle")]


def _dots(report: Values, x: str | None = None) -> Iterator[Dot]:
    """The arms with answers, at their accuracy or, with `x`, at that figure and their accuracy."""
    for arm in report["arms"]:
        if arm["accuracy"] and (x is None or arm[x] is not None):
            mean, low, high = (arm["accuracy"][end] for end in ("mean", "low", "high"))
            yield Dot(arm["name"], mean if x is None else arm[x], low, high, mean, _look(arm))


def _accuracy(report: Values) -> str:
    best = next(arm for arm in report["arms"] if arm["name"] == SINGLE)["accuracy"]["mean"]
    return _figure(
        "Share of right answers with its 95 % interval. The dashed line is the best single model.",
        forest("Right answers of each arm", list(_dots(report)), "right answers, %", best),
        _kinds(report),
    )


def _cost(report: Values) -> str:
    money = any(arm["cost_usd"] for arm in report["arms"])
    dots = list(_dots(report, "cost_usd" if money else "output_tokens"))
    unit = "USD a question" if money else "output tokens a question"
    drawn = {dot.name for dot in dots}
    missing = [dot.name for dot in _dots(report) if dot.name not in drawn]
    more = f" Not shown, because a price is unknown: {listed(missing)}." if missing else ""
    return _figure(
        f"Cost of a question and share of right answers.{more}",
        scatter(dots, unit, money),
        _kinds(report),
    )


def _pairs(report: Values) -> str:
    looks = {arm["name"]: _look(arm) for arm in report["arms"]}
    dots = [
        Dot(
            pair["arm"],
            look=looks[pair["arm"]],
            **{"x" if k == "mean" else k: v for k, v in pair["difference"].items()},
        )
        for pair in report["pairs"]
        if pair["to"] == SINGLE
    ]
    return _figure(
        "Difference to the best single model with its 95 % interval. The dashed line is zero.",
        forest("Differences to the best single model", dots, "points", 0.0, signed=True),
        _kinds(report),
    )


def _rounds(report: Values) -> str:
    drawn = [
        Bar(f"{arm['name']}, round {one['round']}", one["fixed"], one["broken"])
        for arm in report["arms"]
        for one in arm["rounds"]
    ]
    return _figure(
        "Number of answers that each round changed.", bars("Fixed and broken", drawn, "fixed", "broken")
    )


def _confidence(report: Values) -> str:
    sure = [arm for arm in report["arms"] if arm["confidence"]]
    looks = [f"l{n % COLOURS}{' dashed' if n >= COLOURS else ''}" for n in range(len(sure))]
    curves = [
        Line(arm["name"], arm["confidence"]["risk_coverage"], look=look)
        for arm, look in zip(sure, looks, strict=True)
    ]
    top = max(0.05, *(risk for curve in curves for _, risk in curve.points))
    risk = _figure(
        "Risk and coverage: the share of wrong answers among the most confident ones.",
        lines("Risk and coverage", curves, "answered, %", "wrong, %", min(1.0, top * 1.1)),
        [(look, arm["name"]) for arm, look in zip(sure, looks, strict=True)],
    )
    diagrams = "".join(f"<div><h3>{_name(arm['name'])}</h3>{_reliability(arm)}</div>" for arm in sure)
    return risk + _figure(
        "Reliability: support or confidence, and the share of right answers, in bins. On the dashed line "
        "they are equal. Larger circles have more answers.",
        f'<div class="small">{diagrams}</div>',
        [("raw", "support"), ("fitted", "confidence")],
    )


def _reliability(arm: Values) -> str:
    def marks(part: Values | None) -> list[tuple[float, float, float]]:
        full = part["bins"] if part else []
        most = max((b["n"] for b in full), default=1)
        return [(b["confidence"], b["right"], b["n"] / most) for b in full]

    sure = arm["confidence"]
    drawn = [
        Line("raw", marks=marks(sure["raw"]), look="raw"),
        Line("calibrated", marks=marks(sure["calibrated"]), look="fitted"),
    ]
    title = f"Reliability of {arm['name']}"
    return lines(title, drawn, "support or confidence, %", "right, %", diagonal=True, width=260)
