"""Which question `pnyx demo` asks: `python -m benchmarks.demo --help`.

Each candidate of `demo_questions.toml` goes to one embedded model with several seeds, as the demo sends it: a
run of the protocol `sample` in which every seat answers once. A row of the table says how often one sample
was right, and how often the answer of most samples. Runs are appended to a JSON Lines file, and the same
command goes on from there; with `--report` it only prints the table.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pnyx import same_answer
from pnyx.interfaces.cli.actions.demo import CONTEXT, run_request
from pnyx.interfaces.process.open_settings import open_settings
from pnyx.run.options.resolve import resolve
from pnyx.run.runner import Runner

FOLDER = Path(__file__).parent
RECORD = FOLDER / "demo.jsonl"
LONG_S = 3600.0
"""The deadline of a run here, in seconds: many are written at once, on machines with other work."""


def candidates() -> dict[str, str]:
    """Question -> its right answer."""
    document = tomllib.loads((FOLDER / "demo_questions.toml").read_text())
    return {one["text"]: one["answer"] for one in document["question"]}


def read_record(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


async def measure(args: argparse.Namespace, questions: Mapping[str, str], done: list[dict[str, Any]]) -> None:
    known = {(one["question"], one["model"], one["samples"], one["seed"]) for one in done}
    todo = [
        (question, seed)
        for question in questions
        for seed in range(1, args.seeds + 1)
        if (question, args.model, args.samples, seed) not in known
    ]
    embedded = {"kind": "embedded", "slots": args.samples * args.parallel, "context": CONTEXT}
    with tempfile.TemporaryDirectory() as folder:
        database = {"url": f"sqlite:///{Path(folder) / 'demo.db'}"}
        run = {"deadline_s": LONG_S, "call_deadline_s": LONG_S}
        settings = open_settings({"storage": database, "providers": {"embedded": embedded}, "run": run})
        async with Runner.open(settings) as runner:
            gate = asyncio.Semaphore(args.parallel)

            async def one(question: str, seed: int) -> None:
                async with gate:
                    record = await one_run(runner, question, questions[question], args, seed)
                done.append(record)
                with args.record.open("a") as file:
                    file.write(json.dumps(record) + "\n")
                print(
                    f"{question[:40]:40} seed {seed:2}: {sum(record['right'])} of {args.samples} samples "
                    f"right, panel {record['answer']} after {record['seconds']:.0f} s",
                    flush=True,
                )

            await asyncio.gather(*(one(*item) for item in todo))


async def one_run(
    runner: Runner, question: str, answer: str, args: argparse.Namespace, seed: int
) -> dict[str, Any]:
    start = time.monotonic()
    request = run_request(question, args.model, args.samples, seed)
    result = await (await runner.start(resolve(request, runner.settings))).result()
    votes = [vote["answer"] for vote in result.detail["votes"]]

    def is_right(vote: str | None) -> bool:
        return vote is not None and same_answer(vote, answer, question)

    return {
        "question": question,
        "model": args.model,
        "samples": args.samples,
        "seed": seed,
        "votes": votes,
        "right": [is_right(vote) for vote in votes],
        "answer": result.final_answer,
        "panel_right": is_right(result.final_answer),
        "tokens": result.usage["output_tokens"],
        "seconds": round(time.monotonic() - start, 1),
    }


def report(done: Iterable[Mapping[str, Any]]) -> None:
    """Print the table: a row for each question, model and number of samples, the best gain first."""
    groups = defaultdict(list)
    for one in done:
        groups[one["question"], one["model"], one["samples"]].append(one)
    rows = []
    for (question, model, samples), runs in groups.items():
        right = sum(sum(run["right"]) for run in runs)
        panel = sum(run["panel_right"] for run in runs)
        asked = sum(len(run["votes"]) for run in runs)
        wrong = Counter(
            str(vote) for run in runs for vote, ok in zip(run["votes"], run["right"], strict=True) if not ok
        )
        common = ", ".join(f"{vote} ({n})" for vote, n in wrong.most_common(3))
        tokens = sum(run["tokens"] for run in runs) / asked
        row = (
            f"| {question} | {model} | {right} of {asked} ({right / asked:.0%}) "
            f"| {panel} of {len(runs)} with {samples} | {tokens:.0f} | {common} |"
        )
        rows.append((panel / len(runs) - right / asked, len(runs), row))
    print("| question | model | one sample is right | the panel is right | tokens a sample | wrong answers |")
    print("|---|---|---|---|---|---|")
    for *_, row in sorted(rows, reverse=True):
        print(row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "-q", "--question", action="append", default=[], help="the start of a candidate's text"
    )
    parser.add_argument("-m", "--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--samples", type=int, default=9)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--parallel", type=int, default=2, help="runs at once")
    parser.add_argument("--record", type=Path, default=RECORD)
    parser.add_argument("--report", action="store_true", help="print the table of the record; ask nothing")
    args = parser.parse_args()
    done = read_record(args.record)
    if not args.report:
        starts = tuple(args.question)
        chosen = {q: a for q, a in candidates().items() if not starts or q.startswith(starts)}
        asyncio.run(measure(args, chosen, done))
    report(done)


if __name__ == "__main__":
    main()
