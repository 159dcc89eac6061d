"""What 0, 3, 5, … labelled questions are worth, on answers that other projects recorded.

    .venv/bin/python -m benchmarks.few_labels FOLDER [--splits N] [--panel NAME …] [--development] [--short]

FOLDER has the recordings of `benchmarks.recorded_panels`. Questions whose id has an even SHA-256 are for
development: constants were chosen on them, with other panels than these. The others, of which the tables
speak, were not looked at before.
A split draws an order of the models, the labelled questions from one half, and tests on the other half. Like
a live vote, the rule knows neither categories nor options.

Majority: ties go to the model that is listed first; `(labels)`: to the one with most right labels. Best: the
model that is best on all questions, which nobody knows before. Standard errors are over questions and splits.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from benchmarks.recorded_panels import GSM8K, MMLU, PANELS, WHERE, Panel
from pnyx.evaluate.replay.recorded import NOT_ASKED, read_recorded
from pnyx.evaluate.report.tables import read_table
from pnyx.reliability.accuracy import AnsweredQuestion
from pnyx.reliability.weights import Weights, equal, learn

LABELS = (0, 3, 5, 10, 15, 20, 30, 50, 100, 200, 500, 10**6)
AHEAD = 0.10
"""The least lead of the best model over the second of a panel with a dominant model."""
MAJORITY, TIED, BEST, RULE = "majority", "majority (labels)", "best", "default"
Trials = NDArray[np.float64]


def is_development(recording: str, id: str) -> bool:
    """Whether a question is one of those on which constants were chosen."""
    return int(sha256((recording[:1] + id).replace("z", "g", 1).encode()).hexdigest(), 16) % 2 == 0


@dataclass(slots=True)
class Recording:
    """name: of the file. rows: (id, answers) by question, in the order of the file; models: of all rows."""

    name: str
    folder: Path
    rows: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    models: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        fields = {"id", "question_id", "category", "n_options", "gold", "gold_consistent"}
        for _, row in read_table(self.folder / self.name):
            if all(row[name] == value for name, value in WHERE[self.name].items()):
                answers = row.get("answers") or {k: v for k, v in row.items() if k not in fields}
                self.rows.append((str(row.get("question_id", row.get("id"))), answers))
        self.models = tuple(sorted({m for _, answers in self.rows for m in answers}))

    def questions(self, models: Sequence[str], development: bool) -> list[AnsweredQuestion]:
        """Return the questions of one kind that all `models` were asked, without category and options."""
        return [replace(q, category=None) for q in self._read(models, development)]

    def categories(self, models: Sequence[str], development: bool) -> list[str | None]:
        """Return the categories of `questions`."""
        return [q.category for q in self._read(models, development)]

    def _read(self, models: Sequence[str], development: bool) -> list[AnsweredQuestion]:
        shown = models or self.models
        asked = [id for id, row in self.rows if all(row.get(m, NOT_ASKED) != NOT_ASKED for m in shown)]
        read = read_recorded(self.folder / self.name, list(models), WHERE[self.name])
        pairs = zip(asked, read, strict=True)
        return [replace(q, options=None) for id, q in pairs if is_development(self.name, id) == development]


class Table:
    """The answers to questions as arrays. `slots` numbers the different answers to a question; -1: none."""

    def __init__(self, questions: Sequence[AnsweredQuestion], models: Sequence[str]) -> None:
        self.questions, self.models = questions, tuple(models)
        rows, gold = [], []
        for q in questions:
            slots: dict[str, int] = {}
            given = [q.answers[m] for m in models]
            rows.append([-1 if a is None else slots.setdefault(a, len(slots)) for a in given])
            gold.append(-2 if q.gold is None else slots.get(q.gold, -2))
        self.slots, self.gold = np.array(rows), np.array(gold)
        self.right = self.slots == self.gold[:, None]
        # question, slot, model: whether the model gave the answer.
        self.votes = (self.slots[:, None, :] == np.arange(len(models))[None, :, None]).astype(float)

    def grade(self, weights: Weights, test: NDArray[np.int64]) -> Trials:
        """Return whether `weights.choose` is right, 0 or 1 by question of `test`."""
        votes, slots = self.votes[test], self.slots[test]
        sums = votes @ np.array([weights.models[m] for m in self.models])
        # Answers without any weight count one for each model.
        sums = np.where(sums.max(axis=1, keepdims=True) > 0, sums, votes.sum(axis=2))
        top, chosen = sums.max(axis=1), np.full(len(test), -1)
        for model in reversed(weights.models):
            slot = slots[:, self.models.index(model)]
            leads = (slot >= 0) & (sums[np.arange(len(test)), slot] > top - 1e-9)
            chosen[leads] = slot[leads]
        return np.asarray(chosen == self.gold[test], dtype=np.float64)


@dataclass(slots=True)
class Results:
    """Sums of right answers by arm, labels, and question; and means by split."""

    questions: int
    sums: dict[tuple[str, int, str], Trials] = field(default_factory=dict)
    means: dict[tuple[str, int, str], list[float]] = field(default_factory=dict)
    trials: dict[int, Trials] = field(default_factory=dict)

    def add(self, order: str, n: int, test: NDArray[np.int64], arms: dict[str, Trials]) -> None:
        for arm, right in arms.items():
            key = (order, n, arm)
            self.sums.setdefault(key, np.zeros(self.questions))[test] += right
            self.means.setdefault(key, []).append(float(right.mean()))

    def accuracy(self, order: str, n: int, arm: str) -> float:
        """Return the mean accuracy, in percent."""
        return 100 * fmean(self.means[order, n, arm])

    def lead(self, order: str, n: int, arm: str, over: str) -> tuple[float, float]:
        """Return the difference of two arms and its standard error, in points."""
        by_split = np.subtract(self.means[order, n, arm], self.means[order, n, over])
        apart = self.sums[order, n, arm] - self.sums[order, n, over]
        mean, times = float(by_split.mean()), self.trials[n]
        over_questions = ((apart - mean * times) ** 2).sum() / times.sum() ** 2
        over_splits = by_split.var(ddof=1) / len(by_split) if len(by_split) > 1 else 0.0
        return 100 * mean, 100 * float(np.sqrt(over_questions + over_splits))


def measure(table: Table, splits: int, numbers: Sequence[int] = LABELS, seed: int = 0) -> Results:
    """Return the results of all splits, with models in random order and strongest first."""
    out, models = Results(len(table.questions)), table.models
    strongest = sorted(range(len(models)), key=lambda i: -table.right[:, i].sum())
    for split in range(splits):
        rng = np.random.default_rng((seed, split))
        drawn = rng.permutation(len(table.questions))
        half = len(drawn) // 2
        test = drawn[half:]
        orders = {"any order": rng.permutation(len(models)).tolist(), "strongest first": strongest}
        for n in numbers:
            if half < n < LABELS[-1]:
                continue
            known = drawn[: min(n, half)]
            out.trials.setdefault(n, np.zeros(len(drawn)))[test] += 1
            learned = learn([table.questions[i] for i in known], models)
            right = table.right[known].sum(axis=0)
            for name, order in orders.items():
                listed = [models[i] for i in order]
                ranked = [models[i] for i in sorted(order, key=lambda i: -right[i])]
                # The order of the models breaks ties only.
                votes = sorted(listed, key=lambda m: -learned.models[m])
                rule = replace(learned, models={m: learned.models[m] for m in votes})
                arms = {
                    MAJORITY: table.grade(equal(listed), test),
                    TIED: table.grade(equal(ranked), test),
                    BEST: table.right[test][:, strongest[0]].astype(float),
                    RULE: table.grade(rule, test),
                }
                out.add(name, n, test, arms)
    return out


def with_categories(table: Table, categories: Sequence[str | None], splits: int, seed: int = 0) -> float:
    """Return the accuracy of the rule with all labels and the category of each question, in percent."""
    means, kinds = [], np.array([category or "" for category in categories])
    questions = [replace(q, category=c) for q, c in zip(table.questions, categories, strict=True)]
    for split in range(splits):
        drawn = np.random.default_rng((seed, split)).permutation(len(questions))
        test = drawn[len(drawn) // 2 :]
        learned = learn([questions[i] for i in drawn[: len(drawn) // 2]], table.models)
        right = 0.0
        for kind in np.unique(kinds):
            votes = replace(learned, models=learned.of(str(kind)), categories={})
            right += table.grade(votes, test[kinds[test] == kind]).sum()
        means.append(right / len(test))
    return 100 * fmean(means)


def short_row(panel: Panel, results: Results, table: Table) -> str:
    """A row of the short table: what a user gets."""
    numbers = [n for n in (0, 20, 100, LABELS[-1]) if n in results.trials]
    cells = [f"{results.accuracy('any order', 0, arm):.2f}" for arm in (BEST, MAJORITY)]
    cells += [f"**{results.accuracy('any order', n, RULE):.2f}**" for n in numbers]
    return f"| {panel.name} | " + " | ".join(cells) + f" | {100 * table.right.any(axis=1).mean():.2f} |"


def category_row(panel: Panel, results: Results, table: Table, categories: list[str | None]) -> str | None:
    """A row of the table of categories, which live votes do not know; None where questions have none."""
    if not any(categories):
        return None
    known = with_categories(table, categories, len(results.means["any order", 0, RULE]))
    return f"| {panel.name} | {results.accuracy('any order', LABELS[-1], RULE):.2f} | {known:.2f} |"


def drawn_panels(recordings: dict[str, Recording]) -> Iterator[Panel]:
    """Panels of 3 to 7 models of one recording: any, and with a dominant model."""
    rng = random.Random(2026)
    for n in range(10):
        name = GSM8K if n % 3 == 2 else MMLU
        models = tuple(rng.sample(recordings[name].models, rng.randint(3, 7)))
        yield Panel(f"random {n + 1}", name, models)
    found = 0
    while found < 6:
        name = MMLU
        models = tuple(rng.sample(recordings[name].models, rng.randint(3, 7)))
        right = sorted(Table(recordings[name].questions(models, True), models).right.mean(axis=0))
        if right[-1] - right[-2] >= AHEAD:
            found += 1
            yield Panel(f"dominated {found}", name, models)


def report(name: str, results: Results, table: Table) -> Iterator[str]:
    """Lines of the table of a panel."""
    shares = " ".join(f"{100 * p:.0f}" for p in sorted(table.right.mean(axis=0), reverse=True))
    yield f"\n### {name}: {len(table.models)} models ({shares} %), {len(table.questions):,} questions\n"
    yield (
        "| labels | majority | by labels | best single | **default** | minus majority ± SE | minus by labels "
        "| minus best ± SE | strongest first: minus majority ± SE |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for n in results.trials:
        lead, error = results.lead("any order", n, RULE, MAJORITY)
        behind, _ = results.lead("any order", n, RULE, TIED)
        best, best_error = results.lead("any order", n, RULE, BEST)
        first, first_error = results.lead("strongest first", n, RULE, MAJORITY)
        cells = [f"{results.accuracy('any order', n, arm):.2f}" for arm in (MAJORITY, TIED, BEST)]
        cells += [f"**{results.accuracy('any order', n, RULE):.2f}**", f"{lead:+.2f} ± {error:.2f}"]
        cells += [f"{behind:+.2f}", f"{best:+.2f} ± {best_error:.2f}", f"{first:+.2f} ± {first_error:.2f}"]
        yield f"| {_number(n)} | " + " | ".join(cells) + " |"


def _number(n: int) -> str:
    return "all" if n == LABELS[-1] else str(n)


def summary(found: dict[str, Results]) -> Iterator[str]:
    """Lines of the table over all panels: the mean and the least lead at each number of labels."""
    yield "\n### All panels: the default rule minus others, in points: mean, least (panel)\n"
    yield (
        "| labels | majority, any order | by labels, any order | majority, strongest first "
        "| best, where majority is below it |"
    )
    yield "|---|---|---|---|---|"
    behind = {
        name: one
        for name, one in found.items()
        if one.lead("strongest first", LABELS[-1], MAJORITY, BEST)[0] < 0
    }
    for n in LABELS:
        cells = []
        for order, over, panels in (
            ("any order", MAJORITY, found),
            ("any order", TIED, found),
            ("strongest first", MAJORITY, found),
            ("any order", BEST, behind),
        ):
            leads = {p: r.lead(order, n, RULE, over)[0] for p, r in panels.items() if n in r.trials}
            worst = min(leads, key=lambda p: leads[p], default="")
            cells.append(f"{fmean(leads.values()):+.2f}, {leads[worst]:+.2f} ({worst})" if leads else "")
        yield f"| {_number(n)} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--splits", type=int, default=50, metavar="N", help="random splits (default 50)")
    parser.add_argument("--panel", action="append", metavar="NAME", help="only this panel; repeatable")
    parser.add_argument("--development", action="store_true", help="use the questions for development")
    parser.add_argument("--short", action="store_true", help="only the tables of docs/evaluation.md")
    args = parser.parse_args()
    recordings = {name: Recording(name, args.folder) for name in (MMLU, GSM8K)}
    found: dict[str, Results] = {}
    apart = list[str | None]()
    if args.short:
        print("| panel | best single | majority | 0 labels | 20 | 100 | all | oracle |")
        print("|---|---|---|---|---|---|---|---|", flush=True)
    for panel in PANELS if args.short else (*PANELS, *drawn_panels(recordings)):
        if args.panel and panel.name not in args.panel:
            continue
        questions = recordings[panel.recording].questions(panel.models, args.development)
        table = Table(questions, tuple(questions[0].answers))
        if args.short:
            categories = recordings[panel.recording].categories(panel.models, args.development)
            results = measure(table, args.splits, (0, 20, 100, LABELS[-1]))
            print(short_row(panel, results, table), flush=True)
            apart.append(category_row(panel, results, table, categories))
            continue
        found[panel.name] = measure(table, args.splits)
        print("\n".join(report(panel.name, found[panel.name], table)), flush=True)
    if any(apart):
        print("\n| panel | all labels | all labels, and categories |\n|---|---|---|")
        print("\n".join(filter(None, apart)))
    if len(found) > 1:
        print("\n".join(summary(found)))


if __name__ == "__main__":
    main()
