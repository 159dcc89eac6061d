"""Sharing a run on the page: the link, what it shows to people without a key, and its end."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.interfaces.page.states import problems
from tests.support.browsing import Serve, Tab
from tests.support.scripted import ScriptedHost

LONG = "\n\n".join(["It is so, for a reason that takes a whole line to write down."] * 30)


@pytest.fixture
def visitor(browser: Browser, server: Serve) -> Iterator[Tab]:
    """Somebody without a key."""
    with Tab.open(browser, width=820) as tab:
        yield tab
        tab.check(server)


def make_link(tab: Tab) -> str:
    page = tab.page
    page.get_by_role("button", name="Share", exact=True).click()
    page.get_by_label("Valid for").select_option("one year")
    page.get_by_role("button", name="Make a link").click()
    link = page.get_by_label("The new link, shown only now")
    expect(link).to_be_visible()
    return link.input_value()


def test_a_link_shows_the_run_and_nothing_else_until_it_is_revoked(
    tab: Tab, visitor: Tab, server: Serve
) -> None:
    run = tab.ask("Is it so?", "voting")
    expect(tab.verdict).to_be_visible()
    link = make_link(tab)
    assert link.startswith(f"{server.url}/#/shared/pnyx_share_")
    assert problems(tab) == []
    page = visitor.page
    page.goto(link)
    expect(visitor.verdict).to_contain_text("42")
    expect(page.get_by_role("heading", name="Is it so?")).to_be_visible()
    expect(page.locator(".glance")).to_be_visible()
    expect(page.get_by_text("This link shows one run, and ends on")).to_be_visible()
    for name in ("Share", "Ask again", "Right", "Cancel", "Export JSON", "Sign out"):
        assert page.get_by_role("button", name=name, exact=True).count() == 0
    assert page.get_by_role("navigation", name="Pages").count() == 0
    assert page.get_by_label("Ask a further question").count() == 0
    assert page.get_by_role("link").evaluate_all("all => all.map((one) => one.hash)") == ["#main"]
    assert problems(visitor) == []
    addresses = [url.partition(server.url)[2] for url in visitor.requests if "/v1/" in url]
    assert addresses
    assert all(path.startswith("/v1/shared") for path in addresses)
    assert not [path for path in addresses if run in path or "pnyx_share" in path]
    assert server.key not in page.content()
    assert page.evaluate("Object.keys(sessionStorage).length + Object.keys(localStorage).length") == 0
    with page.expect_download() as saved:
        page.get_by_role("button", name="Export HTML").click()
    assert "Is it so?" in saved.value.path().read_text()
    tab.page.get_by_role("button", name="Revoke").click()
    expect(tab.page.get_by_text("The link no longer opens this run.")).to_be_visible()
    visitor.expected.append("status of 410")
    for _ in range(120):
        page.wait_for_timeout(500)
        page.reload()
        page.locator("[role=alert], .verdict").first.wait_for()
        if page.get_by_role("alert").count():
            break
    expect(page.get_by_role("alert")).to_contain_text("This link was revoked")
    assert problems(visitor) == []


def test_a_running_run_is_followed_through_its_link(
    tab: Tab, visitor: Tab, server: Serve, models: ScriptedHost
) -> None:
    held = threading.Event()
    models.on("*", text=LONG, drip=(400, 0.3), hurry=held.is_set)
    run = tab.ask("Will it be so?", "voting")
    visitor.page.goto(make_link(tab))
    expect(visitor.page.locator(".turn.writing").first).to_be_visible()
    assert visitor.page.get_by_role("button", name="Cancel").count() == 0
    held.set()
    expect(visitor.verdict).to_be_visible()
    assert server.get(f"/v1/runs/{run}")["status"] != "cancelled"


def test_an_address_that_is_not_complete_says_so(visitor: Tab, server: Serve) -> None:
    visitor.expected.append("status of 401")
    visitor.page.goto(f"{server.url}/#/shared/pnyx_share_0")
    expect(visitor.page.get_by_role("alert")).to_contain_text("Check that its address is complete")
    assert problems(visitor) == []
