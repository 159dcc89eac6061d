"""The confidence of recorded debates: support as protocols of today state it, and what live runs would show.

    .venv/bin/python -m benchmarks.recorded_debates [RECORD]

RECORD is a backup, default the record of docs/evaluation.md. Each of its runs is decided again by today's
protocol from the replies that it recorded; a run in which that protocol asks for more is left out, and
counted. The seats have no learned weights, as in an evaluation. For each protocol it prints the expected
calibration error (10 bins, in points) and the Brier score of support, and of the confidence that a live run
shows, learned from the outcomes of the other four folds. Runs of one question are in one fold. The last table
compares the curves of two ways to count votes with one curve for both.
"""

from __future__ import annotations

import argparse
import asyncio
import lzma
import random
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from pathlib import Path
from statistics import fmean

from sqlalchemy import Connection, select

from pnyx.core.decision import Decision
from pnyx.core.events import CallFinished
from pnyx.core.steps import Ask, Reply
from pnyx.errors import PnyxError
from pnyx.evaluate.datasets import load
from pnyx.evaluate.grading.grade import is_right
from pnyx.evaluate.items import Item
from pnyx.reliability.calibration import brier, ece, fit
from pnyx.run.spec import Spec
from pnyx.store import Database
from pnyx.store.copying import restore
from pnyx.store.records import entries, runs
from pnyx.store.schema import runs as table
from pnyx.testing import ProtocolDriver

RECORD = Path(__file__).with_name("evaluation.backup.xz")
QUESTIONS, SEED, FOLDS = 200, 0, 5
ARMS = ("voting", "voting, weighted", "sample", "deliberate", "consensus", "council")

Pairs = list[tuple[float, bool]]


class NotRecordedError(Exception):
    """The protocol of today asks for a reply that the run does not have."""


@dataclass(frozen=True, slots=True)
class Rated:
    """A decision with support. question: the number of its question."""

    arm: str
    question: int
    support: float
    right: bool


def decide(spec: Spec, events: Sequence[CallFinished]) -> Decision:
    """Return what the protocol of today decides from recorded replies. Raises `NotRecordedError`."""
    replies = {event.key: event for event in events}

    def say(ask: Ask) -> Reply | None:
        found = replies.get(driver.keys[-1])
        if found is None or found.seat != ask.seat.label:
            raise NotRecordedError
        if found.absent is not None:
            return None
        cut = found.finish_reason == "length"
        return Reply(ask, found.text, found.data, truncated=cut, source=found.source)

    seats = tuple(replace(seat, weight=None, judged=None) for seat in spec.seats)
    driver = ProtocolDriver(
        spec.protocol,
        say,
        seats,
        question=spec.question,
        context=spec.context,
        responses=spec.responses,
        seed=spec.seed,
        options=spec.options,
    )
    return driver.decide()


def rated(connection: Connection, items: Mapping[str, tuple[int, Item]]) -> Iterator[Rated | str]:
    """The rated runs of the record; the name of the arm for a run that cannot be decided again."""
    ids = connection.scalars(
        select(table.c.id).where(table.c.protocol != "single").order_by(table.c.id)
    ).all()
    for row in (row for id in ids for row in runs.rows(connection, [id])):
        spec = Spec.from_json(row.spec)
        if row.result is None or spec.question not in items:
            continue
        arm = "voting, weighted" if spec.options.get("aggregation") == "weighted" else spec.protocol
        events = entries.log(connection, row.id, prompts=False, only=("call_finished",))
        try:
            decision = decide(spec, [event for event in events if isinstance(event, CallFinished)])
        except (NotRecordedError, PnyxError):
            yield arm
            continue
        if decision.support is not None and decision.final_answer is not None:
            number, item = items[spec.question]
            yield Rated(arm, number, decision.support, is_right(item, decision.final_answer))


def confidence(runs: Sequence[Rated], by: Sequence[Sequence[Rated]]) -> Pairs:
    """(confidence, right) of each run, learned from the outcomes in `by` of the other folds."""
    found = []
    for fold in range(FOLDS):
        known = [(one.support, one.right) for group in by for one in group if one.question % FOLDS != fold]
        curve = fit(known)
        if curve is not None:
            found += [(curve.at(r.support)[0], r.right) for r in runs if r.question % FOLDS == fold]
    return found


def log_loss(pairs: Pairs) -> float:
    return -fmean(log(max(p if right else 1 - p, 1e-9)) for p, right in pairs)


def errors(pairs: Pairs) -> str:
    return f"{100 * ece(pairs):.1f}, {brier(pairs):.3f}"


async def read(record: Path) -> list[Rated | str]:
    drawn = load("small", seed=SEED, limit=QUESTIONS)
    # Categories come in turn: without a random order each fold would have two of the ten.
    random.Random(SEED).shuffle(drawn)
    items = {item.prompt: (n, item) for n, item in enumerate(drawn)}
    with tempfile.TemporaryDirectory() as folder:
        backup = Path(folder) / "record.backup"
        with lzma.open(record) as packed, backup.open("wb") as plain:
            shutil.copyfileobj(packed, plain)
        database = await Database.open(Path(folder) / "record.db")
        try:
            await restore(database, backup)
            return await database.read(lambda connection: list(rated(connection, items)))
        finally:
            await database.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("record", nargs="?", type=Path, default=RECORD, metavar="RECORD")
    found = asyncio.run(read(parser.parse_args().record))
    arms = defaultdict[str, list[Rated]](list)
    for one in found:
        if isinstance(one, Rated):
            arms[one.arm].append(one)
    print("| protocol | runs | left out | right, % | support: ECE, Brier | confidence: ECE, Brier |")
    print("|---|---|---|---|---|---|")
    for arm in ARMS:
        of = arms[arm]
        shown, support = confidence(of, [of]), [(one.support, one.right) for one in of]
        print(
            f"| {arm} | {len(of)} | {found.count(arm)} | {100 * fmean(one.right for one in of):.1f} "
            f"| {errors(support)} | {errors(shown)} |"
        )
    print("\n| votes counted by | right at the same support, % | log-loss: own curve | one curve for both |")
    print("|---|---|---|---|")
    both = [arms["voting"], arms["voting, weighted"]]
    for of in both:
        apart, joint = log_loss(confidence(of, [of])), log_loss(confidence(of, both))
        by = defaultdict[float, list[bool]](list)
        for one in of:
            by[round(one.support, 2)].append(one.right)
        shares = ", ".join(f"{s:.2f}: {100 * fmean(r):.0f} of {len(r)}" for s, r in sorted(by.items()))
        print(f"| {of[0].arm} | {shares} | {apart:.4f} | {joint:.4f} |")


if __name__ == "__main__":
    main()
