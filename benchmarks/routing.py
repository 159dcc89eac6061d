"""How questions are sorted for `auto`: by words, as on a panel of small models, and by models.

    .venv/bin/python -m benchmarks.routing [MODEL …] [--set development|reported] [--gsm8k FILE]
        [--mt-bench FILE] [--show]

The questions are those of `routing_questions.toml`. Words cost nothing. The named embedded models are sent
the prompt that larger models get, at temperature 0. `in error`: questions with a short answer that do not go
to a vote, which loses right answers (docs/evaluation.md). Words are also tried on questions of which all
have short answers: those of the included sets, and of `--gsm8k` (zeroeval_gsm8k_raw5.jsonl.gz);
and on the first turns of MT-Bench (`--mt-bench`, question.jsonl of lm-sys/FastChat), by its categories.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import tomllib
from collections import Counter
from pathlib import Path

from pnyx.core.models import Price, Seat
from pnyx.core.prose.requests import request_kind
from pnyx.core.steps import Ask, Decision
from pnyx.evaluate.datasets import load
from pnyx.providers.base import Call, Message
from pnyx.providers.embedded.provider import EmbeddedProvider, open_embedded
from pnyx.testing import ProtocolDriver

QUESTIONS = Path(__file__).with_name("routing_questions.toml")
CHECKABLE, VOTES = "checkable", ("deliberate", "voting")
WORDS = "words"
SETS = {"small": 400, "traps": 48, "hard": 120}
DONE = Decision(answer="?")


def seat_of(model: str) -> Seat:
    words = model == WORDS
    return Seat("Participant A", f"embedded:{model}", price=Price(0.0, 0.0), short_prompts=words)


def routed(model: str, question: str, replies: list[str]) -> tuple[Ask | None, Decision]:
    """The decision of `auto` if the model gives these replies, and what it asks once they are used up."""
    left, waiting = iter(replies), list[Ask]()

    def say(ask: Ask) -> str | None:
        reply = next(left, None)
        if reply is None:
            waiting.append(ask)
        return reply

    driver = ProtocolDriver("auto", say, (seat_of(model),), question=question, decide_run=lambda _: DONE)
    decision = driver.decide()
    return next(iter(waiting), None), decision


async def classify(provider: EmbeddedProvider, model: str, question: str) -> Decision:
    replies = list[str]()
    while True:
        ask, decision = routed(model, question, replies)
        if ask is None:
            return decision
        message = Message("user", ask.prompt.text)
        call = Call(model, (message,), ask.max_tokens or 64, temperature=0.0, seed=1, schema=ask.schema)
        replies.append((await provider.complete(call)).text)


async def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--set", default="reported", choices=("development", "reported"))
    parser.add_argument("--gsm8k", type=Path, metavar="FILE")
    parser.add_argument("--mt-bench", type=Path, metavar="FILE")
    parser.add_argument("--show", action="store_true", help="print what is misread")
    args = parser.parse_args()
    questions: dict[str, list[str]] = tomllib.loads(QUESTIONS.read_text("utf-8"))[args.set]
    total = sum(map(len, questions.values()))
    print(f"| model | right of {total} | {' | '.join(questions)} | routes | in error |")
    print("|---|" + "---|" * (len(questions) + 3), flush=True)
    provider = open_embedded()
    for model in (WORDS, *args.models):
        right, routes, error, cells = 0, Counter[str](), 0, list[str]()
        for kind, asked in questions.items():
            found = Counter[str]()
            for question in asked:
                detail = (await classify(provider, model, question)).detail
                found[detail["class"] or "unknown"] += 1
                routes[detail["route"]] += 1
                error += kind == CHECKABLE and detail["route"] not in VOTES
                if args.show and detail["class"] != kind:
                    print(f"  {kind} -> {detail['class']}: {question}", flush=True)
            right += found[kind]
            others = ", ".join(f"{n} {name}" for name, n in found.most_common() if name != kind)
            cells.append(f"{found[kind]} of {len(asked)}" + (f"; {others}" if others else ""))
        shown = ", ".join(f"{name} {n}" for name, n in routes.most_common())
        print(f"| {model} | {right} | {' | '.join(cells)} | {shown} | {error} |", flush=True)
    await provider.close()
    print("\n| questions with short answers | number | in error |\n|---|---|---|")
    short = {name: [item.question for item in load(name, limit=n)] for name, n in SETS.items()}
    if args.gsm8k:
        with gzip.open(args.gsm8k, "rt") as lines:
            short["GSM8K"] = [json.loads(line)["question"] for line in lines]
    for name, asked in short.items():
        wrong = [question for question in asked if request_kind(question) not in (None, CHECKABLE)]
        print(f"| {name} | {len(asked)} | {len(wrong)} |")
    if args.mt_bench:
        found: dict[str, Counter[str]] = {}
        for line in args.mt_bench.read_text("utf-8").splitlines():
            turn = json.loads(line)
            found.setdefault(turn["category"], Counter())[request_kind(turn["turns"][0]) or "unknown"] += 1
        print("\n| MT-Bench | words say |\n|---|---|")
        for name, kinds in found.items():
            print(f"| {name} | {', '.join(f'{n} {kind}' for kind, n in kinds.most_common())} |")


if __name__ == "__main__":
    asyncio.run(main())
