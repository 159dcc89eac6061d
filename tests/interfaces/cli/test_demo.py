"""`pnyx demo`: what it says of the vote is what the vote was, and what it says of the rates is recorded."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pnyx import FakeProvider
from pnyx.core.answers.replies.extract import final_answer
from pnyx.core.answers.same.equivalence import same_answer
from pnyx.errors import ProviderError
from pnyx.interfaces.cli.actions import demo
from pnyx.interfaces.cli.terminal.output import streams
from pnyx.interfaces.process.open_settings import open_settings
from pnyx.providers.base import Completion
from pnyx.providers.embedded.weights_table import KNOWN
from pnyx.providers.registry import Providers
from tests.interfaces.shell import pnyx
from tests.support.sources import ROOT

ASKED = demo.read_question()
RECORDING: dict[str, Any] = json.loads((demo.FOLDER / "recording.json").read_text())


def ask(capsys: pytest.CaptureFixture[str], replies: Sequence[str | Completion]) -> tuple[int, str, str]:
    """The exit code, stdout and stderr of the first part, where the model answers with `replies` in turn."""
    providers = Providers(open_settings(), {}, {"embedded": FakeProvider(replies)})
    code = asyncio.run(demo.ask(streams(), ASKED, 1, providers))
    return code, *capsys.readouterr()


def test_the_vote_is_shown_with_its_cost_and_its_record(capsys: pytest.CaptureFixture[str]) -> None:
    cut = Completion("Step 1: it goes on and on", None, "length")
    right, wrong = f"Final answer: {ASKED.answer}", "Final answer: 1"
    replies: list[str | Completion] = [
        right,
        wrong,
        right,
        "Final answer: 2",
        right,
        wrong,
        right,
        cut,
        "No idea.",
    ]
    code, out, err = ask(capsys, replies[: ASKED.samples])
    assert code == 0
    assert f"The panel answers {ASKED.answer}: right. Of its samples, 4 of 9 are right." in out
    rows = {line.split()[0]: line.split() for line in out.partition("\nVote\n")[2].splitlines()[:4]}
    assert rows[ASKED.answer][1:4] == ["4", "of", "9"]
    assert rows["1"][1:4] == ["2", "of", "9"]
    assert rows["(no"][2:5] == ["2", "of", "9"]
    assert err.count("(right)") == 4
    assert "cut off at its limit of tokens: not counted" in err
    assert "9 calls" in out
    assert "$0" in out
    (run_id,) = re.findall(r"Saved as run (\w+)", out)
    shown = pnyx("show", run_id)
    assert shown.code == 0
    assert ASKED.question in shown.out + shown.err


def test_the_record_is_named_from_the_working_directory(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PNYX_DATABASE", f"sqlite:///{tmp_path}/.demo/pnyx.db")
    _, out, _ = ask(capsys, [f"Final answer: {ASKED.answer}"] * ASKED.samples)
    assert " in .demo/pnyx.db. See all of it here:" in out
    assert "    PNYX_DATABASE=.demo/pnyx.db " in out
    assert str(tmp_path) not in out


def test_a_wrong_vote_is_called_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    right, wrong = f"Final answer: {ASKED.answer}", "Final answer: 1"
    _, out, _ = ask(capsys, [wrong] * 5 + [right] * 4)
    assert "The panel answers 1: wrong. Of its samples, 4 of 9 are right." in out


def test_a_model_that_fails_is_reported_and_nothing_is_made_up(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ask(capsys, [])
    assert code == 3
    assert "The panel answers" not in out
    assert "pnyx: " in err


def test_without_the_model_the_recording_is_shown_and_the_command_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> int:
        raise ProviderError("unavailable", "the index cannot be reached")

    monkeypatch.setattr(demo, "pull_model", fail)
    done = pnyx("demo")
    assert done.code == 5
    assert "the index cannot be reached" in done.err
    assert "RECORDING" in done.out


def test_without_the_engine_nothing_is_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    monkeypatch.setattr(demo, "pull_model", lambda *_: pytest.fail("it downloads the model"))
    done = pnyx("demo")
    assert done.code == 5
    assert "needs the extra 'embedded'" in done.err
    assert "RECORDING" in done.out


def test_wrong_settings_are_reported_before_the_download(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "pull_model", lambda *_: pytest.fail("it downloads the model"))
    Path("pnyx.toml").write_text('[providers.lab]\nbase_url = "http://127.0.0.1:9/v1"\n')
    done = pnyx("demo")
    assert done.code == 2
    assert "run `pnyx trust`" in done.err


def test_the_recording_is_whole_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "pull_model", lambda *_: 0)
    monkeypatch.setattr(demo, "ask", lambda *_: asyncio.sleep(0, 0))
    done = pnyx("demo")
    assert done.code == 0
    for reply in RECORDING["replies"]:
        assert f"{reply['model']} (recorded)" in done.out
        reasoning = json.loads(reply["text"].strip("`\n").removeprefix("json"))["reasoning"]
        assert " ".join(reasoning.split()) in " ".join(done.out.split())
    answers = [final_answer(reply["text"], RECORDING["question"]) for reply in RECORDING["replies"]]
    right = [a for a in answers if a and same_answer(a, RECORDING["answer"])]
    assert len(set(answers)) > 1
    assert re.search(rf"{RECORDING['answer']}\s+{len(right)} of {len(answers)} .*right", done.out)
    assert "confidence" not in done.out


def test_the_rates_that_the_demo_and_the_readme_state_are_recorded() -> None:
    lines = (ROOT / "benchmarks" / "demo.jsonl").read_text().splitlines()
    runs = [
        run
        for run in map(json.loads, lines)
        if (run["question"], run["model"], run["samples"]) == (ASKED.question, ASKED.model, ASKED.samples)
    ]
    assert len({run["seed"] for run in runs}) == len(runs) >= 20
    for run in runs:
        assert run["right"] == [ASKED.is_right(vote) for vote in run["votes"]]
        assert run["panel_right"] == ASKED.is_right(run["answer"])
    measured = {
        "runs": len(runs),
        "panel_right": sum(run["panel_right"] for run in runs),
        "samples_right": sum(sum(run["right"]) for run in runs),
    }
    assert ASKED.measured == measured
    stated = (
        f"One sample is right in {measured['samples_right']} of {len(runs) * ASKED.samples} cases, "
        f"the vote of {ASKED.samples} in {measured['panel_right']} of {len(runs)} runs"
    )
    readme = " ".join(Path(ROOT, "README.md").read_text().split())
    assert stated in readme


def test_the_model_of_the_demo_is_one_that_can_be_fetched() -> None:
    assert ASKED.model in KNOWN
