"""A panel of three scripted models, and an empty working folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.packages import Install, installing
from tests.support.scripted import ScriptedHost

CONFIG = """
[providers.lab]
kind = "openai"
base_url = "{url}"
api_key_env = "LAB_KEY"
[models."lab:alpha"]
input_price = 1.0
output_price = 4.0
[models."lab:beta"]
input_price = 1.0
output_price = 2.0
[models."lab:gamma"]
input_price = 0.5
output_price = 1.0
[panel]
seats = ["lab:alpha", "lab:beta", "lab:gamma"]
[run]
retries = 0
[consensus]
rounds = 1
"""
KEY = "sk-planted-0123456789"


@pytest.fixture
def lab(host: ScriptedHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedHost:
    """The scripted host, configured as provider `lab`."""
    (tmp_path / "lab.toml").write_text(CONFIG.format(url=host.openai))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PNYX_CONFIG", "lab.toml")
    monkeypatch.setenv("LAB_KEY", KEY)
    return host


@pytest.fixture
def install(lab: ScriptedHost, tmp_path: Path) -> Iterator[Install]:
    """Installs packages until the test ends; the command line uses the provider `lab`."""
    with installing(tmp_path / "site") as install:
        yield install
