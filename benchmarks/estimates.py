"""How well the cost that pnyx says before a run is met: `python -m benchmarks.estimates FILE`.

FILE is recorded answers, a JSON line each: {"question": …, "raw": {MODEL: TEXT}}, such as those of ZeroEval.
Fifty runs, ten of each of five protocols, in an empty database: nothing is known before the first run, and
each later one is also estimated from those before it. The scripted models answer with the recorded texts, and
report the tokens of the texts that they get and write, at 4 bytes a token. So answers are as long as those of
real models; reviews and judgements are as long as an answer of another model, ballots as a short line.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pnyx
from pnyx.config.schema import ModelSettings, Settings, StorageSettings
from pnyx.core.models import Usage
from pnyx.interfaces.service import RunService
from pnyx.interfaces.views.plan import plan
from pnyx.providers.base import Call, Completion
from pnyx.run.request import RunRequest
from pnyx.run.resolve import resolve

PROTOCOLS = ("voting", "consensus", "moa", "aggregate", "council")
QUESTIONS = 10
SEATS = 3
PRICES = ((1.0, 4.0), (2.0, 10.0), (0.5, 1.5))
"""USD per million tokens of input and output, of each seat's model."""
SHORT = "FINALIZE: Participant A\nAPPROVE\nBEST: Participant A"
LIMIT_OF_BALLOTS = 1024
"""Tokens; see `core.context.reply_sizes`."""
BYTES = 4


@dataclass
class Recorded:
    """A provider that answers with the recorded texts of the current question."""

    texts: Mapping[str, str] = field(default_factory=dict)

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
        texts = list(self.texts.values())
        short = call.schema is not None or call.max_tokens <= LIMIT_OF_BALLOTS
        text = SHORT if short else texts[int(call.model) % len(texts)]
        tokens = (len(part.encode()) // BYTES + 1 for part in (call.prompt, text))
        return Completion(text, Usage(next(tokens), 0, next(tokens)))

    async def close(self) -> None:
        pass


def read(path: Path, count: int) -> list[tuple[str, dict[str, str]]]:
    """The first questions with their texts by model."""
    data = path.read_bytes()
    lines = (gzip.decompress(data) if path.suffix == ".gz" else data).splitlines()
    rows = [json.loads(line) for line in lines[:count]]
    return [(row["question"], row["raw"]) for row in rows]


async def measure(questions: Sequence[tuple[str, dict[str, str]]]) -> list[dict[str, Any]]:
    host, rows = Recorded(), []
    models = {
        f"rec:{n}": ModelSettings(input_price=price[0], output_price=price[1], context=128_000)
        for n, price in enumerate(PRICES)
    }
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(models=models, storage=StorageSettings(url=f"{folder}/runs.db"))
        async with pnyx.open_runner(settings, providers={"rec": host}) as runner:
            service = RunService(runner)
            for question, texts in questions:
                for protocol in PROTOCOLS:
                    host.texts = texts
                    request = RunRequest(question=question, protocol=protocol, models=tuple(models))
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
    report(asyncio.run(measure(read(parser.parse_args().file, QUESTIONS))))
