"""`python -m tests.answers.report`: pnyx, math-verify and inspect on the pairs and replies of this folder.

-v lists every pair and every reply that pnyx gets wrong; --only pnyx leaves the others out.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator

import pnyx
from tests.answers.judges import JUDGES, Judge, MissingToolError, pnyx_judge
from tests.answers.material import pairs, replies
from tests.answers.measures import Count, Reading, count, read_all, total

KIND = 36  # width of the column of kinds


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.answers.report", description=__doc__)
    options.add_argument("-v", "--verbose", action="store_true", help="List what pnyx gets wrong.")
    options.add_argument("--only", metavar="NAME", help="One judge alone, for example pnyx.")
    options.add_argument("--kind", help="The pairs of one kind alone.")
    chosen = options.parse_args()
    if chosen.only not in (None, *JUDGES):
        options.error(f"there is no judge {chosen.only!r}; there are {', '.join(JUDGES)}")
    try:
        known = {name: get() for name, get in JUDGES.items() if chosen.only in (None, name)}
    except MissingToolError as error:
        print(error, file=sys.stderr)
        return 1
    counts = report_pairs(known, chosen.kind)
    readings = (
        [] if chosen.kind or "pnyx" not in known else read_all(pnyx.final_answer, pnyx_judge, replies())
    )
    if readings:
        report_replies(readings)
    if chosen.verbose:
        for line in (*wrong_pairs(counts.get("pnyx", {})), *wrong_replies(readings)):
            print(line)
    return 0


def report_pairs(known: dict[str, Judge], kind: str | None) -> dict[str, dict[str, Count]]:
    """Print precision, recall and the share of false equals, by kind and judge; return the counts."""
    chosen = [pair for pair in pairs() if kind in (None, pair.kind)]
    counts = {name: count(judge, chosen, forgive=name != "pnyx") for name, judge in known.items()}
    print("Same answer or not. P: precision, R: recall, F: near-misses called the same, all in percent.\n")
    print(f"{'':{KIND}}{'':>6}" + "".join(f"{name:>23}" for name in counts))
    print(f"{'kind':{KIND}}{'pairs':>6}" + f"{'P':>9}{'R':>7}{'F':>7}" * len(counts))
    kinds = list(next(iter(counts.values())))
    for name in kinds:
        print(_row(name, [by_kind[name] for by_kind in counts.values()]))
    totals = [total(by_kind.values()) for by_kind in counts.values()]
    print(_row("all", totals))
    milliseconds = (1000 * whole.seconds / max(whole.n, 1) for whole in totals)
    print(f"{'milliseconds a pair':{KIND + 6}}" + "".join(f"{each:>23.2f}" for each in milliseconds))
    faults = "".join(f"{whole.faults:>23}" for whole in totals)
    print(f"{'raised, or took too long':{KIND + 6}}{faults}")
    return counts


def _row(name: str, cells: list[Count]) -> str:
    shares = (f"{cell.precision:>9.1%}{cell.recall:>7.1%}{cell.false_equal_share:>7.1%}" for cell in cells)
    return f"{name:{KIND}}{cells[0].n:>6}" + "".join(shares).replace("%", " ")


def report_replies(readings: list[Reading]) -> None:
    """Print the share of replies that pnyx reads as a careful reader does, by form and by language."""
    keys: dict[str, Callable[[Reading], str]] = {
        "form": lambda reading: reading.reply.form,
        "language": lambda reading: reading.reply.language,
    }
    for title, key in keys.items():
        groups: dict[str, list[Reading]] = defaultdict(list)
        for reading in readings:
            groups[key(reading)].append(reading)
        print(f"\nAnswers of whole replies, by {title}\n\n{title:{KIND}}{'replies':>8}{'read right':>12}")
        for name, group in groups.items():
            print(f"{name:{KIND}}{len(group):>8}{_right(group):>12.1%}")
    print(f"{'all':{KIND}}{len(readings):>8}{_right(readings):>12.1%}")


def _right(readings: list[Reading]) -> float:
    return sum(reading.right for reading in readings) / len(readings)


def wrong_pairs(kinds: dict[str, Count]) -> Iterator[str]:
    """A line for every pair that was decided wrongly."""
    yield "\nPairs decided wrongly"
    for kind, cell in kinds.items():
        for pair in cell.wrong:
            sign = "are the same" if pair.same else "differ"
            question = f"  ({pair.question})" if pair.question else ""
            yield f"{kind}: {pair.a!r} and {pair.b!r} {sign}{question}"


def wrong_replies(readings: list[Reading]) -> Iterator[str]:
    """A line for every reply that was read wrongly."""
    yield "\nReplies read wrongly"
    for reading in readings:
        if not reading.right:
            reply = reading.reply
            where = f"{reply.language}, {reply.form}"
            yield f"{where}: {reply.text!r} says {reply.answer!r}, read as {reading.answer!r}"


if __name__ == "__main__":
    raise SystemExit(main())
