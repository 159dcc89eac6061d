"""What a report comes to, in sentences that claim no more than its intervals say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..analysis.arms import MAJORITY, ORACLE, SINGLE, is_panel
from .formats import interval, listed, p_value, percent, points

__all__ = ["LEVEL", "verdict"]

LEVEL = 0.05
EQUAL = (0.8, 1.25)
"""Times the cost of the other, within which two arms are said to cost the same."""

Told = Mapping[str, Any]


def verdict(told: Told) -> list[str]:
    """The sentences, most important first. told: a report's document without them."""
    arms = {arm["name"]: arm for arm in told["arms"]}
    if len(told["models"]) < 2:
        return [
            *_unfinished(told),
            "One model is no panel: there is nothing to compare it with.",
            *_faults(told),
        ]
    claimed = _lead(_against(told, SINGLE))
    return [
        *_unfinished(told),
        *_best(told),
        *_against_single(_against(told, SINGLE)),
        *(line for arm in claimed for line in _at_equal_cost(told, arm)),
        *_agreed(told, arms),
        *_to_win(told, arms, claimed),
        *_faults(told),
    ]


def _unfinished(told: Told) -> Iterator[str]:
    if told["partial"]:
        short = [f"{a['name']} {a['n']}" for a in told["arms"] if a["n"] < told["questions"]]
        more = (
            f" Fewer of these have: {listed(short)}; they are compared on what they answered."
            if short
            else ""
        )
        yield (
            f"Not finished: of {told['asked']} questions begun, {told['questions']} were answered by every "
            f"model, and only those are compared.{more}"
        )


def _best(told: Told) -> Iterator[str]:
    """Who leads among arms that answered all questions; shares of different questions are not ranked."""
    whole = [a for a in told["arms"] if a["n"] == told["questions"] and a["name"] != ORACLE]
    most = max(arm["right"] for arm in whole)
    names = [arm["name"] for arm in whole if arm["right"] == most]
    share = next(arm for arm in whole if arm["right"] == most)["accuracy"]
    yield (
        f"Most right answers: {listed(names)}, {percent(share['mean'])} % {interval(share)} of "
        f"{told['questions']} questions. Among so many arms the first is partly so by luck; what follows "
        "compares them question by question."
    )


def _against(told: Told, to: str) -> list[Told]:
    """Panel arms compared with `to`, those that did best first."""
    kinds = {arm["name"]: arm["kind"] for arm in told["arms"]}
    found = [p for p in told["pairs"] if p["to"] == to and is_panel(p["arm"], kinds[p["arm"]])]
    return sorted(found, key=lambda pair: -pair["difference"]["mean"])


def _better(pair: Told) -> bool:
    return bool(pair["difference"]["low"] > 0 and pair["p_holm"] < LEVEL)


def _worse(pair: Told) -> bool:
    return bool(pair["difference"]["high"] < 0 and pair["p_holm"] < LEVEL)


def _lead(found: Sequence[Told]) -> list[str]:
    """The arms that beat what they were compared with; if none did, the one that came nearest."""
    return [pair["arm"] for pair in found if _better(pair)] or [pair["arm"] for pair in found[:1]]


def _against_single(found: Sequence[Told]) -> Iterator[str]:
    family = len(found)
    best = "the best single model, chosen on held-out questions"
    for pair in filter(_better, found):
        yield f"{pair['arm']} beats {best}: {_shown(pair, family)}."
    if found and not any(map(_better, found)):
        first, *_ = found
        chance = "Its interval is clear of zero, but the corrected test leaves room for chance."
        yield (
            f"No panel arm was shown to beat {best}. {first['arm']} came nearest: {_shown(first, family)}. "
            f"{chance if first['difference']['low'] > 0 else _detectable(first)}"
        )
    if worse := [pair for pair in found if _worse(pair)]:
        told = [f"{pair['arm']} {points(pair['difference'])}" for pair in worse]
        yield f"Worse than the best single model, in points: {listed(told)}."


def _shown(pair: Told, family: int) -> str:
    corrected = (
        f", p {_p(pair['p_holm'])} after Holm's correction for {family} panel arms" if family > 1 else ""
    )
    n, p = pair["n"], _p(pair["p"])
    return f"{points(pair['difference'])} points on {n} questions, McNemar's p {p}{corrected}"


def _p(p: float) -> str:
    told = p_value(p)
    return told if told.startswith("<") else f"= {told}"


def _detectable(pair: Told) -> str:
    return (
        f"As often as these two differ, {pair['n']} questions show a difference of "
        f"{percent(pair['detectable'])} points four times in five; a smaller one may be there."
    )


def _at_equal_cost(told: Told, arm: str) -> Iterator[str]:
    samples = [a["name"] for a in told["arms"] if a["kind"] == "samples"]
    if not samples:
        yield f"Whether {arm} is worth its cost was not asked: no arm samples one model at equal cost."
    for to in samples:
        found = _against(told, to)
        pair = next((pair for pair in found if pair["arm"] == arm), None)
        if pair is None:
            continue
        outcome = (
            f"{arm} beats {to}"
            if _better(pair)
            else f"{arm} does worse than {to}"
            if _worse(pair)
            else f"no difference between {arm} and {to} was shown"
        )
        unclear = "" if _better(pair) or _worse(pair) else f". {_detectable(pair)}"
        yield f"{_cost(pair)}{outcome}: {_shown(pair, len(found))}{unclear or '.'}"


def _cost(pair: Told) -> str:
    """How the costs of two arms compare, in money; in tokens where that is unknown or nothing."""
    ratio, unit = (
        (pair["cost_ratio"], "cost") if pair["cost_ratio"] else (pair["token_ratio"], "number of tokens")
    )
    if ratio is None:
        return "At costs that are not known, "
    if EQUAL[0] <= ratio <= EQUAL[1]:
        return f"At equal {unit} ({ratio:.2f} times), "
    return f"Not at equal cost, but at {ratio:.2f} times the {unit}, "


def _agreed(told: Told, arms: Mapping[str, Told]) -> Iterator[str]:
    if n := told["unanimous"]:
        share = arms[ORACLE]["unanimous"]["accuracy"]
        yield (
            f"All models gave the same answer to {n} of {told['questions']} questions; it was right on "
            f"{percent(share['mean'])} % {interval(share)}."
        )


def _to_win(told: Told, arms: Mapping[str, Told], claimed: Sequence[str]) -> Iterator[str]:
    if not (n := told["split"]):
        yield "The models never differed: no way to combine what they said could make a difference."
        return
    names = [SINGLE, MAJORITY, *(name for name in claimed if name != MAJORITY)]
    split = {name: arms[name]["split"] for name in [*names, ORACLE]}
    shares = [
        f"{name} {percent(split[name]['accuracy']['mean'])} %" for name in names if split[name]["accuracy"]
    ]
    gap = split[ORACLE]["right"] - split[SINGLE]["right"]
    some = percent(split[ORACLE]["accuracy"]["mean"])
    yield (
        f"On the {n} others: {listed(shares)}; on {some} % some model was right (oracle). What a choice "
        f"among the given answers could still win over the best single model is {percent(gap / n)} points "
        f"there, {percent(gap / told['questions'])} points of all questions."
    )


def _faults(told: Told) -> Iterator[str]:
    recorded = [arm for arm in told["arms"] if arm["kind"] != "pool"]
    for key, what in (
        ("unread", "Answers that could not be read"),
        ("errors", "Questions that ended in an error"),
    ):
        if some := [f"{arm['name']} {arm[key]} of {arm['n']}" for arm in recorded if arm[key]]:
            yield f"{what} count as wrong: {listed(some)}."
    if unknown := [arm["name"] for arm in recorded if arm["n"] and arm["total_usd"] is None]:
        yield f"Cost is unknown, as a price is missing, for {listed(unknown)}."
