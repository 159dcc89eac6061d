"""How small a budget does: the least cap under which a run finishes, and runs at once under one cap.

    .venv/bin/python -m benchmarks.budgets [--runs 24]

The replies of the host of `tests.support.sized` are as long as those of models, at common prices: 3, 2 and
0.25 USD per million tokens of input, 15, 10 and 2 of output. All amounts are in USD. Last, runs of `auto`
with questions of all its classes, several times: how many finish, and how many begin in vain.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from itertools import count, product
from pathlib import Path
from typing import Any

from pnyx.config.schema import Settings
from pnyx.protocols import get
from pnyx.protocols.auto import ROUTINGS
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
CLASSES = tuple(ROUTINGS["vote-first"].routes)
ROUTED = ((6, 2.4), (12, 2.4), (12, 4.4), (12, 8.4), (24, 4.4), (24, 8.4))
"""Numbers of runs of `auto` at once, and caps as multiples of what one costs on average."""
LENGTHS = ({}, {"factor": 4.0}, {"thoughts": 1500})
TRIES = 4


def spec(protocol: str, number: int = 0, **caps: Any) -> Spec:
    options = get(protocol).resolve_options(get(protocol).presets["quick"] if protocol in QUICK else {})
    limits = Limits(60.0, 4096, 0)
    fields: dict[str, Any] = {"seed": number, "salt": str(number), **caps}
    question = f"{QUESTION} ({number})"
    return Spec(question=question, protocol=protocol, seats=SEATS, limits=limits, options=options, **fields)


async def results(folder: Path, specs: list[Spec], at_once: bool, **host: Any) -> list[Result]:
    """The results of runs in a new database. host: as in `SizedHost`."""
    lab = {"kind": "openai", "base_url": "http://127.0.0.1:9/v1", "concurrency": 512}
    database = str(folder / f"{next(NUMBERS)}.db")
    chosen = Settings.model_validate({"providers": {"h": lab}, "storage": {"url": database}})
    async with Runner.open(chosen, Providers(chosen, extra={"h": SizedHost(pause=0.01, **host)})) as runner:
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


def finished(found: list[Result]) -> int:
    return sum(result.status not in ("paused", "failed") for result in found)


def begun(found: list[Result]) -> int:
    return sum(result.usage["calls"] > 0 for result in found)


def summary(found: list[Result]) -> str:
    spent = sum(result.usage["cost_usd"] for result in found)
    return f"{finished(found)} finished, {begun(found)} begun, spent {spent:.3f}"


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


async def measure_routed(folder: Path) -> None:
    for host in LENGTHS:
        kept, counts = 0, {True: [0, 0], False: [0, 0]}
        for number, (runs, multiple) in product(range(TRIES), ROUTED):
            numbers = range(100 * number, 100 * number + runs)
            routed = {"classes": CLASSES, **host}
            free = await results(folder, [spec("auto", n) for n in numbers], True, **routed)
            cap = multiple * sum(result.usage["cost_usd"] for result in free) / runs
            capped = [spec("auto", n, day_usd=cap) for n in numbers]
            found = {at_once: await results(folder, capped, at_once, **routed) for at_once in counts}
            for at_once, one in found.items():
                counts[at_once][0] += finished(one)
                counts[at_once][1] += begun(one) - finished(one)
            kept += finished(found[True]) >= 0.8 * finished(found[False])
        shown = [f"{done} finished and {vain} begun in vain" for done, vain in counts.values()]
        print(
            f"auto, {host or 'usual replies'}: {kept} of {TRIES * len(ROUTED)} with 80 %; "
            f"at once {shown[0]}, one after another {shown[1]}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=24)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder), runs))
        asyncio.run(measure_routed(Path(folder)))


if __name__ == "__main__":
    main()
