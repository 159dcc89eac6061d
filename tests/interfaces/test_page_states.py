"""Every state of the page: no violation of accessibility rules, no command, nothing overflows."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser

from tests.interfaces.page_states import STATES, Scene
from tests.support.browsing import Serve, Tab
from tests.support.scripted import ScriptedHost
from tests.support.sources import ROOT

AXE = (ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8")
RUN = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations
    .map((one) => `${one.id}: ${one.nodes.map((node) => node.html).slice(0, 3).join(" | ")}`)"""
TERMINAL = re.compile(
    r"\bpnyx (?!serve_)[a-z]+|\bmake [a-z]+|Traceback|\w+Error\b|\w+Exception\b|Errno|ssl:default"
)


@pytest.mark.parametrize("name", STATES)
def test_a_state_of_the_page(name: str, browser: Browser, server: Serve, models: ScriptedHost) -> None:
    with Tab.open(browser, width=820, still=True) as tab:
        tab.page.goto(server.link)
        tab.question.wait_for()
        STATES[name](Scene(tab, server, models))
        tab.page.evaluate(AXE)
        assert tab.page.evaluate(RUN) == []
        assert not tab.scrolls_sideways()
        assert not TERMINAL.findall(tab.page.locator("main").inner_text())
        assert tab.page.locator("h1").count() == 1
        tab.check(server)
