"""What a database grows by: bytes of a run, of a long debate, and of a large question, on SQLite.

    .venv/bin/python -m benchmarks.growth [--runs 40] [--seats 50] [--rounds 10]

Replies: "engine" has those of `benchmarks.engine`; "recorded" those that local models gave in the recorded
evaluation, joined to 1,100 characters on average; "random" words of our documentation in a random order,
which compress worse than any prose. Texts: the question and the replies. Bytes: all that the file grows by.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import lzma
import random
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path

from benchmarks.engine import reply_text
from benchmarks.scripted import settings
from pnyx.core.models import Usage
from pnyx.providers.base import Call, Completion
from pnyx.providers.fake import FakeProvider
from pnyx.providers.registry import Providers
from pnyx.run.options.request import RunRequest
from pnyx.run.options.resolve import resolve
from pnyx.run.runner import Runner

CHARS = 1100
"""Characters of a reply, on average."""
SIZES = """
    SELECT schema.tbl_name, sum(pages.pgsize) FROM dbstat AS pages
    JOIN sqlite_master AS schema ON schema.name = pages.name GROUP BY 1
"""
Draw = Callable[[random.Random, int], str]


@cache
def words() -> list[str]:
    return Path("docs/answers.md").read_text().split()


@cache
def recorded() -> list[str]:
    """Replies of the recorded evaluation."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "a.db"
        file.write_bytes(lzma.decompress(Path("benchmarks/evaluation.backup.xz").read_bytes()))
        with closing(sqlite3.connect(file)) as connection:
            query = "SELECT body FROM events WHERE type = 'call_finished' LIMIT 6000"
            texts = [json.loads(body)["text"] for (body,) in connection.execute(query)]
    return [text for text in texts if len(text) > 150]


def random_words(draw: random.Random, chars: int) -> str:
    return " ".join(draw.choices(words(), k=chars // 4))[:chars].strip()


def recorded_replies(draw: random.Random, chars: int) -> str:
    return "\n\n".join(draw.choices(recorded(), k=chars // 150 + 1))[:chars].strip()


def tables(file: Path) -> dict[str, int]:
    """Bytes of each table with its indexes, and of the file."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return {**dict(connection.execute(SIZES)), "": file.stat().st_size}


async def measure(request: RunRequest, question: int, write: Draw | None, runs: int) -> str:
    """What a run grows the database by. question: its characters. write: None has the engine's replies."""
    draw, texts = random.Random(3), 0

    def reply(call: Call) -> Completion:
        nonlocal texts
        text = reply_text(call) if write is None else write(draw, draw.randrange(CHARS // 2, CHARS * 3 // 2))
        texts += len(text)
        return Completion(text, Usage(3000, 0, len(text) // 4, 0))

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "a.db"
        chosen = settings("http://127.0.0.1:9/v1", str(file))
        async with Runner.open(chosen, Providers(chosen, extra={"lab": FakeProvider(reply)})) as runner:
            empty = tables(file)
            for _ in range(runs):
                text = (write or random_words)(draw, question)
                texts += len(text)
                asked = replace(request, question=text)
                await (await runner.start(resolve(asked, runner.settings))).result()
        grown = {name: (size - empty.get(name, 0)) / runs for name, size in tables(file).items()}
    whole = grown.pop("")
    largest = sorted(grown.items(), key=lambda item: -item[1])[:5]
    parts = ", ".join(f"{table} {size / 1e3:,.1f}" for table, size in largest)
    return f"{whole / 1e3:,.1f} kB a run, {whole / texts * runs:.2f} times its texts ({parts})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--seats", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()
    short = RunRequest(question="?", rounds=3)
    seats = tuple(f"lab:{('alpha', 'beta', 'gamma')[n % 3]}" for n in range(args.seats))
    challengers = {"challengers": min(args.seats - 1, 26)}
    long = RunRequest(question="?", models=seats, rounds=args.rounds, options=challengers)
    kinds: tuple[tuple[str, Draw | None], ...] = (
        ("engine", None),
        ("recorded", recorded_replies),
        ("random", random_words),
    )
    for name, write in kinds:
        found = asyncio.run(measure(short, 150, write, args.runs))
        print(f"three rounds, 12 calls, {name}: {found}", flush=True)
    for name, write in kinds[1:]:
        found = asyncio.run(measure(long, 150, write, 1))
        print(f"{args.rounds} rounds of {args.seats} seats, {name}: {found}", flush=True)
        found = asyncio.run(measure(short, 800_000, write, 1))
        print(f"three rounds, question of 200,000 tokens, {name}: {found}", flush=True)


if __name__ == "__main__":
    main()
