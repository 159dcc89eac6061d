"""`pnyx verify`: a verdict on files, its exit code and its reports."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from pnyx.interfaces.views.verdict import SCHEMA
from tests.interfaces.shell import pnyx
from tests.support.scripted import Request, ScriptedHost

FINDING = {"rule": "No keys", "level": "error", "file": "a.py", "line": 3, "message": "A key \x0b in <code>."}
FAILS = {"verdict": "fail", "reasons": "It has a key.", "findings": [FINDING]}
PASSES = {"verdict": "pass", "reasons": "All is well.", "findings": []}


@pytest.fixture
def files(tmp_path: Path, lab: ScriptedHost) -> tuple[str, ...]:
    (tmp_path / "rubric.md").write_text("1. Required: no keys.\n")
    (tmp_path / "a.diff").write_text('+KEY = "sk-1"\n')
    return ("--file", "a.diff", "--rubric", "rubric.md", "-p", "voting")


def says(verdict: dict[str, Any]) -> Callable[[Request], str]:
    def reply(request: Request) -> str:
        if "one JSON object" in request.text:
            return json.dumps(verdict)
        return f"{verdict['reasons']}\nFinal answer: {verdict['verdict']}"

    return reply


@pytest.mark.parametrize(("verdict", "code"), [(FAILS, 3), (PASSES, 0)])
def test_the_verdict_is_printed_and_decides_the_exit_code(
    lab: ScriptedHost, files: tuple[str, ...], verdict: dict[str, Any], code: int
) -> None:
    lab.on("*", text=says(verdict))
    done = pnyx("verify", *files, "--require", "pass", "-q")
    assert done.code == code, done.err
    assert done.out.splitlines()[0] == verdict["verdict"]
    assert verdict["reasons"] in done.out
    assert ("- error: a.py:3: A key" in done.out) == bool(verdict["findings"])
    assert pnyx("verify", *files, "-q").code == 0
    prompts = [request.text for request in lab.log]
    assert all("1. Required: no keys." in one and "sk-1" in one for one in prompts if "JSON" not in one)


def test_the_result_is_an_object_of_the_schema(lab: ScriptedHost, files: tuple[str, ...]) -> None:
    lab.on("*", text=says(FAILS))
    done = pnyx("verify", *files, "--json", "-q")
    jsonschema.validate(json.loads(done.json["answer"]), SCHEMA)
    assert done.json["detail"]["prose"].endswith("Final answer: fail")


def test_reports(lab: ScriptedHost, files: tuple[str, ...], tmp_path: Path) -> None:
    lab.on("*", text=says(FAILS))
    done = pnyx("verify", *files, "--format", "sarif", "-q")
    (run,) = json.loads(done.out)["runs"]
    (result,) = run["results"]
    assert (result["ruleId"], result["level"]) == ("No keys", "error")
    assert run["tool"]["driver"]["rules"] == [{"id": "No keys"}]
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("a.py", 3)

    done = pnyx("verify", *files, "--format", "junit", "--out", "report.xml", "-q")
    assert done.out.startswith("fail")
    suite = ElementTree.fromstring((tmp_path / "report.xml").read_text("utf-8"))
    assert (suite.get("tests"), suite.get("failures")) == ("2", "2")
    assert [case.get("name") for case in suite] == ["verdict", "No keys"]
    assert (suite[1].findtext("failure") or "").startswith("A key \ufffd in <code>")


def test_stdin_is_checked_and_nothing_to_check_is_an_error(lab: ScriptedHost, files: tuple[str, ...]) -> None:
    lab.on("*", text=says(PASSES))
    rest = files[2:]
    done = pnyx("verify", *rest, "-q", stdin=b"+x = 1\n")
    assert done.code == 0, done.err
    assert "+x = 1" in lab.log[0].text
    sent = len(lab.log)
    Path("empty.md").write_text("\n")
    for arguments, text, message in (
        (rest, "\n", "nothing on stdin"),
        (("--file", "no.diff", *rest), "", "no.diff: No such file"),
        ((*rest[2:], "--rubric", "none.md"), "x", "none.md: No such file"),
        ((*rest[2:], "--rubric", "empty.md"), "x", "empty.md is empty"),
        ((*rest, "--out", "x"), "x", "--out needs --format"),
    ):
        done = pnyx("verify", *arguments, stdin=text.encode())
        assert (done.code, done.out) == (2, "")
        assert message in done.err
    assert len(lab.log) == sent


WARNING = FINDING | {"level": "warning"}


@pytest.mark.parametrize(
    ("findings", "final_answer", "problem"),
    [
        ([FINDING], "pass", "a finding of it is an error"),
        ([WARNING, FINDING], "pass", "a finding of it is an error"),
        ([], "fail", "the panel's final answer is fail"),
        ([], "**Fail**.", "the panel's final answer is fail"),
        ([WARNING], "pass", None),
    ],
)
def test_a_verdict_that_contradicts_itself_or_the_panel_is_no_pass(
    lab: ScriptedHost,
    files: tuple[str, ...],
    findings: list[dict[str, Any]],
    final_answer: str,
    problem: str | None,
) -> None:
    verdict = json.dumps(PASSES | {"findings": findings})
    in_words = f"It was read.\nFinal answer: {final_answer}"
    lab.on("*", text=lambda request: verdict if "one JSON object" in request.text else in_words)
    done = pnyx("verify", *files, "--require", "pass", "-q")
    first, _, reasons, *_ = done.out.splitlines()
    assert (done.code, first) == ((0, "pass") if problem is None else (3, "fail"))
    assert reasons.startswith("All is well." if problem is None else f"The verdict says pass, but {problem}")
    report = ElementTree.fromstring(pnyx("verify", *files, "-q", "--format", "junit").out)
    assert (report.find("testcase[@name='verdict']/failure") is None) == (problem is None)
    assert pnyx("verify", *files, "-q").code == 0


def test_a_run_without_a_verdict_is_no_pass(lab: ScriptedHost, files: tuple[str, ...]) -> None:
    lab.on("*", status=400, message="not today")
    assert pnyx("verify", *files, "--require", "pass").code == 3
    lab.on("*", text="I cannot tell.")
    done = pnyx("verify", *files, "--require", "pass")
    assert done.code not in (0, 5)
    assert "in the requested form" in done.err


def test_the_action_uses_flags_that_exist(files: tuple[str, ...]) -> None:
    action = (Path(__file__).parents[3] / "integrations/github/action.yml").read_text("utf-8")
    command = action[action.index("| pnyx verify") : action.index("- name: Upload")]
    help = pnyx("verify", "--help").out
    flags = {word for word in command.split() if word.startswith("--")}
    assert len(flags) >= 6
    assert all(flag in help for flag in flags)
