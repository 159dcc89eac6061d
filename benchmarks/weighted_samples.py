"""Samples weighed by token probabilities, against plain self-consistency, on samples of embedded models.

    .venv/bin/python -m benchmarks.weighted_samples
    .venv/bin/python -m benchmarks.weighted_samples --collect MODEL --seconds N [--first N]

`weighted_samples.jsonl` has eight samples of each question of `small` (seed 0) at temperature 0.7, with two
probabilities: the mean (geometric) of all tokens, and that of the tokens behind the last `Final answer:`.
Answers are read and grouped by the code of today. For each model it prints how often a right sample has the
larger weight of two samples of a question, and the share of questions whose leading answer is right, for
several numbers of samples (`DRAWS` draws each; a tie counts as its share of right answers). `--collect` adds
samples of an installed model for so many seconds, from the question with that number on.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from math import exp, fsum
from pathlib import Path
from typing import Any

from pnyx.core.answers.replies.extract import final_answer
from pnyx.core.answers.same.grouping import find_group, group_answers
from pnyx.evaluate.datasets import load
from pnyx.evaluate.grading.grade import is_right
from pnyx.evaluate.items import Item
from pnyx.prompts import ROOT as PROMPTS
from pnyx.providers.embedded.weights import installed

RECORD = Path(__file__).with_name("weighted_samples.jsonl")
QUESTIONS, SAMPLES, SIZES, DRAWS = 200, 8, (2, 3, 4, 6, 8), 400
TEMPERATURE, TOKENS, MARK = 0.7, 220, "inal answer:"


@dataclass(frozen=True, slots=True)
class Sample:
    """A reply to a question. mean: probability of its tokens, geometric mean; final: of its final answer."""

    model: str
    id: str
    n: int
    text: str
    mean: float
    final: float


@dataclass(frozen=True, slots=True)
class Read:
    """A sample as it votes. group: None if it has no short answer."""

    sample: Sample
    group: str | None
    right: bool


WEIGHTS: dict[str, Callable[[Sample], float]] = {
    "plain": lambda _: 1.0,
    "mean": lambda one: one.mean,
    "final": lambda one: one.final,
}


def read(item: Item, samples: Sequence[Sample]) -> list[Read]:
    short = [final_answer(one.text, item.question) for one in samples]
    groups = group_answers(short, item.question)
    return [
        Read(one, find_group(answer, groups, item.question), answer is not None and is_right(item, answer))
        for one, answer in zip(samples, short, strict=True)
    ]


def leads(reads: Sequence[Read], weight: Callable[[Sample], float]) -> float:
    """The share of right ones among the answers with the largest sum of weights."""
    sums, right = Counter[str](), dict[str, bool]()
    for one in reads:
        if one.group is not None:
            sums[one.group] += weight(one.sample)  # type: ignore[assignment]
            right[one.group] = right.get(one.group, False) or one.right
    top = max(sums.values(), default=0.0)
    first = [right[group] for group, total in sums.items() if total > top - 1e-9]
    return sum(first) / len(first) if first else 0.0


def better_pairs(questions: Sequence[Sequence[Read]], weight: Callable[[Sample], float]) -> tuple[int, float]:
    """The pairs of a right and a wrong sample of a question, and how often the right one weighs more."""
    found = [
        1.0 if weight(a.sample) > weight(b.sample) else 0.5 * (weight(a.sample) == weight(b.sample))
        for reads in questions
        for a in reads
        for b in reads
        if a.right and not b.right
    ]
    return len(found), sum(found) / len(found) if found else 0.5


def report(model: str, questions: Sequence[Sequence[Read]]) -> None:
    share = sum(one.right for reads in questions for one in reads) / sum(map(len, questions))
    print(f"\n{model}: {len(questions)} questions, {SAMPLES} samples each, {100 * share:.0f} % right")
    pairs = {name: better_pairs(questions, weight) for name, weight in WEIGHTS.items()}
    print(f"\n| samples | {' | '.join(WEIGHTS)} |\n|---|{'---|' * len(WEIGHTS)}")
    for size in SIZES:
        chance = random.Random(size)
        drawn = [chance.sample(list(reads), size) for reads in questions for _ in range(DRAWS)]
        cells = [f"{100 * fsum(leads(one, w) for one in drawn) / len(drawn):.1f}" for w in WEIGHTS.values()]
        print(f"| {size} | {' | '.join(cells)} |")
    cells = [f"{100 * share:.0f} % of {n}" for n, share in pairs.values()]
    print(f"| the right one of a pair weighs more | {' | '.join(cells)} |")


def sampled(model: str, item: Item, n: int, reply: dict[str, Any]) -> Sample:
    choice = reply["choices"][0]
    tokens = choice["logprobs"]["content"]
    text, logs = choice["message"]["content"], [one["logprob"] for one in tokens]
    start, at, behind = "".join(one["token"] for one in tokens).rfind(MARK), 0, list[float]()
    for one in tokens:
        behind += [one["logprob"]] if 0 <= start < at - len(MARK) + 1 else []
        at += len(one["token"])
    mean = exp(fsum(logs) / max(1, len(logs)))
    final = exp(fsum(behind) / len(behind)) if behind else mean
    return Sample(model, item.id, n, text, round(mean, 4), round(final, 4))


def collect(model: str, seconds: float, first: int) -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(installed()[model])
    params.n_parallel, params.n_ctx = SAMPLES, SAMPLES * 1024
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
    server = xllamacpp.Server(params)
    prompt = (PROMPTS / "sample/answer.short.md").read_text("utf-8").strip()
    end = time.monotonic() + seconds

    def ask(item: Item, n: int) -> Sample:
        body = {
            "messages": [{"role": "user", "content": f"{item.prompt}\n\n{prompt}"}],
            "temperature": TEMPERATURE,
            "seed": 1000 * n + 7,
            "max_tokens": TOKENS,
            "logprobs": True,
            "top_logprobs": 1,
        }
        found = server.handle_chat_completions(body)
        return sampled(model, item, n, json.loads(found) if isinstance(found, str) else found)

    with RECORD.open("a", encoding="utf-8") as file, ThreadPoolExecutor(SAMPLES) as threads:
        for item in load("small", seed=0, limit=QUESTIONS)[first:]:
            if time.monotonic() > end:
                break
            for one in threads.map(lambda n, item=item: ask(item, n), range(SAMPLES)):  # type: ignore[misc]
                file.write(json.dumps(asdict(one), ensure_ascii=False) + "\n")
            file.flush()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--collect", metavar="MODEL")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--first", type=int, default=0, metavar="N")
    args = parser.parse_args()
    if args.collect:
        return collect(args.collect, args.seconds, args.first)
    items = {item.id: item for item in load("small", seed=0, limit=QUESTIONS)}
    models: dict[str, dict[str, list[Sample]]] = defaultdict(lambda: defaultdict(list))
    for line in RECORD.read_text("utf-8").splitlines():
        one = Sample(**json.loads(line))
        models[one.model][one.id].append(one)
    for model, by_id in models.items():
        report(model, [read(items[id], some) for id, some in by_id.items() if len(some) == SAMPLES])


if __name__ == "__main__":
    main()
