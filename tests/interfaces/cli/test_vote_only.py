"""The vote before a debate is shown wherever its result is: `ask`, `show`, exports."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interfaces.shell import pnyx
from tests.support.scripted import Request, ScriptedHost

LINE = "Vote before the debate: 42 (2 of 3); after: 41"


def reply(request: Request) -> str:
    """alpha and gamma start with 42, and beta convinces them of 41."""
    if "First answer by" in request.text:
        parts = ("STEELMAN: It may be 42.", "CRITIQUE: One is counted twice.", "DECISION: So it is 41.")
        return "\n".join((*parts, "Final answer: 41"))
    return f"Counted.\nFinal answer: {41 if request.model == 'beta' else 42}"


@pytest.fixture
def run_id(lab: ScriptedHost) -> str:
    lab.on("*", text=reply)
    result = pnyx("ask", "-p", "deliberate", "--quick", "--json", "How many doors are there?").json
    assert (result["final_answer"], result["detail"]["vote_only"]["answer"]) == ("41", "42")
    return str(result["run_id"])


def test_show_says_in_one_line_whether_talking_changed_the_answer(run_id: str) -> None:
    assert pnyx("show", run_id, "--plain").out.splitlines().count(LINE) == 1


@pytest.mark.parametrize("format", ["md", "html", "folder"])
def test_exports_say_it_too(run_id: str, format: str, tmp_path: Path) -> None:
    out = tmp_path / "exported"
    assert pnyx("export", run_id, "--format", format, "--out", str(out)).code == 0
    text = (out / "final.md" if format == "folder" else out).read_text()
    assert LINE in text.replace("\\", "")


def test_a_run_prints_it_below_its_answer(lab: ScriptedHost) -> None:
    lab.on("*", text=reply)
    done = pnyx("ask", "-p", "deliberate", "--quick", "--plain", "How many doors are there?")
    assert LINE in done.err.splitlines()
    agreed = pnyx("ask", "-p", "deliberate", "-m", "lab:alpha", "-m", "lab:gamma", "--plain", "How many?")
    assert "Vote: 42 (2 of 2); no debate was needed" in agreed.err.splitlines()
