"""A panel of three scripted models, and an empty working folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.support.browsing import Serve, Tab, chromium, serving
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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ScriptedHost, Serve]]:
    """One server per module, because starting one takes longer than a test of its page."""
    with (
        ScriptedHost() as host,
        serving(tmp_path_factory.mktemp("serve"), CONFIG.format(url=host.openai)) as server,
    ):
        yield host, server


@pytest.fixture
def models(shared: tuple[ScriptedHost, Serve]) -> Iterator[ScriptedHost]:
    """The host of that server; scripts apply to the current test only."""
    host, _ = shared
    with host.scripted():
        host.on("*", text="It is so.\n\nFinal answer: 42")
        yield host


@pytest.fixture
def server(shared: tuple[ScriptedHost, Serve], models: ScriptedHost) -> Serve:
    return shared[1]


@pytest.fixture
def tab(browser: Browser, server: Serve) -> Iterator[Tab]:
    """Signed in. Nothing may have gone wrong in it by the end, and nobody else have been asked."""
    with Tab.open(browser) as tab:
        tab.page.goto(server.link)
        tab.question.wait_for()
        yield tab
        tab.check(server)
