"""The time of a recall among many runs, and the cost of indexing runs.

    .venv/bin/python -m benchmarks.recall [--runs 10000] [--database URL]

Questions of 20 words, answers of 350 and dissents of 80, drawn by Zipf's law from 20,000 words: the first
ones are in nearly every run, the last ones in a few. Without a URL the database is a new SQLite file.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from itertools import accumulate
from pathlib import Path

from sqlalchemy import Connection

from pnyx.run.runner import new_id
from pnyx.store import Database
from pnyx.store.records import runs as store
from pnyx.store.records.search import search

WORDS = [f"w{n}x" for n in range(20_000)]
WEIGHTS = list(accumulate(1 / (n + 10) for n in range(len(WORDS))))
RNG = random.Random(7)
QUERIES = {
    "a word of nearly every run": "w5x",
    "two words, both frequent": "w5x w100x",
    "three words, one rare": "w100x w700x w3000x",
    "a rare word": "w15000x",
    "a phrase of frequent words": '"w0x w1x"',
    "a frequent word and one of no run": "w5x nowhere",
}


def text(words: int) -> str:
    return " ".join(RNG.choices(WORDS, cum_weights=WEIGHTS, k=words))


def run(connection: Connection) -> None:
    row = store.RunRow.new(new_id(), "local", "2026-01-01T00:00:00.000Z", "consensus", text(20), {})
    store.create(connection, row)
    dissent = [{"seat": "Participant A", "model": "lab:alpha", "text": text(80)}]
    result = {"answer": text(350), "final_answer": None, "dissent": dissent}
    store.patch(connection, row.id, {"result": result})


async def measure(database: Database, count: int) -> None:
    def fill(connection: Connection) -> None:
        for _ in range(count):
            run(connection)

    start = time.perf_counter()
    await database.write(fill)
    print(
        f"| {count:,} runs created and indexed, ms each | {(time.perf_counter() - start) / count * 1e3:.1f} |"
    )
    for name, query in QUERIES.items():
        times = []
        for _ in range(5):
            start = time.perf_counter()
            await database.read(lambda connection, query=query: search(connection, query, 10))  # type: ignore[misc]
            times.append(time.perf_counter() - start)
        print(f"| {name}, ms | {min(times) * 1e3:.0f} to {max(times) * 1e3:.0f} |")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--database")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        database = await Database.open(args.database or Path(folder) / "pnyx.db")
        try:
            await measure(database, args.runs)
        finally:
            await database.close()


if __name__ == "__main__":
    asyncio.run(main())
