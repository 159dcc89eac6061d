"""The tables of a report, in the order in which they matter, as the terminal and the page both show them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..analysis.arms import MAJORITY, SINGLE
from .formats import NONE, amount, interval, number, p_value, percent, points, usd

__all__ = ["Sheet", "about", "sheets"]

Told = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table. The first column names what each row is about, the others hold figures.

    key: accuracy | cost | pairs | rounds | confidence | categories. note: how to read it, or empty.
    """

    key: str
    title: str
    note: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def about(told: Told) -> str:
    """What was compared, in a line."""
    names = ", ".join(told["models"])
    when = f"; {told['started'][:10]}, pnyx {told['pnyx']}" if told["started"] else ""
    return f"{told['dataset']}: {told['questions']} questions; {names}{when}"


def sheets(told: Told) -> Iterator[Sheet]:
    """Those that have something in them."""
    yield _accuracy(told)
    yield _cost(told)
    for n, to in enumerate(dict.fromkeys(pair["to"] for pair in told["pairs"])):
        yield _pairs(to, [pair for pair in told["pairs"] if pair["to"] == to], PAIRS if n == 0 else "")
    yield from (sheet for sheet in (_rounds(told), _confidence(told)) if sheet.rows)
    if told["categories"]:
        yield _categories(told)


def _accuracy(told: Told) -> Sheet:
    def share(part: Told) -> str:
        return percent(part["accuracy"] and part["accuracy"]["mean"])

    return Sheet(
        "accuracy",
        "Right answers, %",
        "With 95 % intervals (Wilson). Best single, majority and weighted are learned on other questions "
        f"than those they answer ({told['folds']} folds). {_chosen(told)}Unanimous: the {told['unanimous']} "
        f"questions to which all models gave the same answer; split: the other {told['split']}. Unread: no "
        "answer could be read; it counts as wrong, as an error does.",
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
            for arm in told["arms"]
        ),
    )


def _chosen(told: Told) -> str:
    """Which models the arms of one model are, and on how many questions."""
    chosen = [(arm["name"], arm["chosen"]) for arm in told["arms"] if arm["chosen"]]
    names = [f"{name} {', '.join(f'{model} ({n})' for model, n in by.items())}" for name, by in chosen]
    return f"Models chosen: {'; '.join(names)}. " if names else ""


def _cost(told: Told) -> Sheet:
    return Sheet(
        "cost",
        "What a question takes",
        "Means, but for USD in all and per right answer; what each arm would have taken on its own, the "
        "pool's answers included. Seconds: median and 95th percentile.",
        ("arm", "calls", "tokens in", "out", "USD", "in all", "per right", "s p50", "p95"),
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
            for arm in told["arms"]
        ),
    )


PAIRS = (
    "Points with 95 % intervals (paired bootstrap). Rescues: only the arm was right; regressions: only the "
    "other was; safety: their ratio. Gap: share of the way to the oracle. p: McNemar, exact; Holm: corrected "
    "for the number of panel arms. Shows: the difference that would show four times in five. Cost: times the "
    "other's (t: in tokens)."
)


def _pairs(to: str, found: Sequence[Told], note: str) -> Sheet:
    what = {SINGLE: "the best single model", MAJORITY: "the majority"}.get(to, to)
    gap = to == SINGLE
    columns = ("arm", "points", "n", "rescues", "regr.", "safety", "gap", "p", "Holm", "shows", "cost")
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
    kept = [place for place, name in enumerate(columns) if gap or name != "gap"]
    return Sheet(
        "pairs",
        f"Against {what}",
        note,
        tuple(columns[place] for place in kept),
        tuple(tuple(row[place] for place in kept) for row in rows),
    )


def _times(pair: Told) -> str:
    if pair["cost_ratio"] is not None:
        return f"{pair['cost_ratio']:.2f}"
    return NONE if pair["token_ratio"] is None else f"{pair['token_ratio']:.2f} t"


def _rounds(told: Told) -> Sheet:
    return Sheet(
        "rounds",
        "What each round changed",
        "Fixed: wrong before the round and right after it; broken: the other way round.",
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
            for arm in told["arms"]
            for one in arm["rounds"]
        ),
    )


def _confidence(told: Told) -> Sheet:
    def errors(part: Told | None) -> tuple[str, str]:
        return (NONE, NONE) if part is None else (percent(part["ece"]), f"{part['brier']:.4f}")

    return Sheet(
        "confidence",
        "Whether confidence can be believed",
        "ECE: how far confidence is from the share right, in points (10 bins). Calibrated: on other "
        "questions (isotonic). Surer half: the share wrong in it, %; area: the same over all coverages, as a "
        "fraction. Lower is better.",
        ("arm", "n", "ECE", "Brier", "ECE calibrated", "Brier", "surer half", "area"),
        tuple(
            (
                arm["name"],
                str(sure["n"]),
                *errors(sure["raw"]),
                *errors(sure["calibrated"]),
                percent(_risk_at_half(sure["risk_coverage"])),
                f"{sure['area']:.4f}",
            )
            for arm in told["arms"]
            if (sure := arm["confidence"])
        ),
    )


def _risk_at_half(curve: Sequence[Sequence[float]]) -> float:
    """The risk at the least coverage of at least half of what was answered."""
    return next(risk for coverage, risk in curve if coverage >= curve[-1][0] / 2)


def _categories(told: Told) -> Sheet:
    names = [arm["name"] for arm in told["arms"]]
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
            for one in told["categories"]
        ),
    )
