"""With the keyboard alone: what opens can be closed with Escape, and the focus is never lost."""

from __future__ import annotations

import threading
import time

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.support.browsing import Serve, Tab
from tests.support.scripted import ScriptedHost


def press(button: Locator, key: str = "Enter") -> None:
    button.focus()
    button.press(key)


def test_parts_of_a_run_give_the_focus_back(tab: Tab, models: ScriptedHost) -> None:
    page, keys = tab.page, tab.page.keyboard
    tab.ask(protocol="voting")
    expect(tab.verdict).to_be_visible()
    for name, first in (("Title and tags", page.get_by_label("Title, shown")), ("Delete", None)):
        opener = page.get_by_role("button", name=name).first
        press(opener)
        expect(first or page.get_by_role("button", name="Keep")).to_be_focused()
        keys.press("Escape")
        expect(opener).to_be_focused()
        expect(opener).to_have_attribute("aria-expanded", "false")
    press(page.get_by_role("button", name="Share", exact=True))
    make = page.get_by_role("button", name="Make a link")
    press(make)
    press(page.get_by_role("button", name="Revoke"))
    expect(page.get_by_text("no longer opens")).to_be_visible()
    expect(make).to_be_focused()
    right = page.get_by_role("button", name="Right", exact=True)
    press(right)
    press(page.get_by_role("button", name="Undo"))
    expect(right).to_be_focused()


def test_who_cancels_a_run_goes_on_from_its_end(tab: Tab, server: Serve, models: ScriptedHost) -> None:
    """Also if the page draws replies between the key and the end."""
    pressed = threading.Event()
    models.on("*", hang=True)
    models.on("alpha", until=pressed.is_set)
    run = tab.ask(protocol="voting")

    def cancel_late(route: Route) -> None:
        pressed.set()
        while server.get(f"/v1/runs/{run}")["usage"]["calls"] < 1:
            time.sleep(0.05)
        time.sleep(0.3)  # for the page to draw it
        route.continue_()

    tab.page.route("**/cancel", cancel_late)
    press(tab.page.get_by_role("button", name="Cancel", exact=True))
    expect(tab.page.get_by_role("heading", name="Cancelled")).to_be_visible()
    expect(tab.verdict).to_be_focused()


@pytest.mark.parametrize("order", ["in steps", "in one step", "paused again", "refused"])
def test_who_resumes_a_run_goes_on_in_its_page(
    tab: Tab, server: Serve, models: ScriptedHost, order: str
) -> None:
    """Also if the resumed run has ended before the reply to the request, so that its state comes at once."""
    page = tab.page
    page.get_by_text("Limits and options").click()
    page.get_by_label("Budget").fill("0.000001")
    run = tab.ask()
    resume = page.get_by_role("button", name="Resume")
    resume.wait_for()

    def reply_late(route: Route) -> None:
        reply = route.fetch()
        while server.get(f"/v1/runs/{run}")["status"] == "running":
            time.sleep(0.05)
        route.fulfill(response=reply)

    def refuse(route: Route) -> None:
        route.fulfill(status=503, json={"error": {"type": "busy", "message": "Not now."}})

    tab.expected.append("503")
    if order == "in steps":
        models.on("*", hang=True)
    else:
        page.route("**/resume", refuse if order == "refused" else reply_late)
    if order == "paused again":
        page.get_by_label("New total budget").fill("0.000002")
    press(resume)
    if order == "in steps":
        expect(page.get_by_role("button", name="Cancel", exact=True)).to_be_visible()
    elif order == "in one step":
        expect(tab.verdict).to_contain_text("It is so.")
    elif order == "refused":
        expect(page.get_by_role("alert")).to_contain_text("Not now.")
    expect(resume if order == "refused" else page.locator("main")).to_be_focused()


def test_what_is_removed_gives_the_focus_to_its_neighbour(tab: Tab, models: ScriptedHost) -> None:
    page = tab.page
    press(page.get_by_label("remove a seat of lab:beta"))
    expect(page.get_by_label("remove a seat of lab:gamma")).to_be_focused()
    tab.ask("What is deleted with keys?", protocol="voting")
    expect(tab.verdict).to_be_visible()
    page.get_by_role("link", name="Runs").click()
    press(page.get_by_role("checkbox", name="mark run").first, "Space")
    delete = page.get_by_role("group", name="Marked runs").get_by_role("button", name="Delete")
    press(delete)
    expect(page.get_by_role("button", name="Keep")).to_be_focused()
    page.keyboard.press("Escape")
    expect(delete).to_be_focused()
    press(delete)
    press(page.get_by_role("alertdialog").get_by_role("button", name="Delete"))
    expect(page.get_by_text("What is deleted with keys?")).to_have_count(0)
    expect(page.locator("main")).to_be_focused()


def test_who_follows_a_run_is_shown_its_verdict(tab: Tab, models: ScriptedHost) -> None:
    models.on("*", text="It is so, at length.\n\n" * 60 + "Final answer: 42")
    tab.ask(protocol="consensus")
    expect(tab.verdict).to_be_visible()
    expect(tab.verdict.locator("h2")).to_be_in_viewport()
