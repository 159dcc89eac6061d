"""How small a budget does: the least cap under which a run finishes, and runs at once under one cap.

    .venv/bin/python -m benchmarks.budgets [--runs 24]

The replies of the host of `tests.support.sized` are as long as those of models, at common prices: 3, 2 and
0.25 USD per million tokens of input, 15, 10 and 2 of output. All amounts are in USD.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from itertools import count
from pathlib import Path
from typing import Any

from pnyx.config.schema import Settings
from pnyx.protocols import get
from pnyx.providers.registry import Providers
from pnyx.run.calls.limits import Limits
from pnyx.run.result import Result
from pnyx.run.runner import Runner
from pnyx.run.spec import Spec
from tests.support.sized import SEATS, SizedHost

NUMBERS = count()
QUESTION = "Our team of six keeps four services in one repository. Should we split them into several?"
QUICK = ("consensus", "council")
AFFORDABLE = {"consensus": (2.4, 12.4), "council": (2.4, 6.4)}
"""Caps of a day for runs at once, as multiples of what one run costs."""


def spec(protocol: str, number: int = 0, **caps: Any) -> Spec:
    options = get(protocol).resolve_options(get(protocol).presets["quick"])
    limits = Limits(60.0, 4096, 0)
    fields: dict[str, Any] = {"seed": number, "salt": str(number), **caps}
    question = f"{QUESTION} ({number})"
    return Spec(question=question, protocol=protocol, seats=SEATS, limits=limits, options=options, **fields)


async def results(folder: Path, specs: list[Spec], at_once: bool) -> list[Result]:
    """The results of runs in a new database."""
    lab = {"kind": "openai", "base_url": "http://127.0.0.1:9/v1", "concurrency": 512}
    database = str(folder / f"{next(NUMBERS)}.db")
    chosen = Settings.model_validate({"providers": {"h": lab}, "storage": {"url": database}})
    async with Runner.open(chosen, Providers(chosen, extra={"h": SizedHost(pause=0.01)})) as runner:
        if at_once:
            handles = [await runner.start(one) for one in specs]
            return [await handle.result() for handle in handles]
        return [await (await runner.start(one)).result() for one in specs]


async def cost(folder: Path, protocol: str) -> float:
    (result,) = await results(folder, [spec(protocol)], False)
    return float(result.usage["cost_usd"])


async def least_cap(folder: Path, protocol: str) -> float:
    """The least cap under which a run finishes, within 2 %."""
    low, high = 0.0, 2.0
    while high > 1.02 * low:
        cap = (low + high) / 2 if low else high / 2
        (result,) = await results(folder, [spec(protocol, budget_usd=cap)], False)
        low, high = (cap, high) if result.status == "paused" else (low, cap)
    return high


def summary(found: list[Result]) -> str:
    finished = sum(result.status != "paused" for result in found)
    begun = sum(result.usage["calls"] > 0 for result in found)
    spent = sum(result.usage["cost_usd"] for result in found)
    return f"{finished} finished, {begun} begun, spent {spent:.3f}"


async def measure(folder: Path, runs: int) -> None:
    for protocol in QUICK:
        usual, cap = await cost(folder, protocol), await least_cap(folder, protocol)
        print(f"quick {protocol:10} costs {usual:.4f}   needs a cap of {cap:.4f} ({cap / usual:.2f} times)")
    for protocol, multiples in AFFORDABLE.items():
        usual = await cost(folder, protocol)
        for multiple in multiples:
            day = multiple * usual
            specs = [spec(protocol, n, day_usd=day) for n in range(runs)]
            print(f"{runs} of quick {protocol}, cap of the day {day:.3f} ({multiple} times one)")
            for name, at_once in (("one after another", False), ("at once", True)):
                print(f"    {name:18} {summary(await results(folder, specs, at_once))}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=24)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder), runs))


if __name__ == "__main__":
    main()
