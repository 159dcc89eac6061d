"""Two answers to each of the same questions, compared pair by pair: what a change of prompts did to answers.

    .venv/bin/python -m benchmarks.paired questions --seed 7000 > questions.jsonl
    pnyx batch questions.jsonl -m MODEL -p single --out before.jsonl        # with the version before
    pnyx batch questions.jsonl -m MODEL -p single --out after.jsonl         # with this one
    .venv/bin/python -m benchmarks.paired compare before.jsonl after.jsonl --seed 7000

The questions are those of `small`, each with a seed for its model; with `--solved N`, and a file that has N
other ones with their answers. `compare` grades the questions that both
files have, prints how many each one has right, the difference with its interval, and McNemar's exact test.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path
from typing import Any

from pnyx.evaluate.analysis.statistics import mcnemar, minimum_detectable, paired_bootstrap, wilson
from pnyx.evaluate.datasets import load
from pnyx.evaluate.grading.grade import grade
from pnyx.evaluate.items import Item

COUNT = 240


def items(seed: int) -> list[Item]:
    return load("small", seed=seed, limit=COUNT)


def results(path: Path) -> dict[str, dict[str, Any]]:
    """The results of a batch, by the id of the question."""
    return {row["id"]: row for row in map(json.loads, path.read_text().splitlines())}


async def right(known: dict[str, Item], rows: dict[str, dict[str, Any]], ids: list[str]) -> list[bool]:
    return [(await grade(known[id], rows[id]["answer"] or "")).correct for id in ids]


def mean_tokens(rows: dict[str, dict[str, Any]], ids: list[str]) -> float:
    return sum(rows[id]["usage"]["output_tokens"] for id in ids) / len(ids)


async def compare(before: Path, after: Path, seed: int) -> None:
    known = {item.id: item for item in items(seed)}
    old, new = results(before), results(after)
    ids = sorted(known.keys() & old.keys() & new.keys())
    if not ids:
        raise SystemExit(f"pnyx: {before} and {after} have no question of seed {seed} in common")
    was, now = await right(known, old, ids), await right(known, new, ids)
    lost = sum(one and not other for one, other in zip(was, now, strict=True))
    won = sum(other and not one for one, other in zip(was, now, strict=True))
    change = paired_bootstrap([float(other) - one for one, other in zip(was, now, strict=True)])
    print(f"questions               {len(ids)}")
    for name, found, rows in (("before", was, old), ("after", now, new)):
        share = wilson(sum(found), len(ids))
        shown = f"{sum(found)} ({share.mean:.1%} [{share.low:.1%}, {share.high:.1%}])"
        print(f"right {name:<17} {shown}, {mean_tokens(rows, ids):.0f} tokens of output")
    print(f"right only before       {lost}")
    print(f"right only after        {won}")
    low, high = 100 * change.low, 100 * change.high
    print(f"difference, in points   {100 * change.mean:+.1f} [{low:+.1f}, {high:+.1f}]")
    print(f"McNemar's test          p = {mcnemar(won, lost):.2f}")
    print(f"detectable, in points   {100 * minimum_detectable(len(ids), max(won + lost, 1) / len(ids)):.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    asked = commands.add_parser("questions")
    compared = commands.add_parser("compare")
    compared.add_argument("before", type=Path)
    compared.add_argument("after", type=Path)
    for command in (asked, compared):
        command.add_argument("--seed", type=int, default=7000)
    asked.add_argument("--solved", type=int, default=0)
    options = parser.parse_args()
    if options.command == "compare":
        asyncio.run(compare(options.before, options.after, options.seed))
        return
    known = items(options.seed)
    for n, item in enumerate(known):
        others = [known[(n + place) % len(known)] for place in range(1, options.solved + 1)]
        text = "\n\n".join(f"Question: {other.prompt}\nAnswer: {other.target}" for other in others)
        files = {"files": [{"name": "solved.md", "content": text}]} if others else {}
        print(json.dumps({"id": item.id, "question": item.prompt, "seed": 1, **files}))


if __name__ == "__main__":
    main()
