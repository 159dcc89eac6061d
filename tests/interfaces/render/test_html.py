"""The HTML page of a run: complete, and safe for any text from models."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.events import Event, RunStarted
from pnyx.interfaces.cli.commands.runs import FORMATS
from pnyx.interfaces.render.html import FOLDED, TITLE, as_html
from pnyx.interfaces.render.untrusted_markdown import LONGEST, to_html
from tests.interfaces import events
from tests.interfaces.conftest import KEY
from tests.interfaces.council_runs import council, member
from tests.interfaces.render.test_markdown import PIECES, record
from tests.interfaces.shell import pnyx
from tests.support.pages import Page
from tests.support.properties import examples
from tests.support.scripted import ScriptedHost
from tests.support.serving import open_server
from tests.support.sources import ROOT

HOSTILE = (
    "</p></div></section></main><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "[x](javascript:alert(1)) [y](data:text/html,x) <javascript:alert(1)> [z](vbscript:x)",
    "![pixel](http://evil.example/p.png) ![](data:image/png;base64,AA)",
    "<!-- --><style>*{display:none}</style><base href=//evil.example>",
    "\u202etxt.exe \u2066 &#8238;rev &#x2067; \x1b[2J \x00 \ud800",
    "<bdo dir=rtl>x</bdo> &lt;script&gt;",
    "]]> --> ```` ~~~ ```html\n<script>\n",
)
TAGS = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "header",
        "nav",
        "section",
        "article",
        "footer",
    ),
    *("h1", "h2", "h3", "h4", "h5", "h6", "p", "div", "ul", "ol", "li", "dl", "dt", "dd", "a", "b", "i", "s"),
    *("small", "span", "strong", "em", "bdi", "br", "hr", "pre", "code", "blockquote", "details", "summary"),
    *("table", "caption", "thead", "tbody", "tr", "th", "td", "meter"),
}
ATTRIBUTES = {
    *(
        "lang",
        "charset",
        "http-equiv",
        "content",
        "name",
        "class",
        "id",
        "dir",
        "href",
        "rel",
        "open",
        "start",
    ),
    *("tabindex", "role", "aria-label", "aria-hidden", "scope", "max", "value"),
}


def story(text: str) -> list[Event]:
    """A run in which all untrusted text is `text`."""
    seats = ({"seat": "Participant A", "model": text, "role": text}, {"seat": text, "model": "m", "role": ""})
    started = RunStarted(
        question=text, protocol=text, seats=seats, version=text, options={text: text, "rounds": 1}
    )
    return events.with_seq(
        [
            started,
            *events.answered_call("Participant A", text, "/1", text),
            *events.failed_call("Participant B", "challenge", "/2", message=text, final=False),
            events.seat_dropped("Participant C", text),
            events.tool(text),
            events.vote(**{text: 2.0, "x": 1.0}),
            events.budget(text),
        ]
    )


def hostile(text: str) -> str:
    seat = {"seat": text, "model": text, "text": text, "reason": text, "role": text}
    sources = [{"n": 1, "title": text, "url": text, "cited": False}]
    result = dict.fromkeys(("question", "answer", "final_answer", "protocol", "confidence_rule"), text)
    lists: dict[str, Any] = {
        "dissent": [{k: seat[k] for k in ("seat", "model", "text")}],
        "dropped": [seat],
        "seats": [seat],
    }
    detail = {"sources": sources, "unknown_citations": [7], "message": text}
    return as_html(record(log=story(text), **result, **lists, detail=detail, stop_reason=text))


def check(source: str) -> Page:
    """Check that nothing in the page runs, loads, hides or reorders text; links are web or mail links."""
    source.encode("utf-8")
    page = Page(source)
    page.check_policy()
    assert {tag for tag, _ in page.tags} <= TAGS
    assert {name for _, attributes in page.tags for name in attributes} <= ATTRIBUTES
    for link in page.of("a"):
        href = link["href"] or ""
        assert href.startswith("#") or re.match(r"(https?|mailto):", href, re.IGNORECASE), href
        assert href.startswith("#") or link["rel"] == "noopener noreferrer nofollow"
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]", source)
    return page


def outline(page: Page) -> list[str]:
    return [tag for tag, _ in page.tags if tag in ("h1", "h2", "section", "nav", "footer")]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text_everywhere(text: str) -> None:
    page = check(hostile(text))
    assert outline(page) == outline(check(hostile("plain")))


@pytest.mark.parametrize("text", HOSTILE[:3])
def test_text_without_markdown_is_shown_unchanged(text: str) -> None:
    assert "".join(check(hostile(text)).text).count(text) >= 20


@examples(60)
@given(st.lists(st.sampled_from([*PIECES, *HOSTILE]), max_size=8).map("".join))
def test_no_markdown_breaks_out_of_its_element(text: str) -> None:
    page = check(as_html(record(f"x{text}", answer=f"x{text}", question=f"x{text}")))
    plain = check(as_html(record("x", answer="x", question="x")))
    assert outline(page) == outline(plain)
    assert len([tag for tag, _ in page.tags if tag == "details"]) == 4


def test_a_page_has_all_parts_of_the_run() -> None:
    page = check(as_html(record("I say so.", log=[*events.consensus_run("I say so.")])))
    text = " ".join("".join(page.text).split())
    for part in (
        "Why?",
        "Because.",
        "Final answer: yes",
        "It is not so.",
        "decided after 1 round, not converged",
    ):
        assert part in text
    for fact in (
        "max rounds",
        "2 of 3 seats agree, 2 of 3 models",
        "1 objection stands",
        "0.50: 1 of 2 critiques was substantive",
        "not calibrated",
        "lab:alpha",
        "$0.0012",
        "run run1",
    ):
        assert fact in text
    assert text.count("I say so.") == 8  # four replies, each also as the start in its summary
    titles = [attributes["id"] for tag, attributes in page.tags if tag == "section" and "id" in attributes]
    assert titles == ["answer", "dissent", "decided", "seats", "said"]
    assert {f"#{title}" for title in titles} == {link["href"] for link in page.of("a")}


def test_the_same_run_produces_the_same_page_and_secrets_are_masked() -> None:
    assert as_html(record()) == as_html(record())
    source = as_html(record("The key is s3cret."), lambda text: text.replace("s3cret", "[redacted]"))
    assert "s3cret" not in source
    assert source.count("[redacted]") >= 4


def test_a_short_transcript_is_open_and_a_long_one_folded() -> None:
    short, long = (check(as_html(record("so " * n))) for n in (10, FOLDED))
    assert ["open" in one for one in short.of("details")] == [True] * 4
    assert ["open" in one for one in long.of("details")] == [False] * 4


def test_the_title_of_a_long_question_is_its_first_line() -> None:
    question = f"Should we?\n\nThe *background*: {'a story ' * 100}the end."
    source = as_html(record(question=question))
    assert '<h1 dir="auto">Should we?</h1>' in source
    assert "<em>background</em>" in source
    assert "the end." in source
    title = source.partition("<title>")[2].partition("</title>")[0]
    assert len(title) < TITLE


def test_markdown_is_rendered_below_the_headings_of_the_page() -> None:
    text = (
        "# Why\n\n## More\n\n1. **one**\n2. ~~two~~\n\n|a|b|\n|--|--:|\n|1|2|\n\n```python\nif a < b:\n```\n"
    )
    html = to_html(f"{text}line\nbreak", 4)
    for part in (
        "<h4>Why</h4>",
        "<h5>More</h5>",
        "<strong>one</strong>",
        "<s>two</s>",
        '<td class="right">2</td>',
    ):
        assert part in html
    assert '<pre><code class="language-python">if a &lt; b:\n</code></pre>' in html
    assert "line<br />\nbreak" in html
    assert to_html("###### Deep", 4) == "<h6>Deep</h6>\n"


def test_links_show_their_host_and_images_are_links() -> None:
    assert 'bank.example</a> <small class="host">evil.example</small>' in to_html(
        "[bank.example](https://bank.example@evil.example/x)", 3
    )
    assert to_html("<https://a.example>", 3).count("a.example") == 2
    html = to_html(
        "![a *chart*](https://a.example/c.png) [![x](http://b.example/y.png)](http://c.example)", 3
    )
    assert html.count("<a ") == 2
    assert ">a chart</a> <small" in html
    assert "b.example" not in html
    assert "<a" not in to_html("[x](/etc/passwd) [y](#z) [z](//evil.example) [w](file:///etc/passwd)", 3)


def test_a_text_too_long_to_parse_is_shown_as_it_is() -> None:
    html = to_html("<b>*x*\n" * (LONGEST // 7 + 1), 3)
    assert html.startswith("<pre>&lt;b&gt;*x*\n")


def test_sources_are_links_with_their_numbers() -> None:
    sources = [
        {"n": 1, "title": "Owls", "url": "https://owls.example/", "cited": True},
        {"n": 3, "title": "Evil", "url": "javascript:alert(1)", "cited": False},
    ]
    source = as_html(record(detail={"sources": sources, "unknown_citations": [7]}))
    check(source)
    assert '<li>[1] <a href="https://owls.example/"' in source
    assert "<li>[3] Evil <small>not cited</small>" in source
    assert "cites sources that do not exist: [7]" in source


def exported(run_id: str) -> str:
    done = pnyx("export", run_id, "--format", "html")
    assert (done.code, done.err) == (0, "")
    assert pnyx("export", run_id, "--format", "html", "--out", "page.html").out == ""
    with open("page.html", encoding="utf-8") as file:
        assert file.read() == done.out
    return done.out


def test_a_council_shows_its_votes(lab: ScriptedHost) -> None:
    lab.on("*", text=member)
    source = exported(council().json["run_id"])
    text = " ".join("".join(check(source).text).split())
    assert "majority after 2 rounds" in text
    assert "2 of 3 seats agree, 2 of 3 models" in text
    assert '<meter max="3" value="2">2</meter>' in source
    for phase in ("Round 1 · proposing", "Round 1 · voting", "Round 2 · voting"):
        assert phase in text
    assert "gamma's first draft." in text


def test_runs_without_a_decision_have_a_page_too(lab: ScriptedHost) -> None:
    lab.on("*", text=f"It is so, and the key is {KEY}.")
    paused = exported(pnyx("ask", "--budget", "0.003", "--json", "Why?").json["run_id"])
    text = " ".join("".join(check(paused).text).split())
    assert "paused: Budget too small: the next call may cost" in text
    assert "best answer so far; no decision after 1 round" in text
    assert "It is so, and the key is " in text
    assert KEY not in paused
    lab.on("*", status=401)
    failed = "".join(check(exported(pnyx("ask", "--json", "Why?").json["run_id"])).text)
    assert "failed (no_quorum)" in failed
    assert "There is no answer." in failed
    assert "dropped: " in failed


async def test_http_returns_the_same_page_as_the_command_line(lab: ScriptedHost) -> None:
    lab.on("*", text="It is so.")
    once = {"question": "Why?", "protocol": "single", "models": ["lab:alpha"], "wait": True}
    async with open_server() as server, server.client() as client:
        run = (await client.post("/v1/runs", json=once)).json()["run_id"]
        page = await client.get(f"/v1/runs/{run}/export", params={"format": "html"})
        refused = await client.get(f"/v1/runs/{run}/export", params={"format": "pdf"})
    assert (page.status_code, refused.status_code) == (200, 422)
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    check(page.text)
    assert "It is so." in page.text


async def test_every_format_is_documented(lab: ScriptedHost) -> None:
    async with open_server() as server, server.client() as client:
        route = (await client.get("/openapi.json")).json()["paths"]["/v1/runs/{run_id}/export"]["get"]
    (formats,) = [one["schema"]["enum"] for one in route["parameters"] if one["name"] == "format"]
    names = ("docs/how-to/commands.md", "docs/http.md", "docs/cli.md")
    pages = {name: (ROOT / name).read_text("utf-8") for name in names}
    (line,) = re.findall(r"\| `GET /v1/runs/ID/export.*", pages["docs/http.md"])
    assert set(formats) == set(re.findall(r"`(\w+)`", line))
    assert f"--format [{'|'.join(FORMATS)}]" in pages["docs/cli.md"]
    (line,) = re.findall(r".* export ID --format.*", pages["docs/how-to/commands.md"])
    assert set(re.findall(r"\w+", line)) >= set(FORMATS)
    assert {"text/markdown", "text/html"} <= set(route["responses"]["200"]["content"])
