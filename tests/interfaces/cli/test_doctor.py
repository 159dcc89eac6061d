"""`pnyx doctor` and hosts: it requests the list of models with the API key, the way calls are sent."""

from __future__ import annotations

import shutil
import socket
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pnyx.interfaces.cli.actions import doctor
from pnyx.store import altered
from tests.interfaces.conftest import CONFIG, KEY
from tests.interfaces.shell import Done, pnyx
from tests.support.scripted import ScriptedHost


def host_finding(done: Done) -> dict[str, Any]:
    """The finding about the host. Checks that the API key is not printed."""
    assert KEY not in done.out + done.err
    (found,) = [f for f in done.json["findings"] if f["what"] == "provider lab"]
    return dict(found)


def at(url: str) -> None:
    """Write settings with this address."""
    Path("lab.toml").write_text(CONFIG.format(url=url))


def test_the_doctor_requests_the_models_of_a_host_with_its_key(lab: ScriptedHost) -> None:
    assert host_finding(pnyx("doctor", "--json"))["ok"] is True
    (headers,) = lab.listings
    assert headers["authorization"] == f"Bearer {KEY}"


def test_the_doctor_warns_of_an_address_without_a_list_and_suggests_v1(lab: ScriptedHost) -> None:
    at(lab.url)
    done = pnyx("doctor", "--json")
    found = host_finding(done)
    assert (done.code, found["ok"]) == (0, None)
    assert "HTTP 404" in found["found"]
    assert "is /v1 missing at its end?" in found["fix"]
    lines = pnyx("doctor").out
    assert f"warn provider lab: {lab.url} responds, but not with a list of models" in lines
    assert "Ready; see the lines marked warn" in lines
    settings = CONFIG.format(url=lab.openai)
    Path("lab.toml").write_text(
        settings + '[providers.gone]\nkind = "openai"\nbase_url = "http://127.0.0.1:9/v1"\n'
    )
    assert "Ready; see the lines marked FAIL\n" in pnyx("doctor").out


def test_the_doctor_does_not_suggest_v1_if_the_address_has_it(lab: ScriptedHost) -> None:
    lab.on("/models", status=404)
    assert (
        host_finding(pnyx("doctor", "--json"))["fix"]
        == "check its base_url; some hosts list no models and work"
    )


@pytest.mark.parametrize(
    ("status", "message"), [(401, f"wrong: {KEY}"), (403, "not you"), (400, "API key not valid")]
)
def test_the_doctor_names_the_variable_of_a_rejected_key(
    lab: ScriptedHost, status: int, message: str
) -> None:
    lab.on("/models", status=status, message=message)
    done = pnyx("doctor", "--json")
    assert (done.code, host_finding(done)["ok"]) == (1, False)
    assert f"rejects the API key in $LAB_KEY: HTTP {status}" in host_finding(done)["found"]
    assert host_finding(done)["fix"].startswith("export LAB_KEY=")


def test_the_doctor_says_if_a_host_requires_a_key_and_none_is_configured(lab: ScriptedHost) -> None:
    text = Path("lab.toml").read_text().replace('api_key_env = "LAB_KEY"\n', "")
    Path("lab.toml").write_text(text)
    lab.on("/models", status=401)
    found = host_finding(pnyx("doctor", "--json"))
    assert (found["ok"], "requires an API key" in found["found"]) == (False, True)
    assert "api_key_env in [providers.lab]" in found["fix"]


@pytest.mark.parametrize(("status", "ok"), [(503, False), (429, None), (405, None)])
def test_the_doctor_distinguishes_errors_from_a_missing_list(
    lab: ScriptedHost, status: int, ok: bool | None
) -> None:
    lab.on("/models", status=status)
    found = host_finding(pnyx("doctor", "--json"))
    assert (found["ok"], f"HTTP {status}" in found["found"]) == (ok, True)
    assert found["fix"]


def test_the_doctor_warns_of_a_seat_whose_model_is_not_listed(lab: ScriptedHost) -> None:
    Path("lab.toml").write_text(Path("lab.toml").read_text().replace('"lab:gamma"]', '"lab:gama"]'))
    done = pnyx("doctor", "--json")
    assert (done.code, host_finding(done)["ok"]) == (0, None)
    assert host_finding(done)["found"].endswith("responds, but does not list gama")
    assert host_finding(done)["fix"] == "did you mean gamma?"


@pytest.mark.parametrize(
    ("model", "listed"),
    [("claude-x", "claude-x-20250929"), ("small-latest", "small-2506"), ("tiny", "tiny:latest")],
)
def test_the_doctor_accepts_an_alias_of_the_newest_version_of_a_model(
    lab: ScriptedHost, model: str, listed: str
) -> None:
    lab.models = (listed, "alpha", "beta")
    Path("lab.toml").write_text(Path("lab.toml").read_text().replace('"lab:gamma"]', f'"lab:{model}"]'))
    assert host_finding(pnyx("doctor", "--json"))["ok"] is True


def test_the_doctor_uses_the_proxy_that_calls_use(lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", lab.url)
    at("http://pnyx.invalid/v1")
    done = pnyx("doctor", "--json")
    assert (done.code, host_finding(done)["ok"]) == (0, True)


def test_the_doctor_does_not_wait_for_a_silent_host(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pnyx.interfaces.cli.actions.doctor.REACH_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        at(f"http://127.0.0.1:{silent.getsockname()[1]}/v1")
        done = pnyx("doctor", "--json")
    assert (done.code, host_finding(done)["ok"]) == (1, False)
    assert host_finding(done)["found"].startswith("cannot reach http://127.0.0.1:")
    assert host_finding(done)["found"].endswith(": no answer within 0.2 s")


def test_the_doctor_skips_a_provider_that_a_program_supplies(lab: ScriptedHost) -> None:
    with Path("lab.toml").open("a") as file:
        file.write('[providers.mine]\nkind = "own"\n')
    assert "-    provider mine: not checked: supplied by a program" in pnyx("doctor").out


def test_the_doctor_reports_a_database_whose_pages_are_damaged(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PNYX_DATABASE", "here.db")
    for n in range(3):
        assert pnyx("ask", f"Why, number {n}?", "-q").code == 0
    path = Path("here.db")
    for log in Path().glob("here.db-*"):
        log.unlink()  # a write-ahead log would mend the pages
    assert [f["ok"] for f in pnyx("doctor", "--json").json["findings"] if f["what"] == "database"] == [True]
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 4)
        file.write(bytes(size // 4))
    done = pnyx("doctor", "--json")
    (found,) = [f for f in done.json["findings"] if f["what"] == "database"]
    assert (done.code, found["ok"]) == (1, False)
    assert "is damaged" in found["found"] or "malformed" in found["found"]
    assert "***" not in found["found"]  # the name of the database, which SQLite puts above the faults


def test_the_doctor_names_the_runs_that_a_flipped_bit_damaged(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PNYX_DATABASE", "here.db")
    ask = ("ask", "-p", "single", "--json")
    damaged, whole = (pnyx(*ask, f"Why, after {n}? " + f"Reason {n}. " * 50).json["run_id"] for n in (1, 2))

    def database() -> dict[str, Any]:
        (found,) = [f for f in pnyx("doctor", "--json").json["findings"] if f["what"] == "database"]
        return dict(found)

    assert database()["ok"] is True
    with closing(sqlite3.connect("here.db")) as connection, connection:
        alone = (
            "SELECT id, content FROM contents WHERE id IN (SELECT content_id FROM content_uses"
            " GROUP BY content_id HAVING count(*) = 1 AND max(run_id) = ?) LIMIT 1"
        )
        id, content = connection.execute(alone, (damaged,)).fetchone()
        changed = bytearray(content)
        changed[-1] ^= 4  # in its checksum: within the frame, some bits have no meaning
        connection.execute("UPDATE contents SET content = ? WHERE id = ?", (bytes(changed), id))
    found = database()
    assert found["ok"] is False
    assert "is damaged: 1 of " in found["found"]
    assert found["found"].endswith(f"in 1 run: {damaged}")
    assert f"pnyx delete {damaged}" in found["fix"]
    done = pnyx("show", damaged)
    assert (done.code, "is damaged; restore the database from a backup" in done.err) == (1, True)
    assert pnyx("show", whole).code == 0
    assert pnyx("delete", damaged, "-y").code == 0
    assert database()["ok"] is True


def test_the_doctor_says_how_far_it_has_compared_a_large_database(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PNYX_DATABASE", "here.db")
    monkeypatch.setattr(doctor, "COMPARE_S", 0.0)
    monkeypatch.setattr(doctor, "PROGRESS_S", 0.0)
    monkeypatch.setattr(altered, "ROWS", 5)
    assert pnyx("ask", "Why?", "-q").code == 0
    done = pnyx("doctor")
    assert (done.code, "pnyx doctor --full" in done.out) == (0, True)
    done = pnyx("doctor", "--full")
    assert (done.code, "pnyx doctor --full" in done.out) == (0, False)
    assert "stored texts, runs and events compared so far" in done.err


def test_the_doctor_fails_for_a_host_that_cannot_be_connected_to_also_without_a_panel(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "socks5://127.0.0.1:9")
    Path("lab.toml").write_text('[providers.far]\nkind = "openai"\nbase_url = "https://far.invalid/v1"\n')
    far, panel = pnyx("doctor", "--json").json["findings"][-2:]
    assert (far["what"], far["ok"], panel["what"], panel["ok"]) == ("provider far", False, "panel", False)
    assert far["found"].startswith("cannot reach https://far.invalid/v1: SOCKS proxies are not supported")


def test_the_doctor_warns_of_a_disk_that_is_nearly_full(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PNYX_DATABASE", "here.db")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=150_000_000))
    assert pnyx("ask", "Why?", "-q").code == 0
    done = pnyx("doctor")
    assert done.code == 0
    assert "here.db, whose disk has only 150 MB left" in done.out
    assert "pnyx prune --older-than 90d" in done.out


@pytest.mark.parametrize(
    ("more", "key", "ready"),
    [
        ("", True, True),
        ("", False, False),
        ('[providers.other]\nkind = "openai"\napi_key_env = "OTHER_KEY"\n', True, False),
        ("[budget]\nrun_usd = 1.0\n", True, False),
        ("[budget]\nrun_usd = 1.0\nallow_unknown_price = true\n", True, True),
        (
            '[models."lab:beta"]\ninput_price = 1.0\noutput_price = 2.0\n[budget]\nday_usd = 1.0\n',
            True,
            False,
        ),
        ('[models."lab:alpha"]\ncontext = 100\n', True, True),
    ],
)
def test_the_doctor_is_ready_if_and_only_if_a_question_is_asked(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch, more: str, key: bool, ready: bool
) -> None:
    seats = ["lab:alpha", "lab:beta", "other:gamma" if "other" in more else "lab:gamma"]
    host = f'[providers.lab]\nkind = "openai"\nbase_url = "{lab.openai}"\napi_key_env = "LAB_KEY"\n'
    Path("lab.toml").write_text(f"{host}{more}[panel]\nseats = {seats}\n")
    if not key:
        monkeypatch.delenv("LAB_KEY")
    done, asked = pnyx("doctor", "--json"), pnyx("ask", "--quick", "Why?")
    assert (done.code, done.json["ready"], asked.code != 2) == (not ready, ready, ready), asked.err
    panel = done.json["findings"][-1]
    if "but no question is asked" in panel["found"]:
        assert asked.err.strip().removeprefix("pnyx: ") in panel["found"]
