"""The confidence of live votes on recorded answers: what is shown after some judged runs, and how true it is.

    .venv/bin/python -m benchmarks.confidence FOLDER [--splits N] [--outcomes N …]

FOLDER has the recordings that `benchmarks.recorded_panels` reads. In each split, questions are voted on and
judged one after another: weights are learned from the judged ones, and the confidence from the outcomes so
far, by the code of live runs. It is then rated on questions that nobody has judged: the expected
calibration error (10 bins, in points) and the Brier score of the vote share, which earlier versions called
confidence, of support, and of the confidence; and for how many of the answers the share right of their
support, over at least 200 of them, lies in the interval.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import mean

from benchmarks.recorded_panels import PANELS, WHERE
from pnyx.core.decision import Decision
from pnyx.core.models import Seat
from pnyx.evaluate.replay.recorded import read_recorded
from pnyx.protocols.shared.evidence import VOTES, Statement, support
from pnyx.reliability.accuracy import AnsweredQuestion
from pnyx.reliability.calibration import Outcome, brier, calibrate, ece
from pnyx.reliability.weights import Weights, choose, equal, learn
from pnyx.run.calls.limits import Limits
from pnyx.run.learned import calibrate_decision
from pnyx.run.spec import Spec

TESTED = 3000
EVERY = 10
"""Questions between two updates of the weights."""
GROUP = 200

Pairs = list[tuple[float, bool]]


def seats_of(weights: Weights) -> tuple[Seat, ...]:
    learned = weights.rule != "equal"
    votes = weights.of()
    return tuple(
        Seat(f"Participant {n}", model, weight=votes[model] if learned else None)
        for n, model in enumerate(votes)
    )


def decide(weights: Weights, question: AnsweredQuestion) -> tuple[Decision, float]:
    """The decision of a vote, and the share of votes for its answer."""
    answer = choose(weights, question)
    votes = [Statement(seat, question.answers[seat.model]) for seat in seats_of(weights)]
    share = sum(vote.group == answer for vote in votes) / len(votes)
    found = support(votes, answer)
    return Decision(answer=answer or "?", final_answer=answer, support=found, support_rule=VOTES), share


def confidence(spec: Spec, decision: Decision) -> tuple[float, float, float] | None:
    fields = calibrate_decision(spec, decision)
    if fields["confidence"] is None:
        return None
    learned = fields["detail"]["calibration"]
    return fields["confidence"], learned["low"], learned["high"]


def live(
    questions: Sequence[AnsweredQuestion], models: Sequence[str], counts: Sequence[int]
) -> Iterator[tuple[int, Weights, Spec]]:
    """The weights and the settings of a run after each of `counts` judged votes."""
    weights, judged, outcomes = equal(models), list[AnsweredQuestion](), list[Outcome]()
    panel = tuple(sorted(models))
    for n, question in enumerate(questions[: max(counts)], 1):
        decision, _ = decide(weights, question)
        if decision.support is not None:
            right = decision.final_answer == question.gold
            outcomes.append(Outcome("voting", decision.support, right, panel, VOTES))
        judged.append(question)
        if n % EVERY == 0 or n in counts:
            weights = learn(judged, models)
        if n in counts:
            found = calibrate(outcomes, models)
            calibration = asdict(found) if found.measures else None
            seats, limits = seats_of(weights), Limits(60.0, 512)
            yield (
                n,
                weights,
                Spec(question="?", protocol="voting", seats=seats, limits=limits, calibration=calibration),
            )


def rate(weights: Weights, spec: Spec, tested: Sequence[AnsweredQuestion]) -> Mapping[str, Pairs]:
    """(number, right) of every tested question, for each number; `inside`: (1 or 0, whether it counts)."""
    found: dict[str, Pairs] = defaultdict(list)
    groups: dict[float, list[tuple[float, float, bool]]] = defaultdict(list)
    for question in tested:
        decision, share = decide(weights, question)
        if decision.support is None:
            continue
        right = decision.final_answer == question.gold
        found["share"].append((share, right))
        found["support"].append((decision.support, right))
        if (shown := confidence(spec, decision)) is not None:
            found["confidence"].append((shown[0], right))
            groups[round(decision.support, 6)].append((shown[1], shown[2], right))
    for group in groups.values():
        if len(group) >= GROUP:
            low, high, true = (mean(one[place] for one in group) for place in range(3))
            found["inside"] += [(float(low <= true <= high), True)] * len(group)
    return found


def _errors(splits: Sequence[Pairs]) -> str:
    return f"{100 * mean(map(ece, splits)):.1f}, {mean(map(brier, splits)):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--outcomes", type=int, nargs="+", default=[20, 50, 100, 300, 1000])
    args = parser.parse_args()
    print("| panel | outcomes | vote share: ECE, Brier | support | confidence | in the interval |")
    print("|---|---|---|---|---|---|", flush=True)
    for panel in PANELS:
        every = read_recorded(args.folder / panel.recording, panel.models, WHERE[panel.recording])
        # A live run knows neither category nor number of options.
        every = [replace(question, options=None, category=None) for question in every]
        models = tuple(every[0].answers)
        counts = [n for n in args.outcomes if n <= len(every) // 2]
        rated: dict[int, list[Mapping[str, Pairs]]] = defaultdict(list)
        for seed in range(args.splits):
            drawn = random.Random(seed).sample(every, len(every))
            tested = drawn[max(counts) :][:TESTED]
            for n, weights, spec in live(drawn, models, counts):
                rated[n].append(rate(weights, spec, tested))
        for n, splits in rated.items():
            cells = [_errors([one[name] for one in splits]) for name in ("share", "support", "confidence")]
            inside = [hit for one in splits for hit, _ in one.get("inside", ())]
            covered = f"{mean(inside):.0%}" if inside else ""
            print(f"| {panel.name} | {n} | {' | '.join(cells)} | {covered} |", flush=True)


if __name__ == "__main__":
    main()
