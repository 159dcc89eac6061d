"""Screenshots of the page in its states, with a scripted panel.

`python -m tests.interfaces.pictures FOLDER [wide|dark|narrow|narrow-dark]`; docs/page.png is `wide-live.png`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser

from tests.interfaces.conftest import CONFIG
from tests.support.browsing import Serve, Tab, chromium, serving
from tests.support.scripted import ScriptedHost

__all__ = ["main"]

QUESTION = "Should a two-person startup self-host PostgreSQL?"
PROPOSAL = """**Use a managed database** until someone is paid to operate one.

1. Backups, failover and upgrades are about *four hours a month* of work that brings in no customer.
2. A managed instance costs `$60` to `$120` a month: less than one of those hours.
3. Keep the way out open: plain PostgreSQL, no extensions of the provider's own, a nightly `pg_dump`.

| | managed | self-hosted |
|---|---|---|
| per month | $90 | $25 + 4 h |
| recovery, tested | yes | if you do it |

Final answer: no"""
FLAW = (
    "The four hours are an average of quiet months. The cost that matters is the **one night** on which a "
    "disk fills, and that one is not in the table. Say what a restore takes, and who does it while the "
    "other one sleeps."
)
OTHER = """A single small server with continuous archiving gives the same recovery for a third of the price.

- WAL archiving to object storage is an afternoon of work.
- Restores can be rehearsed by a timer every Sunday.

What is compared is a tested service with an *untested* one: that is not the choice at hand."""


def main(folder: Path, only: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home, ScriptedHost() as host:
        host.on("alpha", text=PROPOSAL)
        host.on("beta", text=FLAW)
        host.on("gamma", text=OTHER)
        with serving(Path(home), CONFIG.format(url=host.openai)) as server, chromium() as browser:
            for name, width, dark in (
                ("wide", 1280, False),
                ("dark", 1280, True),
                ("narrow", 360, False),
                ("narrow-dark", 360, True),
            ):
                if only not in ("", name):
                    continue
                _states(browser, server, host, folder, name, width, dark)


def _states(
    browser: Browser, server: Serve, host: ScriptedHost, folder: Path, name: str, width: int, dark: bool
) -> None:
    def take(state: str, whole: bool = True) -> None:
        tab.page.screenshot(path=folder / f"{name}-{state}.png", full_page=whole)

    def ask(protocol: str, **with_: str) -> None:
        page.goto(f"{server.url}/#/")
        page.get_by_label("What should the panel decide?").fill(QUESTION)
        page.get_by_label("Protocol").select_option(protocol)
        for label, value in with_.items():
            page.get_by_label(label.capitalize()).fill(value)
        page.get_by_role("button", name="Ask the panel").click()

    with Tab.open(browser, width, 860, dark, still=True) as tab:
        page = tab.page
        page.goto(server.url)
        take("signin")
        page.goto("about:blank")
        page.goto(server.link)
        page.get_by_label("What should the panel decide?").wait_for()
        page.locator(".estimate", has_text="call").wait_for()
        take("ask", False)
        page.get_by_text("Limits and options").click()
        take("options")
        page.get_by_role("link", name="Runs").click()
        page.get_by_role("heading", name="Runs").wait_for()
        page.wait_for_timeout(300)
        take("runs-first")
        calls = len(host.requests("alpha"))
        host.on("alpha", call=range(calls + 2, calls + 9), text=PROPOSAL, drip=(700, 0.35))
        host.on("beta", text=FLAW, drip=(300, 0.5))
        host.on("gamma", text=OTHER, drip=(400, 0.5))
        ask("consensus")
        page.get_by_text("writing").first.wait_for()
        page.wait_for_timeout(2600)
        take("live")
        page.locator("section.verdict").wait_for(timeout=60000)
        page.evaluate("scrollTo(0, 0)")
        take("finished")
        for model, text in (("alpha", PROPOSAL), ("beta", FLAW), ("gamma", OTHER)):
            host.on(model, text=text)
        host.on("gamma", status=400, message="the model is overloaded")
        ask("voting")
        page.locator("section.verdict").wait_for(timeout=60000)
        take("dropped")
        host.on("beta", status=400, message="no such model")
        ask("council")
        page.get_by_role("heading", name="Failed").wait_for(timeout=60000)
        take("failed")
        for model, text in (("alpha", PROPOSAL), ("beta", FLAW), ("gamma", OTHER)):
            host.on(model, text=text)
        page.goto(f"{server.url}/#/")
        page.get_by_label("What should the panel decide?").fill(QUESTION)
        page.get_by_text("Limits and options").click()
        page.get_by_label("Budget").fill("0.02")
        page.get_by_role("button", name="Ask the panel").click()
        page.get_by_role("heading", name="Paused").wait_for(timeout=60000)
        take("paused")
        page.get_by_role("link", name="Runs").click()
        page.locator(".list li").first.wait_for()
        take("runs")
        page.goto(f"{server.url}/#/runs/nothing")
        page.get_by_role("alert").wait_for()
        take("missing")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:3])
