"""How well the cost that pnyx says before a run is met: `python -m benchmarks.estimates FILE`.

FILE is recorded answers, a JSON line each: {"question": …, "raw": {MODEL: TEXT}}, such as those of ZeroEval.
Fifty runs, ten of each of five protocols, in an empty database: nothing is known before the first run, and
each later one is also estimated from those before it. The scripted models answer with the recorded texts, and
report the tokens of the texts that they get and write, at 4 bytes a token. So answers are as long as those of
real models; reviews and judgements are as long as an answer of another model, ballots as a short line.

Then two evaluations with other questions, in an empty database: the second is also estimated from the first.
Last, the same protocols on three panels in one database: models that answer as recorded, models that think
before it, and terse ones. Counted are the first runs of each protocol on each panel, in all orders of these.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from pathlib import Path
from typing import Any

import pnyx
from pnyx.config.schema import ModelSettings, Settings, StorageSettings
from pnyx.core.models import Usage
from pnyx.evaluate.analysis.log import Arm
from pnyx.evaluate.execution.arm_names import SELF_CONSISTENCY, parse_arms, single_arm
from pnyx.evaluate.execution.bench import ArmAnswer, Bench
from pnyx.evaluate.execution.run import evaluate
from pnyx.evaluate.items import Item
from pnyx.interfaces.cli.actions.eval_dry_run import Evaluation
from pnyx.interfaces.service.run_service import RunService
from pnyx.interfaces.views.plan import plan
from pnyx.providers.base import Call, Completion
from pnyx.run.options.request import RunRequest
from pnyx.run.options.resolve import resolve

PROTOCOLS = ("voting", "consensus", "moa", "aggregate", "council")
QUESTIONS = 10
SEATS = 3
PRICES = ((1.0, 4.0), (2.0, 10.0), (0.5, 1.5))
"""USD per million tokens of input and output, of each seat's model."""
SHORT = "FINALIZE: Participant A\nAPPROVE\nBEST: Participant A"
LIMIT_OF_BALLOTS = 1024
"""Tokens; see `core.context.reply_sizes`."""
BYTES = 4
MODELS = tuple(f"rec:{n}" for n in range(len(PRICES)))
EACH = 2
"""Questions that each panel gets by each protocol."""
PANELS = {"usual": (1.0, 0.0), "thinks": (1.0, 8.0), "terse": (0.2, 0.0)}
"""Share of a recorded text that the models of a panel write, and tokens of thinking for one of the text."""
EVALUATED = 20
"""Questions of an evaluation."""


@dataclass
class Recorded:
    """A provider that answers with the recorded texts of the question. answers: question -> model -> text."""

    answers: Mapping[str, Mapping[str, str]]

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
        texts = next([*texts.values()] for one, texts in self.answers.items() if one in call.prompt)
        short = call.schema is not None or call.max_tokens <= LIMIT_OF_BALLOTS
        panel, _, number = call.model.rpartition("-")
        share, thinks = PANELS[panel or "usual"]
        text = texts[int(number) % len(texts)]
        text = SHORT if short else text[round(len(text) * (1 - share)) :]  # the answer is at the end
        read, written = (len(part.encode()) // BYTES + 1 for part in (call.prompt, text))
        thoughts = 0 if call.effort == "none" else round(thinks * written)
        return Completion(text, Usage(read, 0, written + thoughts, thoughts))

    async def close(self) -> None:
        pass


def models_of(panel: str) -> tuple[str, ...]:
    return MODELS if panel == "usual" else tuple(model.replace(":", f":{panel}-") for model in MODELS)


def settings_in(folder: str) -> Settings:
    models = {
        model: ModelSettings(input_price=price[0], output_price=price[1], context=128_000)
        for panel in PANELS
        for model, price in zip(models_of(panel), PRICES, strict=True)
    }
    return Settings(models=models, storage=StorageSettings(url=f"{folder}/runs.db"))


def read(path: Path, count: int) -> list[tuple[str, dict[str, str]]]:
    """The first questions with their texts by model."""
    data = path.read_bytes()
    lines = (gzip.decompress(data) if path.suffix == ".gz" else data).splitlines()
    rows = [json.loads(line) for line in lines[:count]]
    return [(row["question"], row["raw"]) for row in rows]


async def measure(questions: Sequence[tuple[str, dict[str, str]]]) -> list[dict[str, Any]]:
    rows = list[dict[str, Any]]()
    with tempfile.TemporaryDirectory() as folder:
        providers = {"rec": Recorded(dict(questions))}
        async with pnyx.open_runner(settings_in(folder), providers=providers) as runner:
            service = RunService(runner)
            for question, _ in questions:
                for protocol in PROTOCOLS:
                    request = RunRequest(question=question, protocol=protocol, models=MODELS)
                    spec = resolve(request, runner.settings)
                    known = protocol in {row["protocol"] for row in rows}
                    said = plan(spec, await service.cost_factor(spec))
                    result = await (await service.start(spec)).result()
                    rows.append(
                        {
                            "protocol": protocol,
                            "known": known,
                            "expected": said.expected_usd,
                            "most": said.cost_usd,
                            "cost": result.usage["cost_usd"],
                            "status": result.status,
                        }
                    )
    return rows


async def measure_panels(questions: Sequence[tuple[str, dict[str, str]]]) -> None:
    """Print how well the first runs of each protocol on each panel are estimated, after the first of all."""
    ratios = list[float]()
    for order in permutations(PANELS):
        with tempfile.TemporaryDirectory() as folder:
            providers, first = {"rec": Recorded(dict(questions))}, True
            async with pnyx.open_runner(settings_in(folder), providers=providers) as runner:
                service = RunService(runner)
                for protocol, panel, number in product(PROTOCOLS, order, range(EACH)):
                    request = RunRequest(
                        question=questions[number][0], protocol=protocol, models=models_of(panel)
                    )
                    spec = resolve(request, runner.settings)
                    said = plan(spec, await service.cost_factor(spec)).expected_usd
                    result = await (await service.start(spec)).result()
                    if number == 0 and said and not first:
                        ratios.append(result.usage["cost_usd"] / said)
                    first = False
    ratios.sort()
    print(
        f"{len(ratios)} first runs of a protocol on one of {len(PANELS)} panels  "
        f"within 2x: {sum(0.5 <= ratio <= 2 for ratio in ratios)}  "
        f"cost / expected: {ratios[0]:.2f} … {ratios[len(ratios) // 2]:.2f} … {ratios[-1]:.2f}"
    )


async def evaluate_twice(questions: Sequence[tuple[str, dict[str, str]]]) -> None:
    """Print, by arm, what each evaluation costs as a share of what it is expected to."""
    with tempfile.TemporaryDirectory() as folder:
        arms = [SELF_CONSISTENCY, *parse_arms(("voting", "consensus"))]
        everyone, providers = [*map(single_arm, MODELS), *arms], {"rec": Recorded(dict(questions))}
        async with pnyx.open_runner(settings_in(folder), providers=providers) as runner:
            service = RunService(runner)
            estimate = Evaluation(runner.settings, MODELS, everyone, single_arm(MODELS[0]))
            for number, name in enumerate(("first", "second")):
                of = questions[number * EVALUATED :][:EVALUATED]
                said = await estimate.rows(service, [text for text, _ in of], 0)
                costs = dict.fromkeys(said, 0.0)

                def observe(arm: Arm, answer: ArmAnswer, costs: dict[str, float] = costs) -> None:
                    costs[arm.name] += answer.result.usage["cost_usd"]

                bench = Bench(service.batch(name), MODELS, 1, observe=observe)
                items = [Item(id=str(n), question=text, target="1") for n, (text, _) in enumerate(of)]
                await evaluate(bench, name, items, arms, folder=Path(folder) / name)
                for arm, cost in (*costs.items(), ("all", sum(costs.values()))):
                    expected = sum(row["expected_usd"] for key, row in said.items() if arm in (key, "all"))
                    print(f"{name:6} evaluation, {arm:17} cost / expected: {cost / expected:.2f}")


def report(rows: Sequence[Mapping[str, Any]]) -> None:
    for name in (*PROTOCOLS, "first runs", "all"):
        of = [
            row
            for row in rows
            if name in ("all", row["protocol"]) or (name == "first runs" and not row["known"])
        ]
        ratios = sorted(row["cost"] / row["expected"] for row in of)
        within = sum(0.5 <= ratio <= 2 for ratio in ratios)
        below = sum(row["cost"] <= row["most"] for row in of)
        middle = ratios[len(ratios) // 2]
        print(
            f"{name:11} {len(of):3} runs  within 2x: {within:3}  below the most: {below:3}  "
            f"cost / expected: {ratios[0]:.2f} … {middle:.2f} … {ratios[-1]:.2f}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    recorded = read(parser.parse_args().file, QUESTIONS + 2 * EVALUATED)
    report(asyncio.run(measure(recorded[:QUESTIONS])))
    asyncio.run(evaluate_twice(recorded[QUESTIONS:]))
    asyncio.run(measure_panels(recorded))
