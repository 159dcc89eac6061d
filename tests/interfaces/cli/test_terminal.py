"""What a person sees on a terminal, narrow or wide; and the names that users of other systems type."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx import protocols
from pnyx.config.load import load
from pnyx.core.events import CallFinished, CallStarted, PhaseEntered, RunStarted, VoteTallied
from pnyx.interfaces.cli import completing
from pnyx.interfaces.cli.commands.completion import CHANGES
from pnyx.interfaces.cli.completing import complete_runs
from pnyx.interfaces.cli.terminal.live import LiveProgress
from pnyx.interfaces.cli.terminal.output import Output, Stream
from pnyx.interfaces.cli.terminal.plain import answer_lines
from pnyx.interfaces.render.terminal import safe
from pnyx.interfaces.render.terminal_markdown import render_markdown
from pnyx.protocols.call_bounds import call_bounds
from pnyx.run.options.request import RunRequest
from pnyx.run.options.resolve import resolve
from pnyx.store.documents import packing
from tests.interfaces.shell import pnyx
from tests.support.scripted import ScriptedHost

ANSI = re.compile(r"\x1b\[[0-9;]*m")
NOW = "2026-11-26T00:00:00+00:00"
ANSWER = """## Verdict

Take **Postgres**, see [the docs](https://example.com/x).

| option | cost |
|---|---:|
| vector<int> | 12 |

So \\(x_1 * y_2\\) holds.
Final answer: 42"""


def seen(lines: Iterator[str] | list[str]) -> str:
    return ANSI.sub("", "\n".join(lines))


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> LiveProgress:
    """The live view of a run in its second round, while one seat speaks."""
    stream = Stream(io.StringIO(), width=60)
    live = LiveProgress(Output(stream, stream))
    live.cap_usd = 1.0
    seats = tuple(
        {"seat": f"Participant {label}", "model": f"openrouter:vendor/a-model-with-a-long-name-{label}"}
        for label in "ABC"
    )
    live.view.add(
        RunStarted(
            time=NOW, run_id="r1", question="Which database?", protocol="deliberate", seats=seats,
            options={"rounds": 5}, version="1",
        )
    )  # fmt: skip
    live.view.add(PhaseEntered(time=NOW, phase="debate", round=2, protocol="deliberate"))
    common: dict[str, Any] = {"time": NOW, "phase": "debate", "round": 2, "fingerprint": "f", "attempt": 1}
    prompt: dict[str, Any] = {
        "prompt_id": "p",
        "prompt_sha256": "h",
        "prompt": "Why?",
        "max_tokens": 10,
        "reserved_usd": 0.1,
    }
    for label in "AB":
        seat, model = f"Participant {label}", seats[0]["model"]
        live.view.add(CallStarted(key=f"/{label}", seat=seat, model=model, **prompt, **common))
    live.view.add(
        CallFinished(
            key="/A", seat="Participant A", model=seats[0]["model"], text="42", input_tokens=10,
            output_tokens=20, cost_usd=0.0123, elapsed_s=1.0, **common,
        )
    )  # fmt: skip
    live.view.add(
        VoteTallied(
            time=NOW, phase="debate", round=2, rule="plurality", tally={"42": 2.0, "41": 1.0}, winner="42"
        )
    )
    return live


@pytest.mark.parametrize("width", [60, 120])
def test_the_live_view_has_round_cost_speaker_and_votes_at_any_width(live: LiveProgress, width: int) -> None:
    live._console.size = live._console.size._replace(width=width)
    frame = [line[:width] for line in live.frame().plain.split("\n")]
    text = "\n".join(frame)
    assert frame[0].startswith("Round 2 of 5 · debate · $0.0123 of $1.00 · ")
    assert "speaking: B" in text
    (row,) = [line for line in frame if line.startswith("✓")]
    assert "$0.0123" in row
    bars = {line.split()[0]: line.count("█") for line in frame if "█" in line}
    assert bars == {"42": 20, "41": 10}


def test_an_answer_is_rendered_on_a_terminal_and_plain_elsewhere() -> None:
    rendered = seen(list(answer_lines(Stream(io.StringIO(), painted=True, width=60), ANSWER)))
    assert "**" not in rendered
    assert "## " not in rendered
    # Nothing of the text is lost: no tag, no address, no backslash, no line break.
    for part in ("vector<int>", "https://example.com/x", r"\(x_1 * y_2\) holds.", "\nFinal answer: 42"):
        assert part in rendered
    for stream in (Stream(io.StringIO()), Stream(io.StringIO(), width=60)):
        assert "\n".join(answer_lines(stream, ANSWER)) == ANSWER


@given(st.text(max_size=300), st.sampled_from([20, 60, 100]))
def test_no_text_reaches_a_terminal_with_control_characters(text: str, width: int) -> None:
    shown = seen(render_markdown(text, width))
    assert safe(shown) == shown


@pytest.mark.parametrize("text", ["&#8238;evil", "a&#27;[2Jb", "[x](https://a/&#8238;b)", "`\x1b]0;t\x07`"])
def test_no_entity_becomes_a_control_character(text: str) -> None:
    shown = seen(render_markdown(text, 60))
    assert safe(shown) == shown


@pytest.mark.parametrize("name", sorted(protocols.names()))
def test_every_protocol_is_quick_and_deep(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    protocol, most = protocols.get(name), dict[str | None, int]()
    for preset in ("quick", None, "deep"):
        request = RunRequest(
            question="Why?", protocol=name, preset=preset, models=["ollama:a", "ollama:b", "ollama:c"]
        )
        spec = resolve(request, load())
        most[preset] = call_bounds(protocol, spec.seats, spec.options, {})[1]
    assert most["quick"] <= most["deep"]
    assert most["quick"] <= most[None]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def roles(*models: str, **named: str) -> list[str]:
    spec = resolve(RunRequest(question="Why?", protocol="voting", models=models, roles=named), load())
    return [seat.role for seat in spec.seats]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("models", "named", "expected"),
    [
        (("ollama:a", "ollama:b"), {"ollama:b": "critic"}, ["", "critic"]),
        (("ollama:mid*2", "ollama:b"), {"mid": "critic"}, ["critic", "critic", ""]),
        (("ollama:mid*2", "ollama:b"), {"mid": "critic", "2": "judge"}, ["critic", "judge", ""]),
        (("fox=ollama:a", "ollama:a*2"), {"fox": "critic"}, ["critic", "", ""]),
        (("ollama:b", "fox=ollama:a*2"), {"fox": "critic"}, ["", "critic", "critic"]),
        (("ollama:a", "ollama:b"), {"2": "critic"}, ["", "critic"]),
    ],
)
def test_a_role_is_given_by_model_name_or_number(
    models: tuple[str, ...], named: dict[str, str], expected: list[str]
) -> None:
    assert roles(*models, **named) == expected


@pytest.mark.usefixtures("folder")
def test_a_named_seat_can_judge() -> None:
    request = RunRequest(question="?", protocol="voting", models=["fox=ollama:a", "ollama:b"], judge="fox")
    judge = resolve(request, load()).judge
    assert judge is not None
    assert judge.model == "ollama:a"


def test_the_other_name_of_a_setting_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "own.toml").write_text("[tools.code_execution]\ntimeout = 5.0\n")
    monkeypatch.setenv("PNYX_CONFIG", "own.toml")
    settings = load()
    assert settings.tools.code_execution.timeout_s == 5.0
    assert settings.origin("tools", "code_execution", "timeout_s") == "own.toml"


def test_names_of_other_systems_are_understood(lab: ScriptedHost) -> None:
    lab.on("*", text="It is so.\nFinal answer: 42")
    plan = pnyx("debate", "what", "now", "--dry-run", "--json").json
    assert (plan["protocol"], plan["question"]) == ("council", "what now")
    assert pnyx("debate", "Why?", "-p", "voting", "--dry-run", "--json").json["protocol"] == "voting"
    plan = pnyx("ask", "--decompose", "-p", "voting", "Why?", "--dry-run", "--json").json
    assert (plan["protocol"], plan["options"]["inner"]) == ("decompose", "voting")
    run = pnyx("ask", "-p", "single", "Why?", "--json").json["run_id"]
    assert pnyx("list", "--json").json[0]["run_id"] == run
    assert "list" not in re.findall(r"^  (\w+)", pnyx("--help").out, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "start"), [("x.json", "{"), ("x.md", "# Run"), ("x.html", "<!doctype"), ("x.HTM", "<!doctype")]
)
def test_the_format_of_an_export_is_guessed_from_the_file(
    lab: ScriptedHost, tmp_path: Path, name: str, start: str
) -> None:
    lab.on("*", text="It is so.\nFinal answer: 42")
    run = pnyx("ask", "-p", "single", "Why?", "--json").json["run_id"]
    assert pnyx("export", run, "--out", name).code == 0
    assert (tmp_path / name).read_text("utf-8").lower().startswith(start.lower())
    for args in ((), ("--out", "x.pdf")):
        refused = pnyx("export", run, *args)
        assert (refused.code, "--format json, md, html or folder" in refused.err) == (2, True)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_of_a_shell_is_printed(shell: str) -> None:
    done = pnyx("completion", shell)
    assert done.code == 0
    assert "_PNYX_COMPLETE" in done.out
    # A text of click's that is not found any longer is not replaced.
    assert all(ours in done.out for ours in CHANGES.get(shell, {}).values())


def test_runs_models_panels_and_protocols_are_completed_quickly(
    lab: ScriptedHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "lab.toml").open("a") as settings:
        settings.write('[panels.fast]\nseats = ["lab:beta*3"]\n')
    lab.on("*", text="It is so.\nFinal answer: 42")
    run = pnyx("ask", "-p", "single", "Why?", "--json").json["run_id"]

    def complete(words: str) -> list[str]:
        monkeypatch.setenv("_PNYX_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", f"pnyx {words}")
        monkeypatch.setenv("COMP_CWORD", str(len(words.split())))
        began = time.process_time()
        shown = pnyx(*()).out.splitlines()
        assert time.process_time() - began < 0.2
        return [line.partition(",")[2] for line in shown if line]

    assert complete(f"show {run[:3]}") == [run]
    assert complete("ask -P f") == ["fast"]
    assert complete("ask -p vo") == ["voting"]
    assert complete("ask -m lab:a") == ["lab:alpha"]
    assert "openai:gpt-6.1-sol" in complete("ask -m openai:")
    assert complete("comp") == ["completion"]
    assert complete("models pull smol") == ["smollm2-135m"]
    monkeypatch.setenv("PNYX_CONFIG", "nowhere.toml")
    monkeypatch.setenv("PNYX_DATABASE", "postgresql://x/y")
    assert complete("show x") == []


def test_runs_are_completed_with_the_start_of_their_questions(lab: ScriptedHost) -> None:
    lab.on("*", text="It is so.\nFinal answer: 42")
    for question in ("Why\nnot?", "Why? " * 400):
        assert pnyx("ask", "-p", "single", question).code == 0
    context = click.Context(click.Command("show"))
    found = complete_runs(context, click.Argument(["run_id"]), "")
    assert [item.help for item in found] == ["single: a long question", "single: Why not?"]
    assert completing.PACKED == packing.PACKED
