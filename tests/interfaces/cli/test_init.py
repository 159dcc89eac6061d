"""`pnyx init`: three questions, or options, become a settings file that is valid."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from pnyx.interfaces.process.open_settings import open_settings
from tests.interfaces.conftest import KEY
from tests.interfaces.shell import Done, pnyx, screen
from tests.support.scripted import ScriptedHost

KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "google": "GEMINI_API_KEY"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder, and the file that the command writes."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    if Path("new.toml").exists():
        monkeypatch.setenv("PNYX_CONFIG", "new.toml")
        assert pnyx("config", "check").code == 0


def init(*args: str) -> Done:
    return pnyx("init", "--no-input", "--file", "new.toml", *args)


@pytest.mark.parametrize("style", ["fast", "balanced", "thorough"])
@pytest.mark.parametrize("hosts", [("openai",), ("openai", "google"), tuple(KEYS)])
def test_keys_in_the_environment_become_a_panel_of_three_seats_or_more(
    monkeypatch: pytest.MonkeyPatch, style: str, hosts: tuple[str, ...]
) -> None:
    for host in hosts:
        monkeypatch.setenv(KEYS[host], KEY)
    done = init("--no-test", "--style", style, "--budget", "0.4")
    assert (done.code, done.out) == (0, ""), done.err
    assert "a question costs about $" in done.err
    proposed = done.err.partition("Proposed panel\n")[2].partition("wrote")[0]
    assert all(line.startswith("  ") for line in proposed.splitlines())
    monkeypatch.setenv("PNYX_CONFIG", "new.toml")
    settings = open_settings(panel=True)
    assert settings.budget.run_usd == 0.4
    assert settings.run.protocol == settings.panels[style].protocol
    assert set(settings.panels) == {"fast", "balanced", "thorough"}
    for panel in settings.panels:
        plan = pnyx("ask", "-P", panel, "Why?", "--dry-run", "--json").json
        assert len(plan["seats"]) >= 3
        assert {seat["model"].partition(":")[0] for seat in plan["seats"]} == set(hosts)
        assert plan["expected_usd"] > 0
    assert KEY not in Path("new.toml").read_text() + done.err


def test_a_file_is_never_overwritten(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    Path("new.toml").write_text("# mine\n")
    done = init("--no-test")
    assert done.code == 2
    assert "new.toml exists, and is never overwritten; write another file with --file PATH" in done.err
    assert Path("new.toml").read_text() == "# mine\n"


def test_the_user_file_is_written_and_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert pnyx("init", "--no-input", "--no-test").code == 0
    assert pnyx("panel", "show", "fast").code == 0
    assert (Path(os.environ["XDG_CONFIG_HOME"]) / "pnyx" / "config.toml").exists()


@pytest.mark.parametrize("flag", ["--base-url", "--provider"])
def test_a_host_is_tested_and_its_models_are_the_seats(host: ScriptedHost, flag: str) -> None:
    done = init(flag, host.openai)
    assert done.code == 0, done.err
    assert f"ok   provider local: {host.openai} responds" in done.err
    assert "the price of local:alpha, local:beta, local:gamma is unknown: no budget is set" in done.err
    text = Path("new.toml").read_text()
    assert 'seats = ["local:alpha", "local:beta", "local:gamma"]' in text
    # Uncommented and filled in, the lines for prices and the budget are valid too.
    Path("new.toml").write_text(text.replace("# [", "[").replace("# input", "input").replace("# out", "out"))


def test_two_hosts_of_one_name_are_two_providers(host: ScriptedHost) -> None:
    with ScriptedHost(models=("delta",)) as other:
        urls = (host.openai, other.openai, host.openai)
        done = init(*(word for url in urls for word in ("--provider", url)))
        assert done.code == 0, done.err
    text = Path("new.toml").read_text()
    assert [text.count(f'base_url = "{url}"') for url in urls[:2]] == [1, 1]
    assert "[providers.local-2]" in text
    assert "local-2:delta" in text


def test_a_budget_of_another_file_does_not_stop_a_panel_without_prices(host: ScriptedHost) -> None:
    user_file = Path(os.environ["XDG_CONFIG_HOME"]) / "pnyx" / "config.toml"
    user_file.parent.mkdir(parents=True)
    user_file.write_text("[budget]\nday_usd = 2.0\n")
    done = init("--base-url", host.openai, "--model", "local:alpha")
    assert done.code == 0, done.err
    assert f"fill in the prices there first: budget.day_usd in {user_file}:2 refuses" in done.err
    text = Path("new.toml").read_text()
    assert 'seats = ["local:alpha*3"]' in text
    Path("new.toml").write_text(text.replace("# [", "[").replace("# input", "input").replace("# out", "out"))


def test_a_host_by_its_url_that_wants_a_key_names_the_variable(host: ScriptedHost) -> None:
    host.on("/models", status=401, message="a key, please")
    done = init("--base-url", host.openai)
    assert done.code == 2
    assert "provider local needs its key in $LOCAL_API_KEY. Set it with: export LOCAL_API_KEY" in done.err
    assert not Path("new.toml").exists()


def test_a_person_types_the_key_of_a_host_by_its_url(host: ScriptedHost) -> None:
    host.on("/models", status=401, message="a key, please")
    with screen("init", "--file", "new.toml", "--style", "fast", "--budget", "1") as terminal:
        terminal.wait_for("1. Where do your models run?")
        terminal.type(f"{host.openai}\n")
        terminal.wait_for("Key of local (not shown)")
        host.on("/models")
        terminal.type(f"{KEY}\n")
        terminal.wait_for("Write new.toml?")
        terminal.type("\n")
        assert terminal.end() == 0
    assert host.listings[-1]["authorization"] == f"Bearer {KEY}"
    text = Path("new.toml").read_text()
    assert 'api_key_env = "LOCAL_API_KEY"' in text
    assert KEY.encode() not in terminal.seen + text.encode()


def test_nothing_is_written_for_a_key_that_the_host_rejects(
    host: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_API_KEY", "sk-wrong-key-0001")
    host.on("/models", status=401, message="wrong key")
    done = init("--base-url", host.openai, "--model", "local:alpha*3")
    assert done.code == 1
    assert "FAIL provider local" in done.err
    assert "nothing was written: correct what fails above, or skip the test with --no-test" in done.err
    assert not Path("new.toml").exists()


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ((), "no key is set: name a provider with --provider, such as --provider embedded"),
        (("--provider", "opnai"), "did you mean openai?"),
        (
            ("--provider", "openai"),
            "export OPENAI_API_KEY=YOUR_KEY (or store it: pnyx keys set OPENAI_API_KEY)",
        ),
        (("--base-url", "http://127.0.0.1:9/v1"), "name them with --model local:MODEL"),
        (
            ("--base-url", "http://127.0.0.1:9"),
            "(is /v1 missing at its end?); name them with --model",
        ),
        (("--base-url", "ftp://x"), "must start with http:// or https://"),
    ],
)
def test_what_is_missing_is_named_with_what_to_do(args: tuple[str, ...], problem: str) -> None:
    done = init(*args)
    assert done.code == 2
    assert problem in done.err
    assert not Path("new.toml").exists()


def test_a_person_answers_three_questions_and_confirms(
    host: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    with screen("init", "--file", "new.toml") as terminal:
        terminal.wait_for("1. Where do your models run?")
        terminal.type("opnai\n")
        terminal.wait_for("no provider 'opnai'; did you mean openai?")
        terminal.type(f"{host.openai}\n")
        terminal.wait_for("2. What matters?")
        assert f"{host.openai} responds" in terminal.text
        terminal.type("fast\n")
        terminal.wait_for("3. What may a question cost at most")
        terminal.type("$0.5\n")
        terminal.wait_for("is not a number above zero; write 0.5")
        terminal.type("\n")
        terminal.wait_for("Write new.toml?")
        assert not Path("new.toml").exists()
        terminal.type("\n")
        assert terminal.end() == 0
    assert 'protocol = "voting"' in Path("new.toml").read_text()


def test_a_host_that_a_person_names_is_tested_before_the_next_question(
    host: ScriptedHost,
) -> None:
    with socket.socket() as closed, screen("init", "--file", "new.toml") as terminal:
        closed.bind(("127.0.0.1", 0))  # and does not listen
        terminal.wait_for("1. Where do your models run?")
        terminal.type(f"http://127.0.0.1:{closed.getsockname()[1]}/v1\n")
        assert terminal.end() == 1
    assert b"FAIL" in terminal.seen
    assert b"What matters?" not in terminal.seen
    assert not Path("new.toml").exists()


@pytest.mark.parametrize("status", [200, 401])
def test_a_typed_key_is_stored_only_after_its_host_has_taken_it(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.delenv("LAB_KEY")
    if status == 401:
        lab.on("/models", status=401, message="wrong key")
    with screen("init", "--file", "new.toml", "--provider", "lab", "--style", "fast") as terminal:
        terminal.wait_for("Key of lab (not shown)")
        terminal.type(f"{KEY}\n")
        if status == 200:
            terminal.wait_for("What may a question cost at most")
        else:
            assert terminal.end() == 1
    # Where there is no keyring, the message says so instead.
    assert (b"keyring" in terminal.seen) is (status == 200)
    assert (b"rejects the API key in $LAB_KEY" in terminal.seen) is (status == 401)
