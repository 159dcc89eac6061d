"""The voting rules on answers that other people recorded: what design/reliability.md says of them, in short.

The recordings are no part of the repository; where they are missing beside it, this is skipped. All figures
there are of 20 splits. Here one split has to do on MMLU-Pro, and two of every fourth question for 29 models,
so that all of it takes some 20 s of CPU: each is the same in every run, and further off than from twenty.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pnyx.evaluate.replay.recorded import read_recorded
from pnyx.evaluate.replay.replay import DEFAULT, MAJORITY, SINGLE, STOPPED, Replay, replay
from tests.support.sources import ROOT

DATA = ROOT.parent / "shared" / "data"
MMLU = DATA / "mmlu_pro_predictions.csv.gz"
GSM8K = DATA / "zeroeval_gsm8k_answers.jsonl.gz"
CONSISTENT = {"gold_consistent": "1"}
"""Of MMLU-Pro 33 questions have different right answers in different files."""

STRONG = [
    "gemini-1.5-pro-002",
    "gemini-1.5-flash-002",
    "Meta-Llama-3_1-70B-Instruct",
    "jamba-1.5-large",
    "DeepSeek-Coder-V2",
]
MID = [
    "Qwen1.5-72B-Chat",
    "jamba-1.5-large",
    "Mixtral-8x7B-Instruct-v0.1",
    "mathstral-7B",
    "Phi-3-mini-4k-instruct",
    "Meta-Llama-3_1-8B-Instruct",
]
FRONTIER = [
    "gpt-4o-2024-08-06",
    "claude-3-5-sonnet-20241022",
    "gemini-1.5-pro",
    "Mistral-Large-2",
    "Llama-3.1-405B-Inst@sambanova",
]
AHEAD = ["DeepSeek-Coder-V2", "Meta-Llama-3-70B", "Meta-Llama-3_1-70B", "jamba-1.5-large"]
"""The first by 10 points."""

ROUNDING = 0.0002
"""Level is level where another machine's logarithms break a tie otherwise."""

pytestmark = pytest.mark.skipif(
    not (MMLU.is_file() and GSM8K.is_file()), reason="no recorded answers beside the repository"
)


def ahead(result: Replay, of: str) -> float:
    """By how much the default rule is right more often."""
    return result.accuracy(DEFAULT) - result.accuracy(of)


def held_out(path: Path, models: list[str], splits: int, every: int = 1) -> Replay:
    """The replay of every n-th question; it must know how sure it is, and when to stop asking."""
    where = CONSISTENT if path == MMLU else {}
    result = replay(read_recorded(path, models, where)[::every], splits=splits)
    assert result.ece[1] <= 0.03
    assert ahead(result, STOPPED) <= 0.003
    assert result.calls <= 3.2 or len(result.models) != 5
    return result


@pytest.mark.parametrize(
    ("path", "models", "splits"),
    [(MMLU, STRONG[:4], 1), (MMLU, STRONG, 1), (MMLU, MID, 1), (GSM8K, FRONTIER, 20)],
    ids=["strong of four", "strong", "mid", "gsm8k"],
)
def test_near_peers_together_are_at_least_as_good_as_the_best_of_them_and_as_the_majority(
    path: Path, models: list[str], splits: int
) -> None:
    result = held_out(path, models, splits)
    for other in (SINGLE, MAJORITY):
        assert ahead(result, other) >= -ROUNDING


@pytest.mark.parametrize(
    ("models", "splits", "every"), [(AHEAD, 1, 1), ([], 2, 4)], ids=["10 points ahead", "all 29"]
)
def test_beside_much_weaker_models_the_best_loses_next_to_nothing(
    models: list[str], splits: int, every: int
) -> None:
    result = held_out(MMLU, models, splits, every)
    assert len(result.models) == (len(models) or 29)
    assert ahead(result, SINGLE) >= -0.005
