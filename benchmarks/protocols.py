"""Run every protocol on three questions with the embedded models: does each finish, and in what time?

    make demo-protocols            # or: .venv/bin/python -m benchmarks.protocols [-p NAME] [-m REF[*N]]

The models are tiny: this only checks that each run ends with a status of its protocol, and prints its calls
next to the bounds of `pnyx ask --dry-run`. Exits 1 if a run does not end so.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from pnyx import protocols
from pnyx.errors import PnyxError
from pnyx.interfaces.process.open_settings import open_settings
from pnyx.protocols.call_bounds import call_bounds
from pnyx.run.options.request import RunRequest
from pnyx.run.options.resolve import resolve
from pnyx.run.result import Result
from pnyx.run.runner import Runner

QUESTIONS = (
    "What is 17 * 24? End with: Final answer: <number>",
    "Which is heavier, a kilogram of iron or a kilogram of feathers? End with: Final answer: <answer>",
    "Name one advantage and one drawback of SQLite for a small web shop, and say whether you would use it.",
)
SMALL = {"consensus": {"rounds": 1}, "decompose": {"max_subtasks": 3}}
"""Options of nested protocols, which no preset sets. They keep runs short: a reply takes seconds here."""
ENDS = ("consensus", "majority", "plurality", "decided", "deadlock", "single")


async def run(names: tuple[str, ...], panel: tuple[str, ...]) -> bool:
    all_ended = True
    with tempfile.TemporaryDirectory() as folder:
        database = {"url": f"sqlite:///{Path(folder) / 'demo.db'}"}
        settings = open_settings({"storage": database, **SMALL})
        async with Runner.open(settings) as runner:
            for name in names:
                for question in QUESTIONS:
                    all_ended = await one(runner, name, question, panel) and all_ended
    return all_ended


async def one(runner: Runner, name: str, question: str, panel: tuple[str, ...]) -> bool:
    preset = "quick" if "quick" in protocols.get(name).presets else None
    spec = resolve(
        RunRequest(question=question, protocol=name, models=panel, preset=preset, deadline_s=900),
        runner.settings,
    )
    least, most = call_bounds(spec.protocol_def, spec.seats, spec.options, spec.tables)
    start = time.monotonic()
    result = await (await runner.start(spec)).result()
    took = time.monotonic() - start
    # An unreadable verdict is asked for again, which the bounds do not include.
    calls = result.usage["calls"]
    ended = result.status in ENDS and bool(result.answer.strip())
    print(
        f"{name:11} {result.status:10} {calls:3} calls ({least} to {most}) {took:6.1f} s  "
        f"{_short(result)}  · {question[:40]}",
        flush=True,
    )
    return ended


def _short(result: Result) -> str:
    text = result.final_answer or result.answer or str(result.detail.get("message", ""))
    return " ".join(text.split())[:60]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("-p", "--protocol", action="append", default=[], choices=protocols.names())
    parser.add_argument("-m", "--model", action="append", default=[], help="as for `pnyx ask`")
    args = parser.parse_args()
    try:
        all_ended = asyncio.run(run(tuple(args.protocol) or protocols.names(), tuple(args.model)))
    except PnyxError as exc:
        sys.exit(str(exc))
    sys.exit(0 if all_ended else 1)


if __name__ == "__main__":
    main()
