"""The voting rules on a sample of answers that other projects recorded: the claims of design/reliability.md.

The recordings are not part of the repository; the tests are skipped if they are missing. `pnyx eval --answers
FILE` replays all questions, in many splits: see docs/evaluation.md.
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
"""33 questions of MMLU-Pro have different gold answers in different files."""

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
"""A panel whose first model leads by 10 points."""

SAMPLE = 400
"""Questions of a recording, evenly spaced."""
NOISE = 0.01
"""Two of the 200 questions that a split holds out."""

pytestmark = pytest.mark.skipif(
    not (MMLU.is_file() and GSM8K.is_file()), reason="no recorded answers beside the repository"
)


def lead(result: Replay, over: str) -> float:
    """The accuracy of the default rule minus that of `over`."""
    return result.accuracy(DEFAULT) - result.accuracy(over)


def replay_sample(path: Path, models: list[str], splits: int = 5) -> Replay:
    questions = read_recorded(path, models, CONSISTENT if path == MMLU else {})
    return replay(questions[:: len(questions) // SAMPLE][:SAMPLE], splits=splits)


@pytest.mark.parametrize(
    ("path", "models"),
    [(MMLU, STRONG[:4]), (MMLU, STRONG), (MMLU, MID), (GSM8K, FRONTIER)],
    ids=["strong of four", "strong", "mid", "gsm8k"],
)
def test_near_peers_together_are_at_least_as_good_as_the_best_of_them_and_as_the_majority(
    path: Path, models: list[str]
) -> None:
    result = replay_sample(path, models)
    assert result.questions == SAMPLE
    assert lead(result, SINGLE) >= 0
    assert lead(result, MAJORITY) >= -NOISE
    assert lead(result, STOPPED) <= 0.003
    assert result.calls < len(models)
    assert result.ece[1] <= 0.1


@pytest.mark.parametrize(("models", "splits"), [(AHEAD, 5), ([], 1)], ids=["10 points ahead", "all 29"])
def test_with_much_weaker_models_the_panel_is_as_good_as_the_best_model(
    models: list[str], splits: int
) -> None:
    result = replay_sample(MMLU, models, splits)
    assert len(result.models) == (len(models) or 29)
    assert lead(result, SINGLE) >= 0
    assert lead(result, STOPPED) <= 0.003
