"""After the answer: further questions, asking again, comparing, judging with undo, costs and calibration."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from tests.support.browsing import Serve, Tab
from tests.support.scripted import ScriptedHost


def test_a_further_question_is_a_turn_of_the_same_conversation(
    tab: Tab, server: Serve, models: ScriptedHost
) -> None:
    page = tab.page
    first = tab.ask("What is the capital of Peru?", "voting")
    expect(tab.verdict).to_be_visible()
    page.get_by_label("Ask a further question").fill("And how many live there?")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("heading", name="And how many live there?")).to_be_visible()
    expect(tab.verdict).to_be_visible()
    second = page.url.rpartition("/")[2]
    assert "What is the capital of Peru?" in models.log[-1].text
    turns = page.get_by_role("navigation", name="Turns of this conversation").get_by_role("link")
    assert turns.all_inner_texts() == ["1. What is the capital of Peru?", "2. And how many live there?"]
    page.get_by_label("Ask a further question").fill("And in 1900?")
    page.get_by_label("Ask a further question").press("Control+Enter")
    expect(page.get_by_role("heading", name="And in 1900?")).to_be_visible()
    expect(turns).to_have_count(3)
    ids = [run["run_id"] for run in server.get(f"/v1/runs/{second}/conversation")]
    assert ids[:2] == [first, second]


def test_later_turns_are_loaded_as_their_list_is_scrolled(browser: Browser, server: Serve) -> None:
    """In parts of ten here; the server's are of 1,000."""
    with Tab.open(browser, width=400) as tab:
        page = tab.page
        ids: list[str] = []
        for n in range(25):
            turn = {"question": f"What about the turn {n} of this long conversation?", "protocol": "single"}
            turn |= {"follows": ids[-1]} if ids else {}
            headers = {"Authorization": f"Bearer {server.key}"}
            sent = page.request.post(f"{server.url}/v1/runs", data={**turn, "wait": True}, headers=headers)
            ids.append(sent.json()["run_id"])
        parts: list[str] = []
        page.on(
            "requestfinished", lambda sent: parts.append(sent.url) if "/conversation" in sent.url else None
        )
        page.route("**/conversation", lambda route: route.continue_(url=f"{route.request.url}?limit=10"))
        page.goto(server.link)
        expect(tab.question).to_be_visible()
        page.goto(f"{server.url}/#/runs/{ids[2]}")
        turns = page.get_by_role("navigation", name="Turns of this conversation")
        links, here = turns.get_by_role("link"), turns.locator("[aria-current]")
        expect(here).to_be_in_viewport()
        expect(links.nth(9)).to_be_visible()
        while turns.get_by_role("button", name="Show later turns").count():
            turns.locator("ol").evaluate("list => list.scrollTo(0, list.scrollHeight)")
            page.wait_for_timeout(50)
        expect(links).to_have_count(25)
        assert len(parts) == 3
        assert links.last.inner_text() == "25. What about the turn 24 of this long conversation?"
        assert not tab.scrolls_sideways()
        links.last.click()
        expect(here).to_have_text("25. What about the turn 24 of this long conversation?")
        expect(here).to_be_in_viewport()
        expect(page.get_by_role("button", name="Title and tags")).to_be_visible()


def test_asking_again_carries_everything_over(tab: Tab, server: Serve) -> None:
    page = tab.page
    page.get_by_label("Protocol").select_option("consensus")
    page.get_by_label("remove a seat of lab:gamma").click()
    page.get_by_label("add a seat of lab:beta").click()
    page.get_by_text("Limits and options").click()
    page.get_by_label("Rounds").fill("2")
    page.get_by_label("Budget").fill("0.4")
    before = server.events(tab.ask("Why twice?"))[0]
    expect(tab.verdict).to_be_visible()
    page.get_by_role("button", name="Ask again").click()
    expect(tab.question).to_have_value("Why twice?")
    after = server.events(tab.ask("Why twice?"))[0]
    for name in ("question", "protocol", "options", "budget_usd"):
        assert before[name] == after[name]
    seats = [sorted(seat["model"] for seat in one["seats"]) for one in (before, after)]
    assert seats[0] == seats[1] == ["lab:alpha", "lab:beta", "lab:beta"]


def test_marked_runs_are_compared_side_by_side(tab: Tab, models: ScriptedHost) -> None:
    page = tab.page
    for protocol, answer in (("voting", "42"), ("single", "41")):
        models.on("*", text=f"So it is.\n\nFinal answer: {answer}")
        page.goto(page.url.partition("#")[0] + "#/")
        tab.ask("Which is it?", protocol)
        expect(tab.verdict).to_be_visible()
    page.get_by_role("link", name="Runs").click()
    page.get_by_label("Search questions and answers").fill("Which is it")
    boxes = page.get_by_role("checkbox", name="mark run")
    expect(boxes).to_have_count(2)
    for box in boxes.all():
        box.check()
    page.get_by_role("link", name="Compare").click()
    expect(page.get_by_role("heading", name="Compare 2 runs")).to_be_visible()
    expect(page.locator(".side tbody tr").first).to_be_visible()
    rows = dict(
        zip(
            page.locator(".side tbody th").all_inner_texts(),
            [row.locator("td").all_inner_texts() for row in page.locator(".side tbody tr").all()],
            strict=True,
        )
    )
    assert sorted(rows["Final answer"]) == ["41", "42"]
    assert sorted(rows["Protocol"]) == ["single", "voting"]
    assert all(cost.startswith("$") for cost in rows["Cost"])


def test_runs_are_filtered_by_protocol_and_date(tab: Tab) -> None:
    page = tab.page
    tab.ask("Is this one of a council?", "council")
    expect(tab.verdict).to_be_visible()
    page.get_by_role("link", name="Runs").click()
    page.get_by_label("Protocol").select_option("council")
    rows = page.locator(".run-row")
    expect(rows.first).to_contain_text("Is this one of a council?")
    page.get_by_label("Since").fill("2099-01-01")
    expect(page.get_by_text("No run matches.")).to_be_visible()
    page.get_by_role("button", name="Show all runs").click()
    expect(rows.first).to_be_visible()


def test_feedback_is_one_click_and_can_be_undone(tab: Tab, server: Serve) -> None:
    page = tab.page
    before = server.get("/v1/calibration")["n"]
    tab.ask(protocol="voting")
    expect(tab.verdict).to_be_visible()
    page.get_by_role("button", name="Right", exact=True).click()
    expect(tab.verdict).to_contain_text("Saved: right")
    assert server.get("/v1/calibration")["n"] == before + 1
    page.get_by_role("link", name="Calibration").click()
    expect(page.get_by_text("judged answer")).to_be_visible()
    expect(page.locator(".diagram circle").first).to_be_visible()
    page.go_back()
    page.get_by_role("button", name="Right", exact=True).click()
    page.get_by_role("button", name="Undo").click()
    expect(tab.verdict).not_to_contain_text("Saved")
    assert server.get("/v1/calibration")["n"] == before


def test_costs_are_shown_by_day_and_group(tab: Tab, server: Serve) -> None:
    page = tab.page
    tab.ask(protocol="voting")
    expect(tab.verdict).to_be_visible()
    page.get_by_role("link", name="Costs").click()
    rows = page.locator(".costs-page tbody tr")
    expect(rows.filter(has_text="lab:alpha")).to_have_count(1)
    page.get_by_label("Group by").select_option("protocol")
    expect(rows.filter(has_text="voting")).to_have_count(1)
    expect(page.locator(".bars rect")).to_have_count(30)
    expect(page.locator(".costs-page")).to_contain_text("Not counted: other keys and evaluations.")
    expect(rows.first.locator("td").first).to_have_css("text-align", "right")
    costs = server.get("/v1/costs?by=model&days=7")
    runs = server.get("/v1/runs?limit=1000")
    assert abs(costs["total"]["known_usd"] - sum(run["usage"]["cost_usd"] or 0 for run in runs)) < 1e-6
    assert costs["total"]["calls"] == sum(row["calls"] for row in costs["days"])
