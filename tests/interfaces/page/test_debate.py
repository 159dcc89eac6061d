"""The debate on the page: in the order of events, with votes, changes of mind and revisions; and its text."""

from __future__ import annotations

import json
import threading

from playwright.sync_api import expect

from tests.interfaces.council_runs import member
from tests.support.browsing import Serve, Tab
from tests.support.script import Request
from tests.support.scripted import ScriptedHost

WORDS = "Use a managed database until someone is paid to operate one, as backups take {n} hours a month."
MATHS = r"""The sum is $\frac{1}{2}x^2\,dx$, and \(a_i < b\), for $5 and $6 a month or US$7.

$$\int_0^1 x^2\,dx = \tfrac13$$

\[ \begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix} \]

Bad: $\frac{1$ and `$y$`.

- [x] done
- [ ] open

| name | price |
|:-----|------:|
| a    |  5.00 |

```python
def half(x):  # of it
    return x / 2
```

# Heading
### Deeper

Final answer: 42"""


def test_rounds_are_in_the_order_of_events_and_seats_in_that_of_their_letters(
    tab: Tab, server: Serve, models: ScriptedHost
) -> None:
    models.on("*", text=member)
    run = tab.ask("How many?", "council")
    page = tab.page
    expect(page.locator(".glance")).to_be_visible()
    first, second = page.locator("details.stage").all()
    expect(first).not_to_have_attribute("open", "")
    expect(second).to_have_attribute("open", "")
    page.get_by_role("button", name="Round 1", exact=True).click()
    expect(first).to_have_attribute("open", "")
    assert first.locator(".phase h4").all_inner_texts() == ["proposing", "reviewing", "rebuttal", "voting"]
    for phase in first.locator(".phase").all():
        assert phase.locator(".turn .letter").all_inner_texts() == ["A", "B", "C"]
    matrix = first.get_by_role("group", name="Who voted for what").locator("tr")
    ballots = server.get(f"/v1/runs/{run}/overview")["votes"][0]["ballots"]
    for row, ballot in zip(matrix.all()[1:4], ballots, strict=True):
        cells = [cell.strip() for cell in row.locator("td").all_inner_texts()]
        assert [bool(cell) for cell in cells[:3]] == [
            f"Participant {letter}" == ballot["of"] for letter in "ABC"
        ]
        assert cells[3] == ballot["text"]
    first.get_by_text("Rankings").click()
    assert first.locator(".rankings tbody tr").count() == 3
    glance = page.locator(".glance")
    expect(glance).to_contain_text("All 3 endorse Participant B.")
    glance.get_by_text("Cost, tokens and time").click()
    glance.get_by_role("radio", name="Tokens").check()
    usage = server.get(f"/v1/runs/{run}")["usage"]
    total = f"{usage['input_tokens'] + usage['output_tokens']:,}"
    assert glance.locator(".figures-table tfoot td").last.inner_text() == total


def test_a_structured_reply_is_never_shown_as_json(tab: Tab, models: ScriptedHost) -> None:
    ballot = {"text": "Its sum is right.", "vote": "FINALIZE", "label": "Participant B", "ranking": []}

    def reply(request: Request) -> str:
        text = member(request)
        return json.dumps(ballot) if text.startswith(("FINALIZE", "REVISE")) else text

    models.on("*", text=reply)
    tab.ask("How many?", "council")
    expect(tab.verdict).to_be_visible()
    article = tab.page.locator("article")
    expect(article).to_contain_text("Endorses Participant B. Its sum is right.")
    assert '"vote"' not in article.inner_text()


def test_a_tie_marks_no_winner(tab: Tab, models: ScriptedHost) -> None:
    models.on("alpha", text="Final answer: 41")
    models.on("beta", text="Final answer: 42")
    tab.ask(protocol="deliberate")
    expect(tab.verdict).to_be_visible()
    glance = tab.page.locator(".glance")
    expect(glance).to_contain_text("2 of 3 say 42: ")
    expect(glance).to_contain_text("Only Participant")
    models.on("gamma", text="Final answer: 43")
    tab.page.get_by_role("link", name="Ask", exact=True).click()
    tab.ask("Why not?", "deliberate")
    expect(tab.verdict).to_be_visible()
    expect(tab.page.locator(".tally", has_text="a tie").first).to_be_visible()
    assert tab.page.locator(".tally").first.locator(".won").count() == 0


def test_a_revision_shows_what_changed_since_the_proposal(tab: Tab, models: ScriptedHost) -> None:
    first = len(models.requests("alpha"))
    models.on("alpha", text=lambda request: WORDS.format(n="four" if request.call == first + 1 else "five"))
    for other in ("beta", "gamma"):
        models.on(other, text="That is not so: nobody has measured it, and the risk is somewhere else.")
    tab.ask(protocol="consensus")
    expect(tab.verdict).to_be_visible()
    revision = tab.page.locator(".phase", has=tab.page.get_by_role("heading", name="revise")).locator(".turn")
    revision.get_by_role("button", name="Changes since propose").click()
    assert revision.locator("del").all_inner_texts() == ["four"]
    assert revision.locator("ins").all_inner_texts() == ["five"]
    revision.get_by_role("button", name="Show the text").click()
    expect(revision.locator("ins")).to_have_count(0)
    challenge = tab.page.locator(".phase", has=tab.page.get_by_role("heading", name="challenge"))
    assert challenge.get_by_role("button", name="Changes").count() == 0


def test_the_live_round_is_followed_until_the_reader_scrolls_up(tab: Tab, models: ScriptedHost) -> None:
    held = threading.Event()
    long = "\n\n".join(["It is so, for a reason that takes a whole line to write down."] * 30)
    models.on("*", text=lambda request: " ".join(f"word{request.call}x{n}" for n in range(60)))
    models.on("alpha", text=long)
    last = len(models.requests("alpha")) + 5
    models.on("alpha", call=last, text=long, drip=(400, 0.3), hurry=held.is_set)
    page = tab.page
    page.get_by_text("Limits and options").click()
    page.get_by_label("Rounds").fill("4")
    page.get_by_label("threshold").fill("1")
    tab.ask(protocol="consensus")
    expect(page.locator("details.stage")).to_have_count(3)
    writing = page.locator(".turn.writing")
    expect(writing).to_be_in_viewport()
    assert page.locator("details.stage[open]").count() == 1
    expect(page.get_by_role("button", name="Following")).to_have_attribute("aria-pressed", "true")
    page.mouse.wheel(0, -3000)
    expect(page.get_by_role("button", name="Follow", exact=True)).to_have_attribute("aria-pressed", "false")
    page.get_by_role("button", name="Follow", exact=True).click()
    expect(writing).to_be_in_viewport()
    held.set()
    expect(tab.verdict).to_be_visible()


def test_formulas_code_tables_and_tasks(tab: Tab, models: ScriptedHost) -> None:
    models.on("*", text=MATHS)
    tab.page.add_init_script(
        "window.refused = []; addEventListener('securitypolicyviolation', (e) => refused.push(e.blockedURI))"
    )
    tab.page.reload()
    tab.ask(protocol="single")
    answer = tab.verdict.locator(".answer")
    expect(answer.locator(".katex")).to_have_count(4)
    expect(answer.locator(".katex-display")).to_have_count(2)
    expect(answer).to_contain_text("for $5 and $6 a month or US$7.")
    expect(answer.locator("code", has_text="$y$")).to_have_count(1)
    assert r"\," not in answer.locator(".katex-html").first.inner_text()
    expect(answer.locator("code.language-python .hljs-keyword").first).to_have_text("def")
    expect(answer.locator("td.right")).to_have_text("5.00")
    assert answer.locator("li.task").all_inner_texts() == ["☑ done", "☐ open"]
    assert answer.locator("h3, h4, h5, h6").evaluate_all("all => all.map((one) => one.tagName)") == [
        "H3",
        "H4",
    ]
    # Its button covers none of the code, and on a narrow screen leaves it the whole width.
    covers = (
        "(frame) => { const code = frame.querySelector('pre').getBoundingClientRect();"
        " const button = frame.querySelector('.copy').getBoundingClientRect();"
        " return [code.right > button.left && code.top < button.bottom,"
        " frame.clientWidth - Math.round(code.width)]; }"
    )
    covered, beside = answer.locator(".code").evaluate(covers)
    assert not covered
    assert beside > 0
    tab.page.set_viewport_size({"width": 400, "height": 900})
    assert answer.locator(".code").evaluate(covers) == [False, 0]
    tab.page.set_viewport_size({"width": 1280, "height": 900})
    answer.locator(".code").hover()
    answer.get_by_role("button", name="Copy this code").click()
    expect(answer.locator(".copy")).to_contain_text("opied")
    assert tab.page.evaluate("refused") == []
