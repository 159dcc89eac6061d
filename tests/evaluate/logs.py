"""Evaluation logs for tests, written by hand or drawn at random."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pnyx.evaluate.analysis.log import Arm, Kind, Log, Row

TARGET = "42"


def row(arm: str, id: str, letter: str, **more: Any) -> Row:
    """letter: "+" right, "." unreadable, "!" an error, anything else a wrong answer of that text."""
    answers = {"+": TARGET, ".": None, "!": None}
    error = "no seat answered" if letter == "!" else None
    facts = {"calls": 1, "input_tokens": 100, "output_tokens": 10, "cost_usd": 0.01, "seconds": 1.0}
    return Row(
        arm=arm,
        id=id,
        target=TARGET,
        answer=answers.get(letter, letter),
        correct=letter == "+",
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
    """A letter of `row` for each question, "_" if the arm was not asked; `change` returns more fields."""
    arms: list[tuple[str, Kind, str]] = [(name, "single", letters) for name, letters in models.items()]
    if samples:
        arms.append(("samples", "samples", samples))
    arms += [(name, "protocol", letters) for name, letters in (protocols or {}).items()]
    rows = [
        row(name, f"q{n:03}", letter)
        for name, _, letters in arms
        for n, letter in enumerate(letters)
        if letter != "_"
    ]
    return Log(
        dataset="made",
        models=tuple(models),
        arms=tuple(Arm(name=name, kind=kind, protocol=name) for name, kind, _ in arms),
        rows=tuple(replace(one, **change(one)) for one in rows),
        **more,
    )


def random_letters(accuracy: float, n: int, rng: random.Random, wrong: Sequence[str] = "xyz") -> str:
    """The letters of a model that is right with probability `accuracy`."""
    return "".join("+" if rng.random() < accuracy else rng.choice(wrong) for _ in range(n))


def random_log(n: int = 60, seed: int = 0, gain: float = 0.0, **more: Any) -> Log:
    """Three models with accuracy 0.6, samples and `moa` as good, and `council` better by `gain`."""
    rng = random.Random(seed)
    models = {name: random_letters(0.6, n, rng) for name in "abc"}
    protocols = {"council": random_letters(0.6 + gain, n, rng), "moa": random_letters(0.6, n, rng)}
    return log(models, protocols, random_letters(0.6, n, rng), **more)
