"""The page on paper and in other directions of writing: nothing is cut off, and there are no controls."""

from __future__ import annotations

import io
import re
from unicodedata import normalize

from playwright.sync_api import Browser, expect
from pypdf import PdfReader

from pnyx.interfaces.render.html import STYLE
from pnyx.interfaces.render.untrusted_markdown import to_html
from tests.interfaces.page.states import problems
from tests.support.browsing import Serve, Tab
from tests.support.scripted import ScriptedHost

END = "endofline"
LONG = f"""See [the manual](https://example.com/manual) for it.

```
{"let x = 1; " * 30}{END}1
```

| {"h" * 90} | {"column " * 20}{END}2 |
|---|---|
| {"c" * 90} | d |

{"It is so, for a reason that takes a line. " * 60}{END}3

Final answer: 42"""
QUESTION = f"{'Is it so, and if not, what else could it be? ' * 40}{END}4"


def test_a_printed_run_has_every_round_and_nothing_is_cut_off(tab: Tab, models: ScriptedHost) -> None:
    models.on("*", text=lambda request: f"{LONG}\nReply{request.call}.")
    page = tab.page
    page.get_by_text("Limits and options").click()
    page.get_by_label("Rounds").fill("2")
    page.get_by_label("threshold").fill("1")
    tab.ask(QUESTION, "consensus")
    expect(tab.verdict).to_be_visible()
    expect(page.locator(".stage")).to_have_count(2)
    assert page.locator(".stage[open]").count() == 1
    paper = PdfReader(io.BytesIO(page.pdf(format="A4", print_background=True)))
    # A font may write "fl" as one letter.
    text = re.sub(r"\s", "", normalize("NFKC", "".join(one.extract_text() for one in paper.pages)))
    replies = len(models.requests("alpha")) + len(models.requests("beta")) + len(models.requests("gamma"))
    assert replies >= 4
    for n in (1, 2, 3):
        assert text.count(f"{END}{n}") >= replies, n
    assert f"{END}4" in text
    assert "(https://example.com/manual)" in text
    for control in ("ExportHTML", "Askagain", "Signout", "Wasthisanswerright", "Showless", "Showall", "Copy"):
        assert control not in text, control
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 720, "height": 1000})
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator(".stage[open]")).to_have_count(2)
    assert not tab.scrolls_sideways()
    cut = "(all) => all.filter((one) => one.scrollWidth > one.clientWidth + 1).length"
    assert page.locator(".markdown .table").count() >= replies
    assert page.locator(".markdown .table, .markdown pre, .scroll, .markdown, .turn").evaluate_all(cut) == 0


def test_wide_and_foreign_texts_break_no_rule(tab: Tab, server: Serve, models: ScriptedHost) -> None:
    word = "Donaudampfschifffahrtselektrizität" * 4
    wide = "+".join("abcdefghijklmnopqrstuvwxyz" * 3)
    foreign = "لا، `pg_dump` يكفي.\n\n> هذا صحيح.\n\n- نعم\n\n- حسنا"
    models.on("*", text=f"{foreign}\n\nIt is so.\n\n$${wide}$$\n\nFinal answer: {word[:70]}")
    tab.ask(f"هل هذا صحيح؟ {word} https://example.com/{'p' * 300}", "consensus")
    answer = tab.verdict.locator(".answer")
    expect(answer.locator(".katex-display")).to_be_visible()
    ways = "(all) => all.map((one) => getComputedStyle(one).direction)"
    blocks = "p, blockquote, ul"
    assert answer.locator(blocks).evaluate_all(ways)[:7] == ["rtl"] * 6 + ["ltr"]
    assert tab.page.locator("h1").evaluate("(one) => getComputedStyle(one).direction") == "rtl"
    assert not tab.scrolls_sideways()
    tab.page.set_viewport_size({"width": 390, "height": 900})
    assert problems(tab) == []
    tab.check(server)


def test_a_wide_formula_fits_on_paper(tab: Tab, models: ScriptedHost) -> None:
    terms = " + ".join(f"a_{{{n}}}" for n in range(30))
    models.on("*", text=f"$$\\frac{{{terms}}}{{b}} = {terms}$$\n\nFinal answer: 42")
    tab.ask("How wide is it?", "single")
    page = tab.page
    expect(page.locator(".turn .katex-display")).to_be_visible()
    page.set_viewport_size({"width": 700, "height": 1000})
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    outside = """(all) => all.filter((part) => part.getBoundingClientRect().right >
        part.closest(".markdown").getBoundingClientRect().right + 1).length"""
    parts = page.locator(".katex-base")
    assert parts.count() > 2
    assert parts.evaluate_all(outside) == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    sizes = "(all) => all.map((one) => one.style.fontSize).join('')"
    assert page.locator(".katex-display").evaluate_all(sizes) == ""


def test_an_exported_answer_from_right_to_left_has_its_code_from_left_to_right(browser: Browser) -> None:
    text = "لا، `pg_dump` يكفي.\n\n> هذا صحيح.\n\n```\npg_dump mydb > out\n```\n\nFinal answer: لا"
    page = browser.new_page()
    page.set_content(
        f'<style>{STYLE.read_text()}</style><div class="text" dir="auto">{to_html(text, 3)}</div>'
    )
    box = page.locator(".text").bounding_box()
    assert box is not None
    starts = (
        "(all) => all.map((one) => { const range = document.createRange(); range.selectNodeContents(one);"
    )
    starts += " return range.getBoundingClientRect().left; })"
    quoted, code, last = page.locator("blockquote p, pre code, .text > p:last-child").evaluate_all(starts)
    assert quoted > box["width"] / 2
    assert max(code, last) < box["width"] / 4
    page.close()
