"""The list of runs on the page: titles, tags, pins, deletion, many at once, and a list of any length."""

from __future__ import annotations

import json
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, Route, expect

from tests.interfaces.page.states import problems
from tests.support.browsing import Serve, Tab

MANY, PAGE = 100_000, 100


def asked(tab: Tab, *questions: str) -> list[str]:
    runs = []
    for question in questions:
        tab.page.goto(tab.page.url.partition("#")[0] + "#/")
        runs.append(tab.ask(question, "single"))
        expect(tab.verdict).to_be_visible()
    return runs


def open_runs(page: Page, text: str = "") -> None:
    page.get_by_role("link", name="Runs", exact=True).click()
    if text:
        page.get_by_label("Search questions and answers").fill(text)


def test_a_run_gets_a_title_and_tags_and_is_pinned_and_deleted(tab: Tab, server: Serve) -> None:
    page = tab.page
    (run,) = asked(tab, "Which of the two is it, when all is said?")
    page.get_by_role("button", name="Title and tags").click()
    title = page.get_by_label("Title, shown in place of the question")
    expect(title).to_be_focused()
    title.fill("The choice")
    page.get_by_label("Tags, separated by commas").fill("work, urgent , ")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="The choice")).to_be_visible()
    expect(page.locator(".asked")).to_have_text("Which of the two is it, when all is said?")
    page.get_by_role("button", name="Pin", exact=True).click()
    expect(page.get_by_role("button", name="Pinned")).to_have_attribute("aria-pressed", "true")
    kept = server.get(f"/v1/runs/{run}")
    assert (kept["title"], kept["tags"], kept["pinned"]) == ("The choice", ["urgent", "work"], True)
    assert problems(tab) == []
    open_runs(page)
    pinned = page.get_by_role("list", name="Pinned runs")
    expect(pinned).to_contain_text("The choice")
    pinned.get_by_role("button", name="show runs with the tag urgent").click()
    expect(page.get_by_role("button", name="show runs of all tags")).to_be_visible()
    rows = page.locator(".run-row")
    expect(rows).to_have_count(1)
    page.get_by_role("button", name=f"pin run {run}").click()
    expect(page.get_by_role("button", name=f"pin run {run}")).to_have_attribute("aria-pressed", "false")
    rows.get_by_role("link").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_role("button", name="Keep")).to_be_focused()
    page.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
    page.wait_for_url("**/#/runs")
    expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
    assert run not in {one["run_id"] for one in server.get("/v1/runs?limit=1000")}


def test_marked_runs_are_tagged_pinned_and_deleted_together(tab: Tab, server: Serve) -> None:
    page = tab.page
    runs = asked(tab, "bulky one?", "bulky two?", "bulky three?")
    open_runs(page, "bulky")
    expect(page.locator(".run-row")).to_have_count(3)
    page.get_by_label("Mark all").or_(page.get_by_label("Mark the loaded runs")).check()
    bar = page.get_by_role("group", name="Marked runs")
    expect(bar).to_contain_text("3 runs marked")
    bar.get_by_label("Tag for the marked runs").fill("batch of three")
    bar.get_by_role("button", name="Add tag").click()
    expect(page.get_by_role("button", name="show runs with the tag batch of three")).to_have_count(3)
    bar.get_by_role("button", name="Pin", exact=True).click()
    expect(bar.get_by_role("button", name="Unpin")).to_be_visible()
    labelled = [server.get(f"/v1/runs/{run}") for run in runs]
    assert all(run["tags"] == ["batch of three"] and run["pinned"] for run in labelled)
    bar.get_by_role("button", name="remove the tag batch of three").click()
    expect(page.get_by_role("button", name="show runs with the tag batch of three")).to_have_count(0)
    page.get_by_label(f"mark run {runs[0]}").uncheck()
    bar.get_by_role("button", name="Delete").click()
    expect(bar.get_by_role("button", name="Keep")).to_be_focused()
    assert problems(tab) == []
    bar.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
    expect(page.locator(".run-row")).to_have_count(1)
    left = {one["run_id"] for one in server.get("/v1/runs?limit=1000")}
    assert left & {*runs} == {runs[0]}


def test_a_run_under_way_is_kept_and_the_others_are_deleted(tab: Tab, server: Serve) -> None:
    page = tab.page
    runs = asked(tab, "kept one?", "gone two?")
    refusal = {
        "error": {
            "type": "running",
            "message": f"run {runs[0]} is still running. Cancel it first: pnyx cancel",
        }
    }

    def refuse(route: Route) -> None:
        if route.request.method == "DELETE":
            route.fulfill(status=409, body=json.dumps(refusal), content_type="application/json")
        else:
            route.continue_()

    page.route(f"**/v1/runs/{runs[0]}", refuse)
    tab.expected.append("status of 409")
    open_runs(page)
    for run in runs:
        page.get_by_label(f"mark run {run}").check()
    page.get_by_role("group", name="Marked runs").get_by_role("button", name="Delete").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("alert")).to_contain_text("1 run not changed.")
    expect(page.get_by_role("alert")).to_contain_text("is still running")
    expect(page.get_by_label(f"mark run {runs[1]}")).to_have_count(0)
    assert runs[0] in {one["run_id"] for one in server.get("/v1/runs?limit=1000")}


def run_of(number: int) -> dict[str, Any]:
    usage = {"calls": 3, "input_tokens": 9, "cached_tokens": 0, "output_tokens": 9, "cost_usd": 0.01}
    return {
        "run_id": f"r{number:06}", "status": "decided", "protocol": "voting", "seats": [], "usage": usage,
        "question": f"Question {number}?", "answer": "It is so.", "final_answer": str(number),
        "created_at": "2026-01-01T00:00:00.000Z", "title": None, "pinned": False,
        "tags": ["t"] * (number % 7 == 0),
    }  # fmt: skip


def test_a_list_of_100_000_runs_draws_what_is_near_the_screen(tab: Tab) -> None:
    """The pages of the list are those that a server with so many runs would send."""
    page, served = tab.page, []

    def serve(route: Route) -> None:
        given = parse_qs(urlsplit(route.request.url).query)
        start = int(given.get("cursor", ["0"])[0])
        end = 0 if "pinned" in given else min(start + PAGE, MANY)
        served.append(start)
        following = {"Link": f'</v1/runs?limit={PAGE}&cursor={end}>; rel="next"'} if 0 < end < MANY else {}
        body = json.dumps([run_of(n) for n in range(start, end)])
        route.fulfill(body=body, content_type="application/json", headers=following)

    page.route("**/v1/runs?*", serve)
    began = time.monotonic()
    open_runs(page)
    expect(page.get_by_role("link", name="Question 0?")).to_be_visible()
    assert time.monotonic() - began < 30
    for _ in range(400):
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        page.wait_for_timeout(50)
        if max(served) >= 5 * PAGE:
            break
    expect(page.locator(".run-row").first).to_be_visible()
    assert served[0] == 0
    assert max(served) >= 5 * PAGE
    assert page.locator(".run-row").count() <= 200
    for _ in range(400):  # rows whose heights are not known yet move the list
        page.evaluate("scrollTo(0, 0)")
        page.wait_for_timeout(50)
        if page.get_by_role("link", name="Question 0?").count():
            break
    expect(page.get_by_role("link", name="Question 0?")).to_be_in_viewport()
    first = page.locator("[role=listitem]").first
    assert first.get_attribute("aria-posinset") == "1"
    assert int(first.get_attribute("aria-setsize") or 0) >= 5 * PAGE


def pages_of(log: list[dict[str, Any]], calls: int, rounds: int) -> list[dict[str, Any]]:
    """The events of a finished run with its calls repeated, in so many rounds."""
    pair = [next(one for one in log if one["type"] == kind) for kind in ("call_started", "call_finished")]
    body = [
        {**one, "key": f"/{n}", "round": 1 + n * rounds // calls, "text": f"{n} is so.\n\nFinal answer: {n}"}
        for n in range(calls)
        for one in pair
    ]
    return [{**one, "seq": seq} for seq, one in enumerate([log[0], *body, log[-1]], 1)]


def test_a_long_run_shows_its_verdict_before_its_events_and_draws_what_is_near_the_screen(
    tab: Tab, server: Serve
) -> None:
    (run,) = asked(tab, "how many?")
    page, held, served = tab.page, list[Route](), list[int]()
    log = pages_of(server.events(run), calls=400, rounds=1)

    def answer(route: Route) -> None:
        given = parse_qs(urlsplit(route.request.url).query)
        after, limit = int(given["after"][0]), int(given["limit"][0])
        served.append(after)
        found = log[after : after + limit]
        following = f'</v1/runs/{run}/events?after={after + limit}&limit={limit}>; rel="next"'
        more = {"Link": following} if after + limit < len(log) else {}
        text = "".join(f"data: {json.dumps(event)}\n\n" for event in found)
        route.fulfill(body=text, content_type="text/event-stream", headers=more)

    changes = [
        {"seat": "Participant A", "kind": "answer", "before": f"{n}", "now": f"{n + 1}", "round": 1,
         "phase": "answer", "after": []} for n in range(900)
    ]  # fmt: skip
    glance = {"votes": [], "changes": changes, "panel": {"agree": [], "differ": [], "only": []}, "costs": []}
    page.route("**/overview", lambda route: route.fulfill(json=glance))
    page.route(f"**/v1/runs/{run}/events?*", lambda route: held.append(route))
    open_runs(page)
    page.get_by_role("link", name="how many?").click()
    expect(tab.verdict.locator(".final")).to_contain_text("42")
    expect(page.get_by_role("heading", name="900 changes of mind")).to_be_visible()
    assert page.locator(".changes li").count() < 20
    expect(page.get_by_text("Loading the debate")).to_be_visible()
    assert page.locator(".stage").count() == 0
    page.route(f"**/v1/runs/{run}/events?*", answer)
    answer(held[0])
    expect(page.locator(".stage")).to_have_count(1)
    assert served == sorted(set(served))
    expect(page.locator(".stage > summary")).to_contain_text("400 replies")
    for _ in range(10):
        page.evaluate("scrollBy({top: innerHeight * 0.9, behavior: 'instant'})")
        page.wait_for_timeout(20)
    assert 0 < page.locator(".turn").count() < 120
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator(".turn")).to_have_count(400)
    assert page.locator(".changes li").count() == 900
