"""Logs of evaluations made by hand or by chance."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pnyx.evaluate.analysis.log import Arm, Kind, Log, Row

TARGET = "42"


def row(arm: str, id: str, said: str, **more: Any) -> Row:
    """said: "+" right, "." unreadable, "!" an error, anything else a wrong answer of that text."""
    answers = {"+": TARGET, ".": None, "!": None}
    error = "no seat answered" if said == "!" else None
    facts = {"calls": 1, "input_tokens": 100, "output_tokens": 10, "cost_usd": 0.01, "seconds": 1.0}
    return Row(
        arm=arm,
        id=id,
        target=TARGET,
        answer=answers.get(said, said),
        correct=said == "+",
        error=error,
        **{**facts, **more},
    )


def log(
    models: Mapping[str, str],
    protocols: Mapping[str, str] | None = None,
    samples: str = "",
    change: Callable[[Row], dict[str, Any]] = lambda row: {},
    **more: Any,
) -> Log:
    """A letter of `row` for each question, "_" where the arm was not asked; `change` gives rows more."""
    arms: list[tuple[str, Kind, str]] = [(name, "single", said) for name, said in models.items()]
    if samples:
        arms.append(("samples", "samples", samples))
    arms += [(name, "protocol", said) for name, said in (protocols or {}).items()]
    rows = [
        row(name, f"q{n:03}", letter)
        for name, _, said in arms
        for n, letter in enumerate(said)
        if letter != "_"
    ]
    return Log(
        dataset="made",
        models=tuple(models),
        arms=tuple(Arm(name=name, kind=kind, protocol=name) for name, kind, _ in arms),
        rows=tuple(replace(one, **change(one)) for one in rows),
        **more,
    )


def said(accuracy: float, n: int, chance: random.Random, wrong: Sequence[str] = "xyz") -> str:
    """The letters of a model that is right with this probability."""
    return "".join("+" if chance.random() < accuracy else chance.choice(wrong) for _ in range(n))


def chance_log(n: int = 60, seed: int = 0, gain: float = 0.0, **more: Any) -> Log:
    """Three models of 0.6, samples as good, two protocols: one as good, the other by `gain` better."""
    chance = random.Random(seed)
    models = {name: said(0.6, n, chance) for name in "abc"}
    protocols = {"council": said(0.6 + gain, n, chance), "moa": said(0.6, n, chance)}
    return log(models, protocols, said(0.6, n, chance), **more)
