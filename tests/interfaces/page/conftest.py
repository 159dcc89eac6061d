"""A server with scripted models, and its page in a browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.interfaces.conftest import CONFIG
from tests.support.browsing import Serve, Tab, chromium, serving
from tests.support.scripted import ScriptedHost


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
