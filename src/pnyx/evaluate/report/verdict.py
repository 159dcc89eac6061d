"""Summarise a report in sentences that claim no more than its intervals show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...phrases import listed
from ..analysis.arms import MAJORITY, ORACLE, SINGLE, is_panel
from .formats import interval, p_value, percent, points

__all__ = ["LEVEL", "verdict"]

LEVEL = 0.05
EQUAL = (0.8, 1.25)
"""The ratios of cost between which two arms count as equally expensive."""

Values = Mapping[str, Any]


def verdict(report: Values) -> list[str]:
    """The sentences, most important first. report: the document without its verdict."""
    arms = {arm["name"]: arm for arm in report["arms"]}
    if len(report["models"]) < 2:
        return [
            *_unfinished(report),
            "There is one model, which is not a panel, so there is nothing to compare.",
            *_faults(report),
        ]
    claimed = _lead(_against(report, SINGLE))
    return [
        *_unfinished(report),
        *_best(report),
        *_against_single(_against(report, SINGLE)),
        *(line for arm in claimed for line in _at_equal_cost(report, arm)),
        *_agreed(report, arms),
        *_room_for_gain(report, arms, claimed),
        *_talk(report),
        *_faults(report),
    ]


def _unfinished(report: Values) -> Iterator[str]:
    if report["partial"]:
        short = [f"{a['name']} {a['n']}" for a in report["arms"] if a["n"] < report["questions"]]
        more = (
            f" These arms have answered fewer of them: {listed(short)}; they are compared on those."
            if short
            else ""
        )
        yield (
            f"Not finished: every model has answered {report['questions']} of {report['asked']} questions, "
            f"and only those are compared.{more}"
        )


def _best(report: Values) -> Iterator[str]:
    """The leading arms among those that answered all questions. Others are not comparable."""
    whole = [a for a in report["arms"] if a["n"] == report["questions"] and a["name"] != ORACLE]
    most = max(arm["right"] for arm in whole)
    if most == 0:
        yield f"No arm was right on any of the {report['questions']} questions."
        return
    names = [arm["name"] for arm in whole if arm["right"] == most]
    share = next(arm for arm in whole if arm["right"] == most)["accuracy"]
    yield (
        f"Most right answers: {listed(names)}, {percent(share['mean'])} % {interval(share)} of "
        f"{report['questions']} questions. With several arms, luck helps the first one; the following "
        "comparisons are per question."
    )


def _against(report: Values, to: str) -> list[Values]:
    """The comparisons of panel arms with `to`, best first."""
    kinds = {arm["name"]: arm["kind"] for arm in report["arms"]}
    found = [p for p in report["pairs"] if p["to"] == to and is_panel(p["arm"], kinds[p["arm"]])]
    return sorted(found, key=lambda pair: -pair["difference"]["mean"])


def _better(pair: Values) -> bool:
    return bool(pair["difference"]["low"] > 0 and pair["p_holm"] < LEVEL)


def _worse(pair: Values) -> bool:
    return bool(pair["difference"]["high"] < 0 and pair["p_holm"] < LEVEL)


def _lead(found: Sequence[Values]) -> list[str]:
    """The arms that beat the baseline, or else the best one."""
    return [pair["arm"] for pair in found if _better(pair)] or [pair["arm"] for pair in found[:1]]


def _against_single(found: Sequence[Values]) -> Iterator[str]:
    family = len(found)
    best = "the best single model, chosen on held-out questions"
    for pair in filter(_better, found):
        yield f"{pair['arm']} beats {best}: {_shown(pair, family)}."
    if found and not any(map(_better, found)):
        first, *_ = found
        chance = "Its interval excludes zero, but after the correction chance remains a possible cause."
        yield (
            f"No panel arm was shown to beat {best}. The best one is {first['arm']}: {_shown(first, family)}"
            f". {chance if first['difference']['low'] > 0 else _detectable(first)}"
        )
    if worse := [pair for pair in found if _worse(pair)]:
        names = [f"{pair['arm']} {points(pair['difference'])}" for pair in worse]
        yield f"Worse than the best single model, in points: {listed(names)}."


def _shown(pair: Values, family: int) -> str:
    corrected = (
        f", p {_p(pair['p_holm'])} after Holm's correction for {family} panel arms" if family > 1 else ""
    )
    n, p = pair["n"], _p(pair["p"])
    return f"{points(pair['difference'])} points on {n} questions, McNemar's p {p}{corrected}"


def _p(p: float) -> str:
    value = p_value(p)
    return value if value.startswith("<") else f"= {value}"


def _detectable(pair: Values) -> str:
    return (
        f"{pair['n']} questions would show a difference of {percent(pair['detectable'])} points four times "
        "in five; a smaller one may exist."
    )


def _at_equal_cost(report: Values, arm: str) -> Iterator[str]:
    samples = [a["name"] for a in report["arms"] if a["kind"] == "samples"]
    if not samples:
        yield f"Whether {arm} is worth its cost is unknown: no arm samples one model at equal cost."
    for to in samples:
        found = _against(report, to)
        pair = next((pair for pair in found if pair["arm"] == arm), None)
        if pair is None:
            continue
        outcome = (
            f"{arm} beats {to}"
            if _better(pair)
            else f"{arm} is worse than {to}"
            if _worse(pair)
            else f"no difference between {arm} and {to} was shown"
        )
        unclear = "" if _better(pair) or _worse(pair) else f". {_detectable(pair)}"
        yield f"{_cost(pair)}{outcome}: {_shown(pair, len(found))}{unclear or '.'}"


def _cost(pair: Values) -> str:
    """The ratio of costs in words: in USD, or in tokens if USD is unknown or 0."""
    ratio, unit = (
        (pair["cost_ratio"], "cost") if pair["cost_ratio"] else (pair["token_ratio"], "number of tokens")
    )
    if ratio is None:
        return "At unknown cost, "
    if EQUAL[0] <= ratio <= EQUAL[1]:
        return f"At equal {unit} ({ratio:.2f} times), "
    return f"Not at equal cost, but at {ratio:.2f} times the {unit}, "


def _agreed(report: Values, arms: Mapping[str, Values]) -> Iterator[str]:
    if n := report["unanimous"]:
        share = arms[ORACLE]["unanimous"]["accuracy"]
        yield (
            f"All models agreed on {n} of {report['questions']} questions; their answer was right on "
            f"{percent(share['mean'])} % {interval(share)}."
        )


def _room_for_gain(report: Values, arms: Mapping[str, Values], claimed: Sequence[str]) -> Iterator[str]:
    if not (n := report["split"]):
        yield "The models never differed, so no combination of their answers can differ either."
        return
    names = [SINGLE, MAJORITY, *(name for name in claimed if name != MAJORITY)]
    split = {name: arms[name]["split"] for name in [*names, ORACLE]}
    shares = [
        f"{name} {percent(split[name]['accuracy']['mean'])} %" for name in names if split[name]["accuracy"]
    ]
    gap = split[ORACLE]["right"] - split[SINGLE]["right"]
    some = percent(split[ORACLE]["accuracy"]["mean"])
    yield (
        f"On the {n} on which they differ: {listed(shares)}; at least one model was right on {some} % "
        f"(oracle). A perfect choice among the models' answers would gain {percent(gap / n)} points there "
        f"over the best single model, or {percent(gap / report['questions'])} points on all questions."
    )


def _talk(report: Values) -> Iterator[str]:
    """What each debate made of the vote before it."""
    found = [(arm["name"], arm["talk"]) for arm in report["arms"] if arm["talk"]]
    shown = [
        f"{name} rescued {talk['rescued']} and lost {talk['lost']} of {talk['n']} (p {_p(talk['p'])})"
        for name, talk in found
    ]
    if shown:
        yield (
            "Did talking help? Against the vote before the debate, "
            f"{'; '.join(shown)}. Rescued: only the decision was right; lost: only the vote was."
        )


def _faults(report: Values) -> Iterator[str]:
    recorded = [arm for arm in report["arms"] if arm["kind"] != "pool"]
    for key, what in (
        ("unread", "Unread answers"),
        ("errors", "Questions that ended in an error"),
    ):
        if some := [f"{arm['name']} {arm[key]} of {arm['n']}" for arm in recorded if arm[key]]:
            yield f"{what} count as wrong: {listed(some)}."
    if unknown := [arm["name"] for arm in recorded if arm["n"] and arm["total_usd"] is None]:
        yield f"The cost of {listed(unknown)} is unknown, because a price is missing."
