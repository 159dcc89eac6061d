"""The page under lost connections, reloads, keyboards, narrow screens and hostile text."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect

from tests.interfaces.conftest import CONFIG
from tests.support.browsing import Serve, Tab, serving
from tests.support.scripted import ScriptedHost

REPLY = "First it was weighed, and then it was found to be so.\n\nFinal answer: 42"
EXPECTED_ERRORS = ("net::ERR_", "status of 401")
HOSTILE = """<script>window.caught = "script"</script><img src=x onerror="window.caught = 'image'">
<iframe srcdoc="<script>parent.caught = 'frame'</script>"></iframe><svg onload="window.caught = 'svg'">
<style>body { display: none }</style><base href="//evil.example/"><form action="//evil.example/"></form>

[one](javascript:window.caught='link') [two](data:text/html,<script>1</script>) [three](vbscript:x)
<javascript:alert(1)> [good](https://good.example/ "title\\" onmouseover=\\"window.caught='title'")
![seen](http://evil.example/pixel.png) ![data](data:image/svg+xml,<svg/onload=alert(1)>)
http://plain.example/way [up](//evil.example/) [here](/v1/runs)

`<b onclick=x>code</b>` \u202etxet desrever\u202c and \u2066hidden\u2069 and {@html "<b>x</b>"} ${alert(1)}

Final answer: <img src=x onerror=window.caught='final'>"""
WATCH = """window.refused = [];
addEventListener('securitypolicyviolation', (event) => refused.push(event.blockedURI))"""
LINKS = "all => all.map((link) => [link.href, link.rel, link.target])"
FOCUSED = "(e => `${e.ariaLabel} ${e.id} ${e.innerText}`)(document.activeElement)"
FORBIDDEN = "img, iframe, script, style, form[action], base, object, [style*=url]"


def test_a_reload_during_a_reply_loses_and_repeats_nothing(
    tab: Tab, server: Serve, models: ScriptedHost
) -> None:
    reloaded = threading.Event()
    models.on("*", text=REPLY, drip=(200, 0.25), hurry=reloaded.is_set)
    run = tab.ask(protocol="voting")
    writing = tab.page.locator(".turn.writing .markdown")
    expect(writing.first).to_contain_text("First it was")
    tab.page.reload()
    expect(writing.first).to_contain_text("First it was")
    reloaded.set()
    expect(tab.verdict).to_be_visible()
    replies = [event for event in server.events(run) if event["type"] == "call_finished"]
    assert tab.page.locator(".turn .markdown").count() == len(replies)
    for text in tab.page.locator(".turn .markdown").all_inner_texts():
        assert (text.count("First it was weighed"), text.count("Final answer")) == (1, 1)


def test_a_view_rebuilt_from_the_stored_run_equals_the_live_one(tab: Tab) -> None:
    tab.ask(protocol="council")
    expect(tab.verdict).to_be_visible()
    expect(tab.page.locator(".glance")).to_be_visible()
    tab.page.wait_for_load_state("networkidle")
    live_text = tab.page.locator("article").inner_text()
    tab.page.reload()
    expect(tab.verdict).to_be_visible()
    expect(tab.page.locator("article")).to_have_text(live_text, use_inner_text=True)


def test_after_the_server_is_killed_and_restarted_the_page_reconnects_and_the_run_resumes(
    browser: Browser, models: ScriptedHost, tmp_path: Path
) -> None:
    config = CONFIG.format(url=models.openai)
    models.on("*", text=REPLY, drip=(200, 0.3))
    with Tab.open(browser) as tab:
        tab.expected += EXPECTED_ERRORS
        with serving(tmp_path, config, named="ada") as server:
            tab.page.goto(server.link)
            run = tab.ask()
            expect(tab.page.locator(".turn.writing")).to_be_visible()
            server.kill()
            expect(tab.page.get_by_text("Reconnecting")).to_be_visible()
        models.on("*", text=REPLY)
        with serving(tmp_path, config, port=server.port, key=server.key) as server:
            expect(tab.page.get_by_role("heading", name="Paused")).to_be_visible()
            expect(tab.page.get_by_text("Reconnecting")).to_be_hidden()
            tab.page.get_by_role("button", name="Resume").click()
            expect(tab.page.get_by_role("heading", name="Consensus")).to_be_visible()
            keys = [event["key"] for event in server.events(run) if event["type"] == "call_finished"]
        assert len(keys) == len(set(keys)) == tab.page.locator(".turn.answered").count()
        tab.check(server)


def test_after_a_restart_with_a_new_key_the_page_asks_for_it_and_keeps_the_address(
    browser: Browser, models: ScriptedHost, tmp_path: Path
) -> None:
    config = CONFIG.format(url=models.openai)
    with Tab.open(browser) as tab:
        tab.expected += EXPECTED_ERRORS
        with serving(tmp_path, config) as server:
            tab.page.goto(server.link)
            tab.ask(protocol="voting")
            expect(tab.verdict).to_be_visible()
        with serving(tmp_path, config, port=server.port) as server:
            tab.page.reload()
            tab.page.get_by_label("Your key").fill(server.key)
            tab.page.get_by_role("button", name="Sign in").click()
            expect(tab.verdict).to_be_visible()


def test_the_link_of_a_restarted_server_signs_in_the_tab_that_is_open(
    browser: Browser, models: ScriptedHost, tmp_path: Path
) -> None:
    """Also while a request with the key before is still to be refused."""
    config = CONFIG.format(url=models.openai)
    held: list[Route] = []
    with Tab.open(browser) as tab:
        tab.expected += EXPECTED_ERRORS
        with serving(tmp_path, config) as server:
            # The last request by itself; sent to the next server, it would bring up the form for a key.
            with tab.page.expect_response("**/v1/plan"):
                tab.page.goto(server.link)
            expect(tab.question).to_be_visible()
            old = f"Bearer {server.key}"
        with serving(tmp_path, config, port=server.port) as server:

            def hold(route: Route) -> None:
                stale = route.request.headers["authorization"] == old
                held.append(route) if stale else route.continue_()

            loading = re.compile(r"/v1/runs(\?|$)")
            tab.page.route(loading, hold)
            with tab.page.expect_request(loading):
                tab.page.get_by_role("link", name="Runs").click()
            tab.page.goto(server.link)  # in the same document, since only the fragment differs
            expect(tab.question).to_be_visible()
            expect(tab.page).to_have_url(re.compile("/#/$"))
            assert held
            for route in held:
                with tab.page.expect_response(loading) as refused:
                    route.continue_()
                assert refused.value.status == 401
            tab.ask(protocol="voting")
            expect(tab.verdict).to_be_visible()


def test_a_link_with_a_key_signs_in_from_a_shared_run_and_what_is_no_key_leaves_the_address_too(
    tab: Tab, server: Serve
) -> None:
    tab.expected += EXPECTED_ERRORS
    tab.page.goto(f"{server.url}/#/shared/unknown")
    expect(tab.page.get_by_text("A shared run, read only")).to_be_visible()
    tab.page.goto(f"{server.url}/#key=")
    expect(tab.question).to_be_visible()
    expect(tab.page).to_have_url(re.compile("/#/$"))
    tab.page.goto(f"{server.url}/#/shared/unknown")
    tab.page.goto(server.link)
    expect(tab.question).to_be_visible()
    expect(tab.page).to_have_url(re.compile("/#/$"))


def test_a_run_stopped_by_the_budget_of_a_day_says_what_to_raise_and_asks_for_no_amount(
    browser: Browser, models: ScriptedHost, tmp_path: Path
) -> None:
    config = CONFIG.format(url=models.openai) + "\n[budget]\nday_usd = 0.0001\n"
    with serving(tmp_path, config) as server, Tab.open(browser) as tab:
        tab.page.goto(server.link)
        tab.ask()
        expect(tab.page.get_by_role("heading", name="Paused")).to_be_visible()
        paused = tab.page.locator("#verdict")
        expect(paused).to_contain_text("Daily budget too small")
        expect(paused).to_contain_text("Raise budget.day_usd to at least")
        expect(paused.get_by_label("New total budget")).to_have_count(0)
        expect(paused.get_by_role("button", name="Resume")).to_be_enabled()
        # Nothing was said that could be seen at a glance.
        expect(tab.page.get_by_role("heading", name="Debate", exact=True)).to_be_visible()
        expect(tab.page.locator(".glance")).to_have_count(0)


def test_hostile_text_does_nothing(browser: Browser, server: Serve, models: ScriptedHost) -> None:
    models.on("*", text=HOSTILE)
    models.on("gamma", status=400, message=HOSTILE)
    with Tab.open(browser) as tab:
        tab.page.add_init_script(WATCH)
        tab.page.goto(server.link)
        tab.ask(HOSTILE, "voting")
        expect(tab.verdict).to_be_visible()
        page = tab.page
        assert page.evaluate("[window.caught, refused]") == [None, []]
        article = page.locator("article")
        assert article.locator(FORBIDDEN).count() == 0
        links = article.locator(".markdown a[href]").evaluate_all(LINKS)
        assert {href for href, _, _ in links} == {"http://plain.example/way", "https://good.example/"}
        assert {(rel, target) for _, rel, target in links} == {("noopener noreferrer nofollow", "_blank")}
        handlers = "all => all.flatMap((e) => e.getAttributeNames()).filter((name) => name.startsWith('on'))"
        assert article.locator("*").evaluate_all(handlers) == []
        shown = article.inner_text()
        assert not set("\u202e\u202c\u2066\u2069") & set(shown)
        assert "<script>" in shown
        assert "[picture: seen]" in shown
        page.get_by_role("link", name="Runs").click()
        page.locator(".run-row").first.wait_for()
        assert page.evaluate("[window.caught, refused]") == [None, []]
        tab.check(server)


def test_the_keyboard_is_enough(browser: Browser, server: Serve) -> None:
    with Tab.open(browser) as tab:
        page, keys = tab.page, tab.page.keyboard

        def focus(name: str) -> None:
            for _ in range(40):
                keys.press("Tab")
                if name in page.evaluate(FOCUSED):
                    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
                    assert outline != "none", name
                    return
            raise AssertionError(f"{name} is not reached")

        page.goto(f"{server.url}/")
        page.get_by_label("Your key").wait_for()
        focus("key")
        keys.type(server.key)
        keys.press("Enter")
        expect(tab.question).to_be_focused()
        keys.type("Why with keys?")
        focus("protocol")
        keys.type("voting")
        focus("Limits and options")
        keys.press("Enter")
        tab.question.focus()
        keys.press("Control+Enter")
        expect(tab.verdict).to_be_visible()
        stage = page.locator("details.stage").first
        expect(stage).to_have_attribute("open", "")
        focus("Right")
        keys.press("Enter")
        expect(tab.verdict).to_contain_text("Saved: right")
        focus("Round 1")
        keys.press("Space")
        expect(stage).not_to_have_attribute("open", "")
        tab.check(server)


def test_phases_and_the_verdict_are_announced_and_tokens_are_not(
    browser: Browser, server: Serve, models: ScriptedHost
) -> None:
    models.on("*", text=REPLY, drip=(100, 0.05))
    with Tab.open(browser) as tab:
        tab.page.add_init_script(
            "window.announced = []; new MutationObserver((all) => all.forEach(({target}) => {"
            " const live = (target.nodeType === 3 ? target.parentElement : target).closest('[aria-live]');"
            " if (live && announced.at(-1) !== live.textContent) announced.push(live.textContent); }))"
            ".observe(document, {subtree: true, childList: true, characterData: true})"
        )
        tab.page.goto(server.link)
        tab.ask(protocol="voting")
        expect(tab.verdict).to_be_visible()
        announced = [text for text in tab.page.evaluate("announced") if text]
        assert announced[-1] == "Consensus. 42"
        assert set(announced[:-1]) <= {"Round 1: vote", "Round 1: judge", "Round 1: complete"}
        assert len(announced) >= 3


@pytest.mark.parametrize("width", [320, 1280])
def test_nothing_makes_the_page_scroll_sideways(
    browser: Browser, server: Serve, models: ScriptedHost, width: int
) -> None:
    table = "| " + " | ".join("column" for _ in range(20)) + " |\n" + "|---" * 20 + "|\n"
    models.on("*", text=f"{'long' * 200}\n\n`{'code' * 100}`\n\n{table}\nFinal answer: {'x' * 300}")
    with Tab.open(browser, width=width) as tab:
        page = tab.page
        page.goto(server.url)
        page.get_by_label("Your key").wait_for()
        assert not tab.scrolls_sideways()
        page.goto("about:blank")
        page.goto(server.link)
        page.get_by_text("Limits and options").click()
        assert not tab.scrolls_sideways()
        for model in ("alpha", "beta", "gamma"):
            page.get_by_label(f"add a seat of lab:{model}").click(click_count=3)
        tab.ask("Why" * 150, "voting")
        expect(tab.verdict).to_be_visible()
        expect(page.locator(".seat")).to_have_count(12)
        page.locator("details.stage > summary").first.click()
        assert not tab.scrolls_sideways()
        page.get_by_role("link", name="Runs").click()
        page.locator(".run-row").first.wait_for()
        assert not tab.scrolls_sideways()


@pytest.mark.parametrize("still", [True, False])
def test_with_reduced_motion_nothing_moves(
    browser: Browser, server: Serve, models: ScriptedHost, still: bool
) -> None:
    models.on("*", text=REPLY, drip=(200, 0.4))
    with Tab.open(browser, still=still) as tab:
        tab.page.goto(server.link)
        run = tab.ask(protocol="voting")
        expect(tab.page.locator(".turn.writing").first).to_be_visible()
        assert (tab.page.evaluate("document.getAnimations().length") == 0) is still
        tab.page.get_by_role("button", name="Cancel").click()
        expect(tab.verdict).to_be_visible()
        assert server.get(f"/v1/runs/{run}")["status"] == "cancelled"
