"""Simulated answers, and hypothesis strategies for them."""

from __future__ import annotations

import random
from collections.abc import Sequence

from hypothesis import strategies as st

from pnyx.reliability.accuracy import AnsweredQuestion

MODELS = ("a", "b", "c", "d")


def table(
    accuracies: Sequence[float],
    n: int,
    *,
    options: int = 4,
    seed: int = 0,
    copies: int = 1,
    labels: bool = True,
) -> list[AnsweredQuestion]:
    """Return `n` questions to models with these accuracies and uniform errors, and copies of the last one."""
    chance, out = random.Random(seed), []
    for _ in range(n):
        gold = chance.randrange(options)
        choices = [
            gold if chance.random() < p else (gold + chance.randrange(1, options)) % options
            for p in accuracies
        ]
        answers = dict(
            zip("abcdefghijklmnopqrstuvwxyzABCD", [*choices, *choices[-1:] * (copies - 1)], strict=False)
        )
        shown: dict[str, str | None] = {model: str(answer) for model, answer in answers.items()}
        out.append(AnsweredQuestion(shown, str(gold) if labels else None, options))
    return out


answers = st.none() | st.sampled_from("wxyz")
questions = st.builds(
    AnsweredQuestion,
    answers=st.fixed_dictionaries(dict.fromkeys(MODELS, answers)),
    gold=st.none() | st.sampled_from("wxyz"),
    options=st.sampled_from((None, 4)),
    category=st.sampled_from((None, "law", "physics")),
)
tables = st.lists(questions, max_size=60)
