"""The voting rules on answers that other projects recorded: checks the claims of design/reliability.md.

    .venv/bin/python -m benchmarks.recorded_panels FOLDER [--splits N] [--panel NAME …]

FOLDER has the recordings, which are not part of the repository: `mmlu_pro_predictions.csv.gz` (TIGER-AI-Lab's
MMLU-Pro) and `zeroeval_gsm8k_answers.jsonl.gz` (WildEval's ZeroEval), in the format of docs/evaluation.md.
Exits with 1 if a claim fails. `pnyx eval --answers FILE` prints more about one panel.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pnyx.errors import UsageError
from pnyx.evaluate.replay.recorded import read_recorded
from pnyx.evaluate.replay.replay import DEFAULT, MAJORITY, SINGLE, STOPPED, Replay, replay

MMLU = "mmlu_pro_predictions.csv.gz"
GSM8K = "zeroeval_gsm8k_answers.jsonl.gz"
WHERE = {MMLU: {"gold_consistent": "1"}, GSM8K: {}}
"""33 questions of MMLU-Pro have different gold answers in different files."""

NOISE = 0.001
"""A difference of accuracies that counts as none."""
MOST_LOST = 0.003
"""The most accuracy that stopping early may cost."""
MOST_ECE = 0.03
"""The largest expected calibration error of the calibrated confidence."""


@dataclass(frozen=True, slots=True)
class Panel:
    """models: empty for all of the recording.

    dominated: the best model is so far ahead of the others, or so close a relative, that they add nothing.
    """

    name: str
    recording: str
    models: tuple[str, ...] = ()
    dominated: bool = False


STRONG = ("gemini-1.5-pro-002", "gemini-1.5-flash-002", "Meta-Llama-3_1-70B-Instruct", "jamba-1.5-large")
MID = (
    "Qwen1.5-72B-Chat",
    "jamba-1.5-large",
    "Mixtral-8x7B-Instruct-v0.1",
    "mathstral-7B",
    "Phi-3-mini-4k-instruct",
    "Meta-Llama-3_1-8B-Instruct",
)
FRONTIER = (
    "gpt-4o-2024-08-06",
    "claude-3-5-sonnet-20241022",
    "gemini-1.5-pro",
    "Mistral-Large-2",
    "Llama-3.1-405B-Inst@sambanova",
)
WEAKER = ("Meta-Llama-3-70B", "Meta-Llama-3_1-70B")
PANELS = (
    Panel("MMLU-Pro strong-4", MMLU, STRONG),
    Panel("MMLU-Pro strong-5", MMLU, (*STRONG, "DeepSeek-Coder-V2")),
    Panel("MMLU-Pro mid-6", MMLU, MID),
    Panel("GSM8K frontier-5", GSM8K, FRONTIER),
    Panel("MMLU-Pro all 29", MMLU),
    Panel("one 10 points ahead of three", MMLU, ("DeepSeek-Coder-V2", *WEAKER, "jamba-1.5-large")),
    Panel(
        "one 12 points ahead of three",
        MMLU,
        ("Meta-Llama-3_1-70B-Instruct", *WEAKER, "jamba-1.5-large"),
        dominated=True,
    ),
    Panel("same family, 3", MMLU, (*WEAKER, "Meta-Llama-3_1-70B-Instruct"), dominated=True),
)


def lead(result: Replay, over: str) -> float:
    """The accuracy of the default rule minus that of `over`."""
    return result.accuracy(DEFAULT) - result.accuracy(over)


def failures(panel: Panel, result: Replay) -> Iterator[str]:
    """A sentence for each claim that the replay of a panel contradicts."""
    if (found := lead(result, SINGLE)) < (-NOISE if panel.dominated else 0):
        yield f"{panel.name}: the default rule is {-100 * found:.2f} points below the best single model."
    if (found := lead(result, MAJORITY)) < -NOISE:
        yield f"{panel.name}: the default rule is {-100 * found:.2f} points below the majority."
    if (found := lead(result, STOPPED)) > MOST_LOST:
        yield f"{panel.name}: stopping early loses {100 * found:.2f} points, more than {100 * MOST_LOST:.2f}."
    if result.calls >= len(result.models):
        yield f"{panel.name}: stopping early saves no call."
    if (found := result.ece[1]) is None or found > MOST_ECE:
        yield f"{panel.name}: the calibration error is {_percent(found)}, more than {100 * MOST_ECE:.2f}."


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{100 * share:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--splits", type=int, default=5, metavar="N", help="random halves (default 5)")
    parser.add_argument("--panel", action="append", metavar="NAME", help="only this panel; repeatable")
    args = parser.parse_args()
    print("| panel | questions | over best single | over majority | lost by stopping | calls | ECE |")
    print("|---|---|---|---|---|---|---|", flush=True)
    failed: list[str] = []
    for panel in PANELS:
        if args.panel and panel.name not in args.panel:
            continue
        try:
            questions = read_recorded(args.folder / panel.recording, panel.models, WHERE[panel.recording])
            result = replay(questions, splits=args.splits)
        except UsageError as exc:
            parser.error(str(exc))
        print(
            f"| {panel.name} | {result.questions:,} "
            f"| {100 * lead(result, SINGLE):+.2f} | {100 * lead(result, MAJORITY):+.2f} "
            f"| {100 * lead(result, STOPPED):.2f} | {result.calls:.2f} of {len(result.models)} "
            f"| {_percent(result.ece[1])} |",
            flush=True,
        )
        failed += failures(panel, result)
    if failed:
        sys.exit("A claim of design/reliability.md fails.\n" + "\n".join(failed))


if __name__ == "__main__":
    main()
