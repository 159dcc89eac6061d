"""The states of the page: no violation of accessibility rules, no command, nothing overflows.

`make screenshots` checks every state; here are those that differ in what they are made of.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from tests.interfaces.page.states import STATES, Scene, problems
from tests.support.browsing import Serve, Tab
from tests.support.scripted import ScriptedHost

TYPICAL = (
    *("key-refused", "ask-options", "ask-without-models", "model-list"),
    *("live", "council", "formulas", "failed", "paused", "missing"),
    *("runs-marked", "compare", "costs", "calibration"),
)


@pytest.mark.parametrize("name", TYPICAL)
def test_a_state_of_the_page(name: str, browser: Browser, server: Serve, models: ScriptedHost) -> None:
    with Tab.open(browser, width=820, still=True) as tab:
        tab.page.goto(server.link)
        tab.question.wait_for()
        STATES[name](Scene(tab, server, models))
        assert problems(tab) == []
        tab.check(server)


def test_what_the_rules_forbid_is_found(tab: Tab) -> None:
    tab.page.evaluate(
        "document.querySelector('main').innerHTML = '<img src=x><textarea></textarea>Run: pnyx resume abc'"
    )
    found = problems(tab)
    assert any(one.startswith("image-alt") for one in found)
    assert "a command: pnyx resume" in found
    assert any(one.startswith("a text from right to left") for one in found)
    assert "0 headings of level 1" in found
    tab.errors.clear()
