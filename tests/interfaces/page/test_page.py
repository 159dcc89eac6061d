"""The page in Chromium, on a real server: ask, follow, read the verdict, give feedback."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browsing import Serve, Tab
from tests.support.scripted import ScriptedHost

UNKNOWN = "the server responded with a status of 401"


def test_the_link_signs_in_and_its_key_is_removed_from_the_address(tab: Tab, server: Serve) -> None:
    page = tab.page
    assert server.key
    assert page.url == f"{server.url}/#/"
    assert page.evaluate("Object.values(sessionStorage)") == [server.key]
    assert page.evaluate("localStorage.length + document.cookie.length") == 0
    assert page.evaluate("history.length") <= 2
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Your key")).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0


def test_without_a_key_the_page_asks_for_one_and_refuses_a_wrong_one(browser: Browser, server: Serve) -> None:
    with Tab.open(browser) as tab:
        tab.expected.append(UNKNOWN)
        tab.page.goto(f"{server.url}/#/runs")
        for key in ("pnyx_wrong", server.key):
            tab.page.get_by_label("Your key").fill(key)
            tab.page.get_by_label("Your key").press("Enter")
            if key != server.key:
                expect(tab.page.get_by_role("alert")).to_contain_text("does not know this key")
                assert tab.page.evaluate("sessionStorage.length") == 0
        expect(tab.page.get_by_role("heading", name="Runs")).to_be_visible()
        tab.check(server)


def test_a_run_is_followed_and_ends_in_a_verdict(tab: Tab, server: Serve, models: ScriptedHost) -> None:
    text = "**It is so**, for three reasons that are given here.\n\nFinal answer: 42"
    # The rest of a reply comes without pauses once its middle has been seen.
    seen: list[bool] = []
    models.on("*", text=text, drip=(600, 1.5), hurry=lambda: bool(seen))
    run = tab.ask("Why is it so?", "voting")
    page = tab.page
    seats = page.get_by_role("group", name="Seats").get_by_role("region")
    expect(seats).to_have_count(3)
    writing = page.locator(".turn.writing")
    expect(writing).to_have_count(3)
    expect(writing.first.locator("strong")).to_have_text("It is so")
    assert "Final answer" not in writing.first.inner_text()
    seen.append(True)
    expect(page.locator('[aria-current="step"]')).to_contain_text("vote")
    expect(tab.verdict).to_be_visible(timeout=30_000)
    result = server.get(f"/v1/runs/{run}")
    expect(tab.verdict.get_by_role("heading", name="Consensus")).to_be_visible()
    expect(tab.verdict.locator(".final")).to_contain_text("42")
    facts = dict(
        zip(*(tab.verdict.locator(f".facts {part}").all_inner_texts() for part in ("dt", "dd")), strict=True)
    )
    assert facts["Agreement"].split("\n") == ["3 of 3 seats agree", "3 of 3 models"]
    assert (facts["Objections"].strip(), facts["Confidence"].strip()) == (
        "no objection stands",
        "not calibrated",
    )
    assert (result["rigor"], result["confidence"], "Rigor" in facts) == (None, None, False)
    assert f"{result['usage']['output_tokens']} out" in facts["Tokens"]
    assert f"{result['usage']['calls']} calls" in facts["Cost"]
    assert page.locator(".turn").count() == result["usage"]["calls"]


def test_the_form_becomes_the_request(tab: Tab, server: Serve) -> None:
    page = tab.page
    page.get_by_label("Protocol").select_option("consensus")
    page.get_by_role("radio", name="deep").check()
    page.get_by_label("add a seat of lab:beta").click()
    page.get_by_label("remove a seat of lab:gamma").click()
    page.get_by_label("Add a model").fill("lab:alpha")
    page.get_by_label("Add a model").press("Enter")
    page.get_by_text("Limits and options").click()
    page.get_by_label("Rounds").fill("1")
    page.get_by_label("Budget").fill("0.5")
    page.get_by_label("Deadline").fill("90")
    start = server.events(tab.ask())[0]
    assert sorted(seat["model"] for seat in start["seats"]) == ["lab:alpha"] * 2 + ["lab:beta"] * 2
    assert (start["options"]["rounds"], start["options"]["challengers"]) == (1, 4)
    assert (start["budget_usd"], start["deadline_s"]) == (0.5, 90)


def test_the_form_shows_calls_and_cost_in_advance(tab: Tab, server: Serve) -> None:
    page, estimate = tab.page, tab.page.locator(".estimate")
    page.get_by_label("Protocol").select_option("consensus")
    expect(estimate).to_have_text(re.compile(r"^4 calls, about \$0\.\d+, at most \$0\.\d+$"))
    page.get_by_role("radio", name="deep").check()
    expect(estimate).to_have_text(re.compile(r"^\d+ to \d+ calls, about \$\d+\.\d+, at most \$\d+\.\d+$"))
    page.get_by_role("radio", name="quick").check()
    expect(estimate).to_have_text(re.compile(r"^4 calls, about \$0\.\d+, at most \$0\.\d+$"))
    page.get_by_label("Add a model").fill("lab:odd")
    page.get_by_label("Add a model").press("Enter")
    expect(estimate).to_have_text("4 calls, cost unknown")
    page.get_by_label("remove a seat of lab:odd").click()
    expect(estimate).to_contain_text("at most")
    usage = server.get(f"/v1/runs/{tab.ask()}?")["usage"]
    assert usage["calls"] <= 4


def test_a_refused_request_shows_the_reason_and_keeps_the_question(tab: Tab) -> None:
    tab.expected.append("status of 400")
    tab.page.get_by_label("Add a model").fill("nowhere:model")
    tab.page.get_by_role("button", name="Add", exact=True).click()
    tab.question.fill("Why?")
    tab.page.get_by_role("button", name="Ask the panel").click()
    expect(tab.page.get_by_role("alert")).to_contain_text("No provider 'nowhere'")
    expect(tab.question).to_have_value("Why?")


def test_a_run_out_of_budget_pauses_and_resumes_with_a_larger_one(tab: Tab, server: Serve) -> None:
    page = tab.page
    page.get_by_text("Limits and options").click()
    page.get_by_label("Budget").fill("0.003")
    run = tab.ask()
    expect(page.locator("#verdict")).to_contain_text("Budget too small: the next call may cost up to $")
    before = len(server.events(run))
    message = server.get(f"/v1/runs/{run}?")["detail"]["message"]
    expect(page.get_by_label("New total budget")).to_have_value(f"{float(message.split('--budget ')[1]):g}")
    page.get_by_label("New total budget").fill("1")
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("heading", name="Consensus")).to_be_visible()
    assert len(server.events(run)) > before
    keys = [event["key"] for event in server.events(run) if event["type"] == "call_finished"]
    assert page.locator(".turn.answered").count() == len(keys) == len(set(keys))


def test_a_run_can_be_cancelled(tab: Tab, server: Serve, models: ScriptedHost) -> None:
    models.on("*", text="Never.", delay=60)
    run = tab.ask()
    tab.page.get_by_role("button", name="Cancel").click()
    expect(tab.page.get_by_role("heading", name="Cancelled")).to_be_visible()
    assert server.get(f"/v1/runs/{run}")["status"] == "cancelled"


def test_feedback_is_saved(tab: Tab, server: Serve) -> None:
    run = tab.ask(protocol="voting")
    tab.page.get_by_label("The right answer, if known").fill("41")
    tab.page.get_by_role("button", name="Wrong").click()
    expect(tab.verdict).to_contain_text("Saved: wrong, the right answer is 41.")
    expect(tab.page.get_by_role("button", name="Wrong")).to_have_attribute("aria-pressed", "true")
    assert run in json.dumps(server.get("/v1/runs"))


def test_the_answer_is_copied_and_the_run_exported(tab: Tab, server: Serve, tmp_path: Path) -> None:
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=server.url)
    run = tab.ask(protocol="voting")
    tab.page.get_by_role("button", name="Copy answer").click()
    expect(tab.verdict.get_by_text("Copied")).to_be_visible()
    result = server.get(f"/v1/runs/{run}")
    assert tab.page.evaluate("navigator.clipboard.readText()") == result["answer"]
    for name, end in (("Export HTML", "html"), ("Export JSON", "json"), ("Export Markdown", "md")):
        with tab.page.expect_download() as download:
            tab.page.get_by_role("button", name=name).click()
        assert download.value.suggested_filename == f"{run}.{end}"
        download.value.save_as(tmp_path / end)
        assert (tmp_path / end).read_bytes() == server.raw(f"/v1/runs/{run}/export?format={end}")


def test_failed_seats_and_failed_runs_show_the_reason(tab: Tab, models: ScriptedHost, server: Serve) -> None:
    models.on("beta", status=400, message="no such model")
    tab.ask(protocol="voting")
    expect(tab.verdict.get_by_text("degraded")).to_be_visible()
    dropped = tab.page.locator(".seat.dropped")
    expect(dropped).to_have_count(1)
    expect(tab.verdict).to_contain_text("refuses the request: no such model (HTTP 400).")
    models.on("gamma", status=400, message="nor this one")
    tab.page.get_by_role("button", name="Ask again").click()
    expect(tab.question).to_have_value("Why?")
    tab.ask(protocol="council")
    expect(tab.page.get_by_role("heading", name="Failed")).to_be_visible()
    expect(tab.verdict).to_contain_text("1 of 3 seats answered, and 2 are needed.")


def test_runs_are_listed_newest_first_searched_and_opened_at_their_address(tab: Tab, server: Serve) -> None:
    page = tab.page
    for question in ("Why the first?", "Why the second?"):
        page.goto(f"{server.url}/#/")
        last = tab.ask(question, "voting")
        expect(tab.verdict).to_be_visible()
    page.get_by_role("link", name="Runs").click()
    rows = page.locator(".run-row")
    expect(rows.first).to_contain_text("Why the second?")
    expect(rows.nth(1)).to_contain_text("Why the first?")
    page.get_by_label("Search questions and answers").fill("FIRST why")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("Why the first?")
    # The list shows neither word: the server finds both, in any form.
    page.get_by_label("Search questions and answers").fill("deciding seconds")
    expect(page.get_by_text("No run has all of these words")).to_be_visible()
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("Why the second?")
    page.get_by_label("Search questions and answers").fill("")
    page.get_by_label("Status").select_option("deadlock")
    expect(page.get_by_text("No run matches.")).to_be_visible()
    page.get_by_role("button", name="Show all runs").click()
    rows.first.click()
    expect(page.get_by_role("heading", name="Why the second?")).to_be_visible()
    assert page.url == f"{server.url}/#/runs/{last}"
    page.go_back()
    expect(rows.first).to_be_visible()


def test_protocols_and_settings_are_loaded_once(tab: Tab, server: Serve) -> None:
    tab.ask(protocol="single")
    expect(tab.verdict).to_be_visible()
    for name in ("Runs", "Costs", "Calibration", "Evaluation", "Ask", "Runs"):
        tab.page.get_by_role("navigation").get_by_role("link", name=name, exact=True).click()
        tab.page.wait_for_load_state("networkidle")
    loaded = [url.removeprefix(server.url) for url in tab.requests]
    assert [loaded.count(path) for path in ("/v1/protocols", "/v1/settings")] == [1, 1]


def test_the_address_of_an_unknown_run_shows_an_error(tab: Tab, server: Serve) -> None:
    tab.expected.append("status of 404")
    tab.page.goto(f"{server.url}/#/runs/nothing")
    expect(tab.page.get_by_role("alert")).to_contain_text("There is no such run here.")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_has_enough_contrast(browser: Browser, server: Serve, dark: bool) -> None:
    with Tab.open(browser, dark=dark) as tab:
        tab.page.goto(server.link)
        tab.question.wait_for()
        for front, back in (
            *((front, back) for front in ("ink", "soft", "accent") for back in ("paper", "sheet", "sunk")),
            *((tone, f"{tone}-wash") for tone in ("good", "warn", "bad")),
            *((f"h{n}", back) for n in range(6) for back in ("paper", "sheet")),
            ("accent-ink", "accent"),
            ("accent", "wash"),
        ):
            assert contrast(tab.page, front, back) >= 4.5, (front, back)


PROBE = """(name) => {
    const probe = document.body.appendChild(document.createElement("i"));
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color.match(/[0-9.]+/g).map(Number);
}"""


def contrast(page: Page, front: str, back: str) -> float:
    """The contrast of two colours of the page by WCAG 2, from 1 to 21."""
    lights = []
    for name in (front, back):
        parts = [part / 255 for part in page.evaluate(PROBE, name)]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        lights.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(lights) + 0.05) / (min(lights) + 0.05)
