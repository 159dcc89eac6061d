"""Mistakes as a person makes them: the message says what to type instead."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx import protocols
from pnyx.interfaces.cli import COMMANDS
from tests.interfaces.shell import pnyx
from tests.support.scripted import ScriptedHost

NAMES = sorted(name for section in COMMANDS.values() for name in section)


def swapped(name: str, place: int) -> str:
    """The name with two neighbouring letters in the wrong order."""
    return name[:place] + name[place + 1] + name[place] + name[place + 2 :]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["rnus", "--limit", "3"], "no command 'rnus'; did you mean: pnyx runs --limit 3 (see"),
        (["shwo", "abc"], "did you mean: pnyx show abc"),
        (["what", "is", "best"], "to ask a question: pnyx ask 'what is best'"),
        (["Why is the sky blue?"], "to ask a question: pnyx ask 'Why is the sky blue?'"),
        (["frobnicate"], "the commands are ask, chat, "),
        (["history"], "no command 'history'; did you mean: pnyx runs (see"),
        (["judge", "--rubric", "r.md"], "no command 'judge'; did you mean: pnyx verify --rubric r.md (see"),
        (["run", "Is it so?"], "no command 'run'; did you mean: pnyx ask 'Is it so?' (see"),
        (
            ["review", "what", "we", "do"],
            "no command 'review'; to ask a question: pnyx ask 'review what we do'",
        ),
        (["config", "shwo"], "no command 'shwo'; did you mean: pnyx config show (see pnyx config --help)"),
        (["models", "pul", "smollm2"], "did you mean: pnyx models pull smollm2 (see pnyx models"),
        (["panel", "frobnicate"], "the commands are list, show, suggest (see pnyx panel"),
        (["models", "lab"], "no command 'lab'; type pnyx models or pnyx models pull (see pnyx models"),
        (["worker", "lab"], "type pnyx worker, pnyx worker drop, pnyx worker retry or pnyx worker status"),
        (["ask", "what is", "best of all"], "quote it as one argument, such as 'what is best of all'"),
        (["ask", "Why?", "-p", "votng"], "no protocol 'votng'; did you mean voting? Installed: aggregate"),
        (["ask", "Why?", "-p", "fast"], "no protocol 'fast'; fast is a saved panel: use -P fast"),
        (["ask", "Why?", "-P", "voting"], "there are: fast; voting is a protocol: use -p voting"),
        (["ask", "Why?", "--option", "round=3"], "has no option 'round'; did you mean rounds? It has: "),
        (["ask", "Why?", "--bugdet", "1"], "no option --bugdet; did you mean --budget? (see pnyx ask"),
        (["ask", "Why?", "--modl", "x"], "no option --modl; did you mean --model?"),
        (["ask", "Why?", "-json"], "no option -json; did you mean --json? (see pnyx ask"),
        (["ask", "Why?", "-rounds=3"], "no option -rounds; did you mean --rounds?"),
        (["ask", "Why?", "--timeout", "5"], "no option --timeout; did you mean --deadline?"),
        (["ask", "Why?", "--system", "x"], "no option --system; did you mean --instructions?"),
        (["ask", "Why?", "--no-tool"], "no option --no-tool; did you mean --no-tools?"),
        (["init", "--yes"], "no option --yes; did you mean --no-input? (see pnyx init"),
        (["runs", "--since", "2026-01-01"], "no option --since (see pnyx runs"),
        (["ask", "Why?", "--file"], "--file needs a value: --file PATH (see pnyx ask"),
        (["ask", "Why?", "--budget", "$0.5"], "'$0.5' is not a number above zero; write 0.5 (see"),
        (["ask", "Why?", "--budget", "0,50"], "'0,50' is not a number above zero; write 0.50 (see"),
        (["ask", "Why?", "--deadline", "5m"], "'5m' is not a number above zero; write 300 (see"),
        (["ask", "Why?", "--budget", "5m"], "'5m' is not a number above zero (see"),
        (["ask", "Why?", "--effort", "vote=low"], "did you mean --effort-for vote=low? (see pnyx ask"),
        (
            ["ask", "Why?", "--effort", "hgih"],
            "'hgih' is not one of 'none', 'low', 'medium', 'high'; did you",
        ),
        (
            ["ask", "Why?", "--answer-schema", '{"type": "object"}'],
            "for '--answer-schema': it takes the name of a file: write this JSON to one (see pnyx ask",
        ),
        (["show"], "ID is missing; `pnyx runs` lists runs (see pnyx show"),
        (["feedback", "abc"], "--result, one of success, partial, failure, is missing (see pnyx feedback"),
        (["show", "abc", "def"], "too many arguments: def (see pnyx show"),
        (
            ["verify", "notes.md", "--rubric", "notes.md"],
            "too many arguments: notes.md; name a file with --file notes.md (see pnyx verify",
        ),
        (["show", "abc", "notes.md"], "too many arguments: notes.md (see pnyx show"),
        (
            ["ask", "Summarise this", "notes.md"],
            "one question at a time: name a file with --file notes.md (see",
        ),
        (
            ["ask", "notes.md"],
            'notes.md is a file; ask about it with: --file notes.md "QUESTION" (or its text is',
        ),
        (["ask", "@./notes.md"], './notes.md is a file; ask about it with: --file ./notes.md "QUESTION"'),
        (["recall", "two", "words"], "too many arguments: words; quote a text of several words (see"),
        (["ask", "Why?", "-m", "gpt-4o"], "not 'gpt-4o'; did you mean openai:gpt-4o?"),
        (["ask", "Why?", "-m", "gpt-4o*3"], "did you mean openai:gpt-4o?"),
        (["ask", "Why?", "-m", "openai/gpt-4o"], "did you mean openai:gpt-4o?"),
        (["ask", "Why?", "-m", "claude-opus-5-5"], "did you mean anthropic:claude-opus-5-5?"),
        (["ask", "Why?", "-m", "gemini-4-argn"], "did you mean google:gemini-4-argon?"),
        (["ask", "Why?", "-m", "alpah"], "did you mean lab:alpha?"),
        (["ask", "Why?", "-m", "lab:"], "name a model of it, such as lab:MODEL"),
        (
            ["ask", "Why?", "-m", "lab:alpha,lab:beta"],
            "names 2 models; name each by itself: -m lab:alpha -m lab:",
        ),
        (["ask", "Why?", "-m", "gpt-4o, o3"], "names 2 models; name each by itself: -m gpt-4o -m o3"),
        (["ask", "Why?", "-p", "consensus", "-m", "lab:alpha"], "seats of one model: -m 'lab:alpha*3'"),
        (["ask", "Why?", "-m", "lab"], "name a model of it, such as lab:MODEL"),
        (["ask", "Why?", "-m", "fast"], "fast is a saved panel: use -P fast"),
        (["ask", "Why?", "-m", "llama3"], "such as openai:MODEL or ollama:llama3"),
        (["ask", "Why?", "-m", "opnai:gpt-4o"], "no provider 'opnai'; did you mean openai?"),
        (["ask", "Why?", "-P", "fats"], "no saved panel 'fats'; did you mean fast?"),
        (
            ["ask", "Why?", "-P", "lab:beta"],
            "no saved panel 'lab:beta'; there are: fast; to name a model, use -m",
        ),
        (
            ["ask", "Why?", "--seed", "x"],
            "Invalid value for '--seed': 'x' is not a whole number (see pnyx ask",
        ),
        (["runs", "--limit", "0"], "0 is not between 1 and 1000000 (see pnyx runs"),
        (["eval", "x.jsonl", "--limit", "0"], "0 is not at least 1 (see pnyx eval"),
        (["delete"], "ID is missing; `pnyx runs` lists runs (see pnyx delete"),
        (["ask", "", "-m", "openai:gpt-4o"], "there is no question"),
        (
            ["ask", "Why?", "-m", "openai:gpt-4o*3"],
            "export OPENAI_API_KEY=YOUR_KEY (or store it: pnyx keys set OPENAI_API_KEY)",
        ),
        (["show", "abc"], "no run 'abc'; `pnyx runs` lists them"),
    ],
)
def test_a_mistake_is_one_line_with_what_to_type(
    lab: ScriptedHost, tmp_path: Path, args: list[str], message: str
) -> None:
    with (tmp_path / "lab.toml").open("a") as settings:
        settings.write('[panels.fast]\nseats = ["lab:beta*3"]\n')
    (tmp_path / "notes.md").write_text("notes")
    done = pnyx(*args)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1
    assert lab.log == []


@pytest.mark.parametrize(
    ("args", "messages"),
    [
        (
            ["--bugdet", "3", "--effrt", "low", "--seed", "x", "--budget", "$1"],
            ["no option --bugdet; did you mean --budget?", "no option --effrt;", "'--seed': 'x'", "write 1"],
        ),
        (["--seed", "x", "--budget"], ["--budget needs a value: --budget USD"]),
        (["--seed", "x", "--effort", "hihg"], ["'--seed': 'x' is not a whole number", "did you mean high?"]),
        (
            ["-m", "gpt-4o", "-m", "nohost:x", "-m", "lab:", "-m", "embedded:none", "--judge", "alpah"],
            ["mean openai:gpt-4o?", "no provider 'nohost'", "lab:MODEL", "called 'none'", "mean lab:alpha?"],
        ),
        (
            ["-m", "nohost:x", "-m", "nohost:y", "-m", "gone:z"],
            ["no provider 'nohost'", "no provider 'gone'"],
        ),
        (
            ["-p", "votng", "-m", "gpt-4o", "--language", "a b", "--answer-schema", "schema.json"],
            ["did you mean voting?", "mean openai:gpt-4o?", "language must be", "schema of an answer"],
        ),
        (
            ["--option", "round=3", "--option", "threshold=7", "--option", "challengers=x"],
            ["has no option 'round'", "consensus.threshold", "consensus.challengers"],
        ),
        (
            [
                "-p",
                "voting",
                "-m",
                "openai:gpt-4o",
                "-m",
                "anthropic:x*2",
                "-m",
                "lab:alpha",
                "--judge",
                "mistral:x",
            ],
            ["export OPENAI_API_KEY=", "export ANTHROPIC_API_KEY=", "export MISTRAL_API_KEY="],
        ),
        (
            ["-p", "voting", "-m", "mistral:x", "--budget", "1"],
            ["voting needs 2 seats", "the price of mistral:x is unknown"],
        ),
    ],
)
def test_several_mistakes_are_shown_together_each_once(
    lab: ScriptedHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: list[str], messages: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.json").write_text('{"type": "array"}')
    done = pnyx("ask", "Why?", *args)
    assert (done.code, done.out) == (2, "")
    lines = done.err.splitlines()
    if len(messages) > 1:
        heading, *lines = lines
        assert heading.startswith("pnyx: several things are wrong")
        assert all(line.startswith("  - ") for line in lines)
    assert len(lines) == len(messages)
    for message in messages:
        assert sum(message in line for line in lines) == 1, done.err
    assert lab.log == []


@given(st.sampled_from([name for name in NAMES if len(name) > 3]), st.data())
def test_two_letters_in_the_wrong_order_suggest_the_command(name: str, data: st.DataObject) -> None:
    typed = swapped(name, data.draw(st.integers(0, len(name) - 2)))
    if typed not in NAMES:
        assert f"did you mean: pnyx {name}" in pnyx(typed).err


@given(st.sampled_from(sorted(protocols.names())), st.data())
def test_two_letters_in_the_wrong_order_suggest_the_protocol(name: str, data: st.DataObject) -> None:
    typed = swapped(name, data.draw(st.integers(0, len(name) - 2)))
    if typed not in protocols.names():
        with pytest.raises(Exception, match=f"did you mean {name}"):
            protocols.get(typed)


def test_an_unquoted_question_is_asked(lab: ScriptedHost) -> None:
    lab.on("*", text="Forty-two.\nFinal answer: 42")
    assert pnyx("ask", "-p", "single", "what", "is", "best", "--json").json["question"] == "what is best"


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        (["help"], "Usage: pnyx [OPTIONS]"),
        (["help", "runs"], "Usage: pnyx runs"),
        (["version"], "pnyx "),
        (["-V"], "pnyx "),
    ],
)
def test_help_and_version_are_understood_as_other_programs_have_them(typed: list[str], first: str) -> None:
    done = pnyx(*typed)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(first)


def test_a_new_database_that_the_settings_name_is_said(
    lab: ScriptedHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.on("*", text="It is so.\nFinal answer: 42")
    monkeypatch.setenv("PNYX_DATABASE", str(tmp_path / "rnus.db"))
    said = f"database {tmp_path / 'rnus.db'} (named by $PNYX_DATABASE) is new\n"
    assert said in pnyx("ask", "-p", "single", "Why?").err
    assert said not in pnyx("ask", "-p", "single", "Why?").err


@pytest.mark.parametrize("usage", ["true", None])
def test_hosts_that_replied_are_not_suspected(lab: ScriptedHost, usage: str | None) -> None:
    lab.on("*", refusal="I cannot help.", usage=usage)
    done = pnyx("ask", "-p", "voting", "Why?")
    assert done.code == 3
    assert "abstained: refusal: I cannot help." in done.err
    assert "pnyx doctor" not in done.err


def test_a_host_that_is_down_is_explained_once_with_its_address_and_the_doctor(
    lab: ScriptedHost, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
    settings = tmp_path / "lab.toml"
    settings.write_text(settings.read_text().replace(lab.openai, url).replace("retries = 0", "retries = 2"))
    done = pnyx("ask", "-p", "voting", "Why?")
    assert done.code == 3
    assert done.err.count("connection refused: is its server running?") == 1
    assert f"lab is at {url} (its base_url). Check hosts, keys and models with: pnyx doctor" in done.err
    quiet = pnyx("ask", "-q", "-p", "voting", "Why?")
    assert quiet.err.count("connection refused: is its server running?") == 1


@pytest.mark.parametrize(
    ("status", "message", "words"),
    [
        (404, "The model `alpha` does not exist", "HTTP 404: The model `alpha` does not exist"),
        (404, "Not Found", "check base_url"),
        (401, "Incorrect API key", "HTTP 401: Incorrect API key"),
        (401, "Wrong key", "and its key comes from $LAB_KEY"),
        (400, "API key not valid. Please pass a valid API key.", "and its key comes from $LAB_KEY"),
    ],
)
def test_what_a_host_refuses_leads_to_the_doctor(
    lab: ScriptedHost, status: int, message: str, words: str
) -> None:
    lab.on("*", status=status, message=message)
    done = pnyx("ask", "-p", "voting", "Why?")
    assert done.code == 3
    assert done.err.count(words) == 1
    assert done.err.count("pnyx doctor") == 1


def test_a_key_that_is_refused_is_explained_also_if_other_seats_answer(lab: ScriptedHost) -> None:
    lab.on("gamma", status=401, message="Wrong key")
    done = pnyx("ask", "-p", "voting", "Why?")
    assert done.code == 5
    assert f"lab is at {lab.openai} (its base_url), and its key comes from $LAB_KEY. Check" in done.err
    lab.on("gamma", status=503, message="Busy")
    assert "pnyx doctor" not in pnyx("ask", "-p", "voting", "Why?").err


def test_of_several_hosts_the_doctor_is_named_once(lab: ScriptedHost, tmp_path: Path) -> None:
    with (tmp_path / "lab.toml").open("a") as settings:
        settings.write(f'[providers.other]\nkind = "openai"\nbase_url = "{lab.openai}"\n')
    lab.on("*", status=401, message="Wrong key")
    done = pnyx("ask", "-p", "voting", "Why?", "-m", "lab:alpha", "-m", "other:beta")
    assert [line.partition(" is at ")[0] for line in done.err.splitlines() if " is at http" in line] == [
        "lab",
        "other",
    ]
    assert done.err.count("pnyx doctor") == 1


def test_a_budget_that_is_too_small_says_what_the_call_may_cost_and_what_to_type(lab: ScriptedHost) -> None:
    done = pnyx("ask", "Why?", "--budget", "0.00001")
    assert done.code == 4
    assert done.err.count("the next call may cost up to $0.0") == 1
    assert "and $0.00001 is left" in done.err
    assert "Resume with: pnyx resume " in done.err
    assert "--budget 0.0" in done.err


def test_the_cost_is_said_before_the_run_and_learned_from_runs(lab: ScriptedHost) -> None:
    lab.on("*", text="It is so.\nFinal answer: 42")
    first = pnyx("ask", "-p", "voting", "Why?", "--json")
    said = first.err.splitlines()[0]
    assert said.startswith("expected cost: about $0.0")
    assert ", at most $0." in said
    cost = first.json["usage"]["cost_usd"]
    before = pnyx("ask", "-p", "moa", "Why?", "--dry-run", "--json").json
    plan = pnyx("ask", "-p", "voting", "Why?", "--dry-run", "--json").json
    assert plan["expected_usd"] == pytest.approx(cost, rel=0.01)
    assert before["expected_usd"] < before["at_most"]["cost_usd"]


def test_a_host_that_wants_a_key_and_gets_none_says_which_setting_names_it(
    lab: ScriptedHost, tmp_path: Path
) -> None:
    settings = tmp_path / "lab.toml"
    settings.write_text(settings.read_text().replace('api_key_env = "LAB_KEY"\n', ""))
    lab.on("*", status=401, message="No key")
    said = pnyx("ask", "-p", "voting", "Why?").err
    assert "and gets no key: api_key_env of [providers.lab] names the variable of one" in said
