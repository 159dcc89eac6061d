"""`pnyx doctor` and hosts: each is asked for its models with its key, in the way that calls go."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from tests.interfaces.conftest import CONFIG, KEY
from tests.interfaces.shell import Done, pnyx
from tests.support.scripted import ScriptedHost


def told(done: Done) -> dict[str, Any]:
    """What the doctor found of the host. The key is nowhere."""
    assert KEY not in done.out + done.err
    (found,) = [f for f in done.json["findings"] if f["what"] == "provider lab"]
    return dict(found)


def at(url: str) -> None:
    """Settings that name this address."""
    Path("lab.toml").write_text(CONFIG.format(url=url))


def test_the_doctor_asks_a_host_for_its_models_with_the_key(lab: ScriptedHost) -> None:
    assert told(pnyx("doctor", "--json"))["ok"] is True
    (headers,) = lab.listings
    assert headers["authorization"] == f"Bearer {KEY}"


def test_the_doctor_doubts_an_address_that_has_no_list_and_misses_its_version(lab: ScriptedHost) -> None:
    at(lab.url)
    done = pnyx("doctor", "--json")
    found = told(done)
    assert (done.code, found["ok"]) == (0, None)
    assert "HTTP 404" in found["found"]
    assert "is /v1 missing at its end?" in found["fix"]
    lines = pnyx("doctor").out
    assert f"warn provider lab: {lab.url} answers, but not with its models" in lines
    assert "a question can be asked; see what is marked warn" in lines


def test_the_doctor_does_not_miss_a_version_that_is_there(lab: ScriptedHost) -> None:
    lab.on("/models", status=404)
    assert told(pnyx("doctor", "--json"))["fix"] == "check its base_url; a host that lists none may be fine"


@pytest.mark.parametrize(
    ("status", "message"), [(401, f"wrong: {KEY}"), (403, "not you"), (400, "API key not valid")]
)
def test_the_doctor_names_the_variable_of_a_key_that_is_refused(
    lab: ScriptedHost, status: int, message: str
) -> None:
    lab.on("/models", status=status, message=message)
    done = pnyx("doctor", "--json")
    assert (done.code, told(done)["ok"]) == (1, False)
    assert f"refuses the key in $LAB_KEY: HTTP {status}" in told(done)["found"]
    assert told(done)["fix"].startswith("export LAB_KEY=")


def test_the_doctor_says_where_a_key_is_wanted_and_none_is_named(lab: ScriptedHost) -> None:
    text = Path("lab.toml").read_text().replace('api_key_env = "LAB_KEY"\n', "")
    Path("lab.toml").write_text(text)
    lab.on("/models", status=401)
    found = told(pnyx("doctor", "--json"))
    assert (found["ok"], "wants a key" in found["found"]) == (False, True)
    assert "api_key_env in [providers.lab]" in found["fix"]


@pytest.mark.parametrize(("status", "ok"), [(503, False), (429, None), (405, None)])
def test_the_doctor_tells_trouble_from_a_list_that_is_not_to_be_had(
    lab: ScriptedHost, status: int, ok: bool | None
) -> None:
    lab.on("/models", status=status)
    found = told(pnyx("doctor", "--json"))
    assert (found["ok"], f"HTTP {status}" in found["found"]) == (ok, True)
    assert found["fix"]


def test_the_doctor_warns_of_a_seat_whose_model_is_not_listed(lab: ScriptedHost) -> None:
    Path("lab.toml").write_text(Path("lab.toml").read_text().replace('"lab:gamma"]', '"lab:gama"]'))
    done = pnyx("doctor", "--json")
    assert (done.code, told(done)["ok"]) == (0, None)
    assert told(done)["found"].endswith("answers, but does not list gama")
    assert told(done)["fix"] == "did you mean gamma?"


@pytest.mark.parametrize(
    ("model", "listed"),
    [("claude-x", "claude-x-20250929"), ("small-latest", "small-2506"), ("tiny", "tiny:latest")],
)
def test_the_doctor_knows_a_model_by_the_name_that_stands_for_its_newest(
    lab: ScriptedHost, model: str, listed: str
) -> None:
    lab.models = (listed, "alpha", "beta")
    Path("lab.toml").write_text(Path("lab.toml").read_text().replace('"lab:gamma"]', f'"lab:{model}"]'))
    assert told(pnyx("doctor", "--json"))["ok"] is True


def test_the_doctor_goes_through_the_proxy_that_calls_go_through(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", lab.url)
    at("http://pnyx.invalid/v1")
    done = pnyx("doctor", "--json")
    assert (done.code, told(done)["ok"]) == (0, True)


def test_the_doctor_does_not_wait_for_a_host_that_says_nothing(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pnyx.interfaces.cli.actions.doctor.REACH_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        at(f"http://127.0.0.1:{silent.getsockname()[1]}/v1")
        done = pnyx("doctor", "--json")
    assert (done.code, told(done)["ok"]) == (1, False)
    assert "cannot be reached: no answer within 0.2 s" in told(done)["found"]


def test_the_doctor_passes_over_a_host_that_a_program_brings_along(lab: ScriptedHost) -> None:
    with Path("lab.toml").open("a") as file:
        file.write('[providers.mine]\nkind = "own"\n')
    assert "-    provider mine: is supplied by a program" in pnyx("doctor").out
