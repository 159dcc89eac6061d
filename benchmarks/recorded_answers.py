"""Same answer or not, on answers that many models gave: pnyx beside math-verify.

    .venv/bin/python -m benchmarks.recorded_answers FOLDER [--sample N] [--disputed FILE] [--checked FILE]

FOLDER has result files of WildEval's ZeroEval (`result_dirs/math-l5/*.json`, `result_dirs/crux/*.json`),
which are not part of the repository. Each distinct pair of a model's answer and the gold counts once.
Labels are, for MATH, the recording's own rule: the first number in each is the same; for programs' outputs,
Python: both are the same literal, and a text that is no literal is that string. Pairs of two models'
answers have no label, and are only counted.

`--disputed FILE` writes pairs at which the label, pnyx and math-verify are not of one mind, for somebody to
check; `--checked FILE` reads them back with `"same"` set by hand, and these labels go before the others.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from random import Random

from tests.answers.judges import JUDGES, Judge, MissingToolError
from tests.answers.material import Pair
from tests.answers.measures import count, total

ANSWER = re.compile(r'"answer"\s*:\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,}"][^\n}]*))', re.DOTALL)
NUMBER = re.compile(r"-?\d+(\.\d+)?")
MATHS, PROGRAMS = "MATH, answer and gold", "program output, answer and gold"
BETWEEN = "MATH, two models' answers"


@dataclass(frozen=True, slots=True)
class Given:
    """One model's answer to a question of a data set, beside the gold."""

    dataset: str
    question: str
    answer: str
    gold: str


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m benchmarks.recorded_answers", description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--sample", type=int, default=9000, help="Most pairs of each sort. (%(default)s)")
    options.add_argument("--seed", type=int, default=26)
    options.add_argument("--disputed", type=Path, help="Write the pairs to check to this file.")
    options.add_argument("--checked", type=Path, help="Labels set by hand, from such a file.")
    chosen = options.parse_args()
    given = list(read(chosen.folder))
    if not given:
        options.error(f"no result file of ZeroEval under {chosen.folder}")
    try:
        known = {name: JUDGES[name]() for name in ("pnyx", "math-verify")}
    except MissingToolError as error:
        print(error, file=sys.stderr)
        return 1
    by_hand = read_checked(chosen.checked) if chosen.checked else {}
    random = Random(chosen.seed)
    disputed = []
    for kind, pairs in {**labelled(given, by_hand), BETWEEN: between(given, by_hand)}.items():
        sampled = random.sample(pairs, min(chosen.sample, len(pairs)))
        disputed += report(kind, sampled, known, by_hand)
    if chosen.disputed:
        lines = (json.dumps(row, ensure_ascii=False) for row in disputed)
        chosen.disputed.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return 0


def read(folder: Path) -> Iterator[Given]:
    """The answers of every result file below the folder, where the model's reply has one."""
    for file in sorted(folder.rglob("*.json")):
        rows = json.loads(file.read_text(encoding="utf-8"))
        for row in rows if isinstance(rows, list) else []:
            if row.get("dataset") not in ("math-l5", "crux"):
                continue
            answer = answer_of(row["output"][0])
            if answer:
                question = row.get("problem") or row["question"]
                yield Given(row["dataset"], question, answer, str(row["answer"]).replace("#", "").strip())


def answer_of(reply: str) -> str | None:
    r"""The last field `answer` of the JSON in a reply. Only \" and \\ are escapes: models write LaTeX."""
    found = list(ANSWER.finditer(reply))
    if not found:
        return None
    quoted, bare = found[-1].groups()
    return (re.sub(r'\\(["\\])', r"\1", quoted) if quoted is not None else bare).strip()


def labelled(given: Iterable[Given], by_hand: dict[tuple[str, str], bool]) -> dict[str, list[Pair]]:
    """The distinct pairs of an answer and its gold, with labels; those of one text are left out."""
    found: dict[str, dict[Pair, None]] = {MATHS: {}, PROGRAMS: {}}
    for one in given:
        kind, rule = (MATHS, same_first_number) if one.dataset == "math-l5" else (PROGRAMS, same_literal)
        if one.answer != one.gold:
            same = by_hand.get((one.answer, one.gold), rule(one.answer, one.gold))
            found[kind][Pair(kind, one.answer, one.gold, same, one.question)] = None
    return {kind: list(pairs) for kind, pairs in found.items()}


def between(given: Iterable[Given], by_hand: dict[tuple[str, str], bool]) -> list[Pair]:
    """The distinct pairs of two different answers to one question of MATH; not the same, unless checked."""
    answers: dict[str, dict[str, None]] = {}
    for one in given:
        if one.dataset == "math-l5":
            answers.setdefault(one.question, {})[one.answer] = None
    return [
        Pair(BETWEEN, a, b, by_hand.get((a, b), False), question)
        for question, texts in answers.items()
        for a, b in combinations(texts, 2)
    ]


def same_first_number(answer: str, gold: str) -> bool:
    """ZeroEval's own rule for MATH: no `$`, no commas, and the first number in each is the same."""
    numbers = [NUMBER.search(re.sub("[$,]", "", text)) for text in (answer, gold)]
    return all(numbers) and len({float(number[0]) for number in numbers if number}) == 1


def same_literal(answer: str, gold: str) -> bool:
    """Whether both are the same Python value, types included; a text that is no literal is that string."""
    return _typed(_literal(answer)) == _typed(_literal(gold))


def _literal(text: str) -> object:
    for written in (text, f"'{text}'", f'"{text}"'):
        with suppress(ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            value: object = ast.literal_eval(written)
            return value
    return text


def _typed(value: object) -> object:
    """The value with the type of each of its parts, so that 1, True and 1.0 are three."""
    if isinstance(value, dict):
        return "dict", {repr(_typed(key)): _typed(held) for key, held in value.items()}
    if isinstance(value, set):
        return "set", {repr(_typed(member)) for member in value}
    if isinstance(value, list | tuple):
        return type(value).__name__, [_typed(member) for member in value]
    return type(value).__name__, value


def report(
    kind: str, pairs: list[Pair], known: dict[str, Judge], by_hand: dict[tuple[str, str], bool]
) -> list[dict[str, object]]:
    """Print how each judge does on these pairs, and return those that are disputed and not yet checked."""
    print(f"\n{kind}: {len(pairs)} pairs, {sum(pair.same for pair in pairs)} the same")
    called: dict[str, set[Pair]] = {}
    for name, judge in known.items():
        whole = total(count(judge, pairs, forgive=name != "pnyx").values())
        wrong = set(whole.wrong)
        called[name] = {pair for pair in pairs if pair.same is (pair not in wrong)}
        shares = f"precision {whole.precision:.4f}, recall {whole.recall:.4f}" if kind != BETWEEN else ""
        milliseconds = 1000 * whole.seconds / max(whole.n, 1)
        print(f"  {name:12} calls {len(called[name])} the same; {shares} ({milliseconds:.1f} ms a pair)")
    disputed: list[dict[str, object]] = []
    for pair in pairs:
        said = {name: pair in same for name, same in called.items()}
        opinions = {*said.values()} if kind == BETWEEN else {*said.values(), pair.same}
        if len(opinions) > 1 and (pair.a, pair.b) not in by_hand:
            row = {
                "kind": kind,
                "a": pair.a,
                "b": pair.b,
                "same": pair.same,
                **said,
                "question": pair.question,
            }
            disputed.append({**row, "question": pair.question})
    print(f"  disputed: {len(disputed)}")
    return disputed


def read_checked(file: Path) -> dict[tuple[str, str], bool]:
    rows = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line)
    return {(row["a"], row["b"]): bool(row["same"]) for row in rows}


if __name__ == "__main__":
    raise SystemExit(main())
