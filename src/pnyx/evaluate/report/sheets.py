"""The tables of a report, most important first, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..analysis.arms import MAJORITY, SINGLE
from .formats import NONE, amount, interval, number, p_value, percent, points, usd

__all__ = ["Sheet", "about", "sheets"]

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table. The first column names the row, the others have figures.

    key: accuracy | cost | pairs | talk | rounds | confidence | categories. note: an explanation, or empty.
    """

    key: str
    title: str
    note: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def about(report: Values) -> str:
    """The dataset, models and date, in one line."""
    names = ", ".join(report["models"])
    when = f"; {report['started'][:10]}, pnyx {report['pnyx']}" if report["started"] else ""
    return f"{report['dataset']}: {report['questions']} questions; {names}{when}"


def sheets(report: Values) -> Iterator[Sheet]:
    """The tables that have rows."""
    yield _accuracy(report)
    yield _cost(report)
    for n, to in enumerate(dict.fromkeys(pair["to"] for pair in report["pairs"])):
        yield _pairs(to, [pair for pair in report["pairs"] if pair["to"] == to], PAIRS if n == 0 else "")
    yield from (sheet for sheet in (_talk(report), _rounds(report), _confidence(report)) if sheet.rows)
    if report["categories"]:
        yield _categories(report)


def _accuracy(report: Values) -> Sheet:
    def share(part: Values) -> str:
        return percent(part["accuracy"] and part["accuracy"]["mean"])

    return Sheet(
        "accuracy",
        "Right answers, %",
        "With 95 % intervals (Wilson). Best single, majority and weighted learn from other questions than "
        f"those they answer ({report['folds']} folds). {_chosen(report)}Unanimous: questions with equal "
        f"answers of all models ({report['unanimous']}); split: the others ({report['split']}). Unread: the "
        "answer could not be read. Unread answers and errors count as wrong.",
        ("arm", "n", "right", "95 % interval", "unanimous", "split", "unread", "errors"),
        tuple(
            (
                arm["name"],
                str(arm["n"]),
                share(arm),
                interval(arm["accuracy"]),
                share(arm["unanimous"]),
                share(arm["split"]),
                str(arm["unread"]),
                str(arm["errors"]),
            )
            for arm in report["arms"]
        ),
    )


def _chosen(report: Values) -> str:
    """The models that arms of one model use, with the number of questions."""
    chosen = [(arm["name"], arm["chosen"]) for arm in report["arms"] if arm["chosen"]]
    names = [f"{name} {', '.join(f'{model} ({n})' for model, n in by.items())}" for name, by in chosen]
    return f"Models chosen: {'; '.join(names)}. " if names else ""


def _cost(report: Values) -> Sheet:
    return Sheet(
        "cost",
        "Cost of a question",
        "Means per question, except total USD and USD per right answer. Each arm includes the pool's answers "
        "that it uses. Seconds: median and 95th percentile.",
        ("arm", "calls", "tokens in", "out", "USD", "total", "per right", "s p50", "p95"),
        tuple(
            (
                arm["name"],
                amount(arm["calls"]),
                amount(arm["input_tokens"]),
                amount(arm["output_tokens"]),
                *(usd(arm[key]) if arm["n"] else NONE for key in ("cost_usd", "total_usd")),
                usd(arm["usd_per_right"]) if arm["right"] else NONE,
                number(arm["seconds_p50"], 1),
                number(arm["seconds_p95"], 1),
            )
            for arm in report["arms"]
        ),
    )


PAIRS = (
    "Points with 95 % intervals (Bonett and Price). Rescues: only the arm was right; regressions: only the "
    "other was; safety: their ratio. Gap: the share of the gap to the oracle that is closed. p: McNemar, "
    "exact; Holm: corrected for the number of panel arms. Detectable: the smallest difference found four "
    "times in five. Cost: ratio to the other's (t: in tokens)."
)


def _pairs(to: str, found: Sequence[Values], note: str) -> Sheet:
    what = {SINGLE: "the best single model", MAJORITY: "the majority"}.get(to, to)
    gap = to == SINGLE
    columns = ("arm", "points", "n", "rescues", "regr.", "safety", "gap", "p", "Holm", "detectable", "cost")
    rows = [
        (
            pair["arm"],
            points(pair["difference"]),
            str(pair["n"]),
            str(pair["rescues"]),
            str(pair["regressions"]),
            number(pair["safety_multiple"]),
            NONE if pair["oracle_gap_closed"] is None else f"{pair['oracle_gap_closed']:.0%}",
            p_value(pair["p"]),
            p_value(pair["p_holm"]),
            percent(pair["detectable"]),
            _times(pair),
        )
        for pair in found
    ]
    shown = [place for place, name in enumerate(columns) if gap or name != "gap"]
    return Sheet(
        "pairs",
        f"Against {what}",
        note,
        tuple(columns[place] for place in shown),
        tuple(tuple(row[place] for place in shown) for row in rows),
    )


def _times(pair: Values) -> str:
    if pair["cost_ratio"] is not None:
        return f"{pair['cost_ratio']:.2f}"
    return NONE if pair["token_ratio"] is None else f"{pair['token_ratio']:.2f} t"


def _talk(report: Values) -> Sheet:
    return Sheet(
        "talk",
        "Did talking help?",
        "The vote before the seats read each other, and the decision after it, on the n questions that have "
        "both. Rescued: the vote was wrong and the decision right; lost: the reverse. Points with 95 % "
        "intervals (Bonett and Price). p: McNemar, exact.",
        ("arm", "n", "vote", "after", "rescued", "lost", "points", "p"),
        tuple(
            (
                arm["name"],
                str(talk["n"]),
                percent(talk["vote_right"] / talk["n"]),
                percent(talk["right"] / talk["n"]),
                str(talk["rescued"]),
                str(talk["lost"]),
                points(talk["difference"]),
                p_value(talk["p"]),
            )
            for arm in report["arms"]
            if (talk := arm["talk"])
        ),
    )


def _rounds(report: Values) -> Sheet:
    return Sheet(
        "rounds",
        "Answers changed by each round",
        "Fixed: wrong before the round and right after it; broken: right before and wrong after.",
        ("arm", "round", "n", "fixed", "broken", "right, points"),
        tuple(
            (
                arm["name"],
                str(one["round"]),
                str(one["n"]),
                str(one["fixed"]),
                str(one["broken"]),
                f"{100 * (one['fixed'] - one['broken']) / one['n']:+.1f}",
            )
            for arm in report["arms"]
            for one in arm["rounds"]
        ),
    )


def _confidence(report: Values) -> Sheet:
    def errors(part: Values | None) -> tuple[str, str]:
        return (NONE, NONE) if part is None else (percent(part["ece"]), f"{part['brier']:.4f}")

    return Sheet(
        "confidence",
        "Calibration of confidence",
        "ECE: the mean distance of confidence from the share of right answers, in points (10 bins). Support: "
        "the evidence, taken as a probability. Confidence: what a live run shows, learned from the outcomes "
        "of other questions; none from fewer than 20. Surer half: its share of wrong answers, %; area: the "
        "same over all coverages, as a fraction. Lower is better.",
        ("arm", "n", "ECE, support", "Brier", "outcomes", "ECE, confidence", "Brier", "surer half", "area"),
        tuple(
            (
                arm["name"],
                str(sure["n"]),
                *errors(sure["raw"]),
                NONE if sure["calibrated"] is None else str(sure["calibrated"]["outcomes"][0]),
                *errors(sure["calibrated"]),
                percent(_risk_at_half(sure["risk_coverage"])),
                f"{sure['area']:.4f}",
            )
            for arm in report["arms"]
            if (sure := arm["confidence"])
        ),
    )


def _risk_at_half(curve: Sequence[Sequence[float]]) -> float:
    """The risk at the smallest coverage of at least half of the answers."""
    return next(risk for coverage, risk in curve if coverage >= curve[-1][0] / 2)


def _categories(report: Values) -> Sheet:
    names = [arm["name"] for arm in report["arms"]]
    return Sheet(
        "categories",
        "Right answers by category, %",
        "",
        ("category", "n", *names),
        tuple(
            (
                one["category"] or "(none)",
                str(one["n"]),
                *(percent((share := one["arms"][name]["accuracy"]) and share["mean"]) for name in names),
            )
            for one in report["categories"]
        ),
    )
