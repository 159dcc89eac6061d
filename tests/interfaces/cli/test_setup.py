"""`pnyx models`, `protocols`, `config`, `trust` and `doctor`."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from pnyx import protocols
from pnyx.interfaces.cli.actions.doctor import REACH_S
from pnyx.providers.embedded.weights_table import KNOWN
from tests.interfaces.conftest import CONFIG, KEY
from tests.interfaces.shell import pnyx
from tests.support.scripted import ScriptedHost


@pytest.fixture
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, no settings, no keys, no embedded models."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PNYX_MODELS", str(tmp_path / "models"))
    return tmp_path


def test_models_lists_the_panel_with_prices_and_every_embedded_model(
    lab: ScriptedHost, nothing: Path
) -> None:
    models = {model["model"]: model for model in pnyx("models", "--json").json}
    alpha = models["lab:alpha"]
    assert (alpha["input_price"], alpha["output_price"], alpha["seats"]) == (1.0, 4.0, 1)
    assert alpha["state"] == "key in $LAB_KEY"
    for name in KNOWN:
        assert models[f"embedded:{name}"]["installed"] is False
    table = pnyx("models").out
    assert "pnyx models pull smollm2-135m" in table
    assert KEY not in table


def test_models_of_a_provider_whose_key_is_set_are_listed(
    nothing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    kinds = {model["kind"] for model in pnyx("models", "--json").json}
    assert kinds == {"anthropic", "embedded"}


def test_pulling_an_unknown_model_lists_the_known_ones(nothing: Path) -> None:
    done = pnyx("models", "pull", "frob")
    assert (done.code, done.out) == (2, "")
    assert "smollm2-135m" in done.err


def test_every_protocol_is_listed_with_every_option() -> None:
    listed = {page["name"]: page for page in pnyx("protocols", "--json").json}
    assert set(listed) == set(protocols.names())
    text = pnyx("protocols").out
    for name, page in listed.items():
        assert f"{name}: {page['summary']}" in text
        for option, about in page["options"].items():
            assert about["default"] == protocols.get(name).options[option].default
            assert f"  {option} " in text


def test_config_show_prints_the_origin_of_each_value(lab: ScriptedHost) -> None:
    shown = pnyx("config", "show", "--json").json
    assert shown["run.retries"] == {"value": 0, "origin": "lab.toml"}
    assert shown["run.deadline_s"] == {"value": 600.0, "origin": "default"}
    assert "consensus.rounds" in pnyx("config", "show").out
    assert KEY not in pnyx("config", "show").out


def test_config_path_works_while_the_settings_are_broken(nothing: Path) -> None:
    (nothing / "pnyx.toml").write_text("[frob")
    paths = pnyx("config", "path", "--json").json
    assert paths["project file"] == {"path": str(nothing / "pnyx.toml"), "exists": True}
    assert paths["user file"]["exists"] is False


def test_config_check_reports_every_problem(nothing: Path) -> None:
    assert pnyx("config", "check").code == 0
    (nothing / "pnyx.toml").write_text('[run]\nfrob = 1\nretries = "x"\n[consensus]\nrounds = 99\n')
    done = pnyx("config", "check")
    assert (done.code, done.out) == (2, "")
    assert "run.frob" in done.err
    assert "run.retries" in done.err
    (nothing / "pnyx.toml").write_text("[consensus]\nrounds = 99\n")
    assert "consensus.rounds must be between 1 and 20" in pnyx("config", "check").err


def test_config_check_reports_problems_of_every_kind_at_once(nothing: Path) -> None:
    text = '[run]\nretrys = 1\n[consensus]\nrounds = 99\nfoo = 1\n[panel]\nseats = ["zz:x", "zz", "yy:x"]\n'
    (nothing / "pnyx.toml").write_text(text)
    pnyx("trust")
    done = pnyx("config", "check")
    assert (done.code, done.out) == (2, "")
    problems = [line.removeprefix("  - ") for line in done.err.splitlines()[1:]]
    assert sorted(line.split("; ")[0] for line in problems) == [
        "consensus.rounds must be between 1 and 20, not 99 (in pnyx.toml:4)",
        "panel.seats in pnyx.toml:7: a model is named \"provider:model\", not 'zz', such as "
        "openai:MODEL or ollama:zz",
        "panel.seats in pnyx.toml:7: no provider 'yy'",
        "panel.seats in pnyx.toml:7: no provider 'zz'",
        "unknown key consensus.foo in pnyx.toml:5",
        "unknown key run.retrys in pnyx.toml:2",
    ]


def test_config_check_does_not_report_seats_of_a_wrong_or_untrusted_provider(
    host: ScriptedHost, nothing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = CONFIG.format(url=host.openai)
    (nothing / "pnyx.toml").write_text(text)
    assert "panel" not in pnyx("config", "check").err
    monkeypatch.setenv("PNYX_CONFIG", "pnyx.toml")
    (nothing / "pnyx.toml").write_text(
        text.replace('kind = "openai"', 'kind = "openia"').replace("4.0", "-1")
    )
    problems = pnyx("config", "check").err.splitlines()[1:]
    assert len(problems) == 2
    assert "providers.lab.kind" in problems[0]
    assert "output_price" in problems[1]


def test_a_project_file_takes_effect_once_it_is_trusted(host: ScriptedHost, nothing: Path) -> None:
    (nothing / "pnyx.toml").write_text(CONFIG.format(url=host.openai))
    done = pnyx("ask", "Why?")
    assert done.code == 2
    assert "pnyx trust" in done.err
    assert not host.log
    (nothing / "empty").mkdir()
    with contextlib.chdir(nothing / "empty"):
        assert "there is no pnyx.toml in " in pnyx("trust").err
    trusted = pnyx("trust")
    assert trusted.code == 0
    assert "providers.lab.base_url" in trusted.err
    assert pnyx("config", "check").code == 0


def test_the_doctor_reports_ready(lab: ScriptedHost) -> None:
    done = pnyx("doctor", "--json")
    assert done.code == 0
    assert done.json["ready"] is True
    assert {finding["what"] for finding in done.json["findings"]} == {
        "settings",
        "database",
        "provider lab",
        "tool web_search",
        "tool read_page",
        "tool read_file",
        "panel",
    }
    assert all(finding["ok"] for finding in done.json["findings"])
    assert not lab.log
    assert pnyx("doctor").out.endswith("\nReady\n")


def test_the_doctor_names_a_missing_key_and_its_fix(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LAB_KEY")
    done = pnyx("doctor")
    assert done.code == 1
    assert "FAIL provider lab: its API key is not set\n     -> export LAB_KEY=..." in done.out


def test_the_doctor_names_an_invalid_key(lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KEY", "sk-planted\nand a remark")
    done = pnyx("doctor")
    assert done.code == 1
    assert "FAIL provider lab: $LAB_KEY" in done.out
    assert "sk-planted" not in done.out + done.err


def test_the_doctor_says_which_tools_are_off_and_why(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PNYX_TOOLS_WEB_SEARCH_BACKEND", "exa")
    monkeypatch.setenv("EXA_API_KEY", "exa-planted\nand a remark")
    done = pnyx("doctor")
    assert done.code == 0
    assert "-    tool web_search: $EXA_API_KEY, the key of Exa, contains a space" in done.out
    assert "ok   tool read_page: available" in done.out
    assert "exa-planted" not in done.out + done.err


def test_the_doctor_names_an_unreachable_host(lab: ScriptedHost, tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(CONFIG.format(url="http://127.0.0.1:9/v1"))
    done = pnyx("doctor", "--json")
    assert done.code == 1
    (failed,) = [f for f in done.json["findings"] if f["what"] == "provider lab"]
    assert "cannot reach http://127.0.0.1:9/v1" in failed["found"]
    assert failed["fix"]


def test_the_doctor_accepts_a_failed_seat_if_there_is_a_quorum(lab: ScriptedHost, tmp_path: Path) -> None:
    with (tmp_path / "lab.toml").open("a") as file:
        file.write('[providers.away]\nkind = "openai"\nbase_url = "http://127.0.0.1:9/v1"\n')
    args = {"PNYX_CONFIG": "lab.toml"}
    text = (tmp_path / "lab.toml").read_text().replace('"lab:gamma"]', '"away:gamma"]')
    (tmp_path / args["PNYX_CONFIG"]).write_text(text)
    done = pnyx("doctor")
    assert done.code == 0
    assert "FAIL provider away" in done.out
    assert "2 of 3 seats usable" in done.out


def test_the_doctor_suggests_an_embedded_model_if_nothing_is_set_up(nothing: Path) -> None:
    done = pnyx("doctor")
    assert done.code == 1
    assert "pnyx models pull qwen2.5-coder-0.5b" in done.out


def test_the_doctor_names_missing_weights(nothing: Path, tmp_path: Path) -> None:
    (tmp_path / "pnyx.toml").write_text('[panel]\nseats = ["embedded:smollm2-135m*3"]\n')
    done = pnyx("doctor")
    assert done.code == 1
    assert "FAIL embedded:smollm2-135m" in done.out
    assert "-> pnyx models pull smollm2-135m" in done.out


@pytest.mark.parametrize(
    ("model", "expected"),
    [("smollm2-135", "did you mean smollm2-135m?"), ("/nowhere/x.gguf", "there is no file /nowhere/x.gguf")],
)
def test_a_missing_embedded_model_is_reported_by_ask_config_check_and_doctor(
    nothing: Path, home: Path, monkeypatch: pytest.MonkeyPatch, model: str, expected: str
) -> None:
    (nothing / "pnyx.toml").write_text(f'[panel]\nseats = ["embedded:{model}*3"]\n')
    monkeypatch.setenv("PNYX_CONFIG", "pnyx.toml")
    for command in (("ask", "Why?"), ("ask", "Why?", "--dry-run"), ("config", "check")):
        done = pnyx(*command)
        assert (done.code, done.out) == (2, "")
        assert done.err.count("\n") == 1
        assert expected in done.err
    assert pnyx("runs", "--json").json == []
    done = pnyx("doctor")
    assert done.code == 1
    assert expected in done.out
    assert "pnyx models pull" not in done.out


def test_the_doctor_names_a_database_that_cannot_be_used(
    lab: ScriptedHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad.db").write_bytes(b"not a database at all" * 100)
    monkeypatch.setenv("PNYX_DATABASE", str(tmp_path / "bad.db"))
    done = pnyx("doctor")
    assert done.code == 1
    assert "FAIL database" in done.out
    assert "bad.db" in done.out


def test_the_doctor_reports_broken_settings(nothing: Path) -> None:
    (nothing / "pnyx.toml").write_text("[frob")
    done = pnyx("doctor", "--json")
    assert done.code == 1
    assert [finding["what"] for finding in done.json["findings"]] == ["settings"]


def test_the_doctor_waits_no_longer_than_five_seconds_for_a_host() -> None:
    assert REACH_S == 5.0


@pytest.mark.parametrize(("seat", "expected"), [("lab", "provider:model"), ("nolab:x", "nolab")])
def test_a_check_reads_the_panel_too(lab: ScriptedHost, seat: str, expected: str) -> None:
    assert pnyx("config", "check").code == 0
    text = Path("lab.toml").read_text()
    Path("lab.toml").write_text(text.replace('"lab:beta", "lab:gamma"]', f'"{seat}"]'))
    done = pnyx("config", "check")
    assert (done.code, done.out) == (2, "")
    assert "panel.seats" in done.err
    assert expected in done.err


def test_a_protocol_option_under_run_is_reported_with_its_protocol(lab: ScriptedHost) -> None:
    text = Path("lab.toml").read_text()
    Path("lab.toml").write_text(text.replace("[run]", "[run]\nrounds = 3"))
    assert "unknown key run.rounds in lab.toml:18; did you mean consensus.rounds?" in pnyx("ask", "Why?").err


@pytest.mark.parametrize("command", [("config", "check"), ("runs",)])
def test_an_unsupported_database_is_a_configuration_error(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("PNYX_DATABASE", "mysql://x/y")
    done = pnyx(*command)
    assert done.code == 2
    assert "sqlite://" in done.err
