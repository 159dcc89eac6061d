"""Asking on the page: saved panels, a list of models, files, drafts, and options that act on one question."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.interfaces.conftest import CONFIG
from tests.support.browsing import Serve, Tab, serving
from tests.support.scripted import ScriptedHost

SAVED = CONFIG + '[panels.fast]\nseats = ["lab:beta*2", "lab:gamma"]\nprotocol = "voting"\n'
DROP = """([name, text]) => {
    const data = new DataTransfer();
    data.items.add(new File([text], name, {type: "text/plain"}));
    const event = new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true});
    document.querySelector("form.ask").dispatchEvent(event);
}"""
PASTE = """(bytes) => {
    const data = new DataTransfer();
    data.items.add(new File([Uint8Array.from(bytes)], "image.png", {type: "image/png"}));
    const event = new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true});
    document.querySelector("#question").dispatchEvent(event);
}"""
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ScriptedHost, Serve]]:
    """A server with a saved panel."""
    with (
        ScriptedHost() as host,
        serving(tmp_path_factory.mktemp("serve"), SAVED.format(url=host.openai)) as server,
    ):
        yield host, server


def test_a_saved_panel_brings_its_models_and_protocol(tab: Tab, server: Serve) -> None:
    page = tab.page
    page.get_by_role("radio", name="fast").check(force=True)
    expect(page.get_by_label("Protocol")).to_have_value("voting")
    assert page.locator(".panel-models .name").all_inner_texts() == ["lab:beta", "lab:gamma"]
    start = server.events(tab.ask())[0]
    assert sorted(seat["model"] for seat in start["seats"]) == ["lab:beta", "lab:beta", "lab:gamma"]


def test_a_model_is_found_by_words_of_its_name_with_the_keyboard(tab: Tab, server: Serve) -> None:
    page, field = tab.page, tab.page.get_by_label("Add a model")
    field.fill("opus anthropic")
    options = page.get_by_role("listbox", name="Models").get_by_role("option")
    expect(options.first).to_contain_text("its key is missing")
    expect(options.first).to_contain_text("$4.00 in, $20.00 out")
    expect(options.first).to_contain_text("tokens")
    field.fill("lab alp")
    expect(options).to_have_count(1)
    expect(options).to_contain_text("$1.00 in, $4.00 out")
    field.press("ArrowDown")
    field.press("Enter")
    expect(page.locator(".panel-models li", has_text="lab:alpha").locator("output")).to_have_text("2")
    field.fill("lab:other")
    field.press("Enter")
    expect(page.locator(".panel-models .name").last).to_have_text("lab:other")


def test_dropped_and_pasted_files_reach_the_run(tab: Tab, server: Serve, models: ScriptedHost) -> None:
    page = tab.page
    # No model of the panel reads pictures: the expected cost of one is refused, if it is asked in time.
    tab.expected.append("status of 400")
    # At once: the second is read while the first still is.
    page.evaluate(
        f"file => {{ ({DROP})(file); ({DROP})(file); }}", ["notes.md", "The meeting is on Tuesday."]
    )
    page.evaluate(PASTE, list(base64.b64decode(PNG)))
    files = page.get_by_role("list", name="Attached files").get_by_role("listitem")
    expect(files).to_have_count(3)
    assert [text.split()[0] for text in files.all_inner_texts()] == ["notes.md", "notes-2.md", "image.png"]
    for name in ("notes-2.md", "image.png"):
        page.get_by_label(f"remove {name}").click()
    expect(files).to_have_count(1)
    tab.ask("When is the meeting?", "single")
    expect(tab.verdict).to_be_visible()
    assert "The meeting is on Tuesday." in models.log[-1].text
    page.get_by_role("link", name="Ask", exact=True).click()
    expect(files).to_have_count(0)


def test_a_draft_survives_a_reload_and_not_the_sign_out(tab: Tab) -> None:
    page = tab.page
    tab.question.fill("Half a question")
    page.get_by_label("Protocol").select_option("council")
    page.get_by_text("Limits and options").click()
    page.get_by_label("Rounds").fill("7")
    page.reload()
    expect(tab.question).to_have_value("Half a question")
    expect(page.get_by_label("Protocol")).to_have_value("council")
    expect(page.locator(".count")).to_have_text("1 set")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Your key")).to_be_visible()
    assert page.evaluate("sessionStorage.length + localStorage.length") == 0


def test_options_belong_to_their_protocol_and_act_on_one_question(tab: Tab, server: Serve) -> None:
    page, rounds = tab.page, tab.page.get_by_label("Rounds")
    page.get_by_text("Limits and options").click()
    page.get_by_label("Protocol").select_option("consensus")
    rounds.fill("2")
    page.get_by_label("Protocol").select_option("council")
    expect(rounds).to_have_value("")
    page.get_by_label("Protocol").select_option("consensus")
    expect(rounds).to_have_value("2")
    page.get_by_label("Budget").fill("0.7")
    start = server.events(tab.ask("Why?", "consensus"))[0]
    assert (start["options"]["rounds"], start["budget_usd"]) == (2, 0.7)
    page.get_by_role("link", name="Ask", exact=True).click()
    start = server.events(tab.ask("And why not?", "council"))[0]
    assert (start["options"]["rounds"], start["budget_usd"]) == (50, None)


def test_an_effort_beats_the_options_that_were_set_before(tab: Tab, server: Serve) -> None:
    page = tab.page
    page.get_by_label("Protocol").select_option("council")
    page.get_by_text("Limits and options").click()
    page.get_by_label("Rounds").fill("20")
    page.get_by_role("radio", name="quick").check(force=True)
    expect(page.locator(".count")).to_have_count(0)
    start = server.events(tab.ask("Why?"))[0]
    assert start["options"]["rounds"] == 1


def test_every_protocol_is_in_a_group_with_a_plain_line(tab: Tab) -> None:
    page = tab.page
    groups = page.locator("#protocol optgroup").evaluate_all("all => all.map((one) => one.label)")
    assert groups == [
        "Debate a decision",
        "Answer alone, then combine",
        "Split up, or spend less",
        "One model",
    ]
    for name in page.locator("#protocol option").all_inner_texts():
        page.get_by_label("Protocol", exact=True).select_option(name)
        assert page.locator("#summary").inner_text().endswith(".")
