"""Exports depend on events and result only; no text from models is active in a Markdown viewer."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pnyx.core.events import Event
from pnyx.interfaces.render.markdown import as_markdown
from pnyx.interfaces.views.records import Record
from pnyx.run.result import Result
from pnyx.store.records.runs import RunRow
from tests.interfaces import events
from tests.support.properties import examples

RENDERER = MarkdownIt("commonmark").enable("table")
PIECES = ["```", "~~~", "````", "~~~ `", "- ", "1. ", "> ", "    ", "\t", "\n", "\n\n", "<script>x</script>"]
PIECES += ["<!-- ", " -->", "<pre>", "</pre>", "![x](http://a/b.png)", "<http://a.example>", "`", "|"]
PIECES += ["text", "a < b", "[x](javascript:alert)", "\\", "# ", "---", "&lt;", "\u202e", "```js"]
PIECES += ["[x][y]", "[y]: javascript:a", "!", "["]


def record(text: str = "Because.", log: list[Event] | None = None, **result: Any) -> Record:
    log = log or events.consensus_run(text, **result)
    values: dict[str, Any] = dict.fromkeys(RunRow.__slots__)
    values |= {"id": "run1", "question": "Why?", "created_at": "2026-01-02T03:04:01.000Z", "spec": {}}
    return Record(RunRow(**values), Result.from_json(events.RESULT | result), tuple(log))


def test_markdown_has_question_answer_dissent_cost_and_every_reply() -> None:
    text = as_markdown(record("I say so."))
    for expected in ("> Why?", "> Because.", "> It is not so.", "| lab:alpha | 2 | 200 | 0 | 40 | $0.0006 |"):
        assert expected in text
    assert text.count("> I say so.") == 4
    assert "- agreement: 2 of 3 seats agree, 2 of 3 models\n- objections: 1 objection stands" in text
    assert "- rigor: 0.50: 1 of 2 critiques was substantive\n- confidence: not calibrated" in text


def test_the_same_run_produces_the_same_bytes() -> None:
    assert as_markdown(record()) == as_markdown(record())


def test_code_stays_code() -> None:
    code = "Look:\n```python\nif a <b: x = List[int] # ![no]\n```\ndone"
    html = RENDERER.render(as_markdown(record(code)))
    assert '<pre><code class="language-python">if a &lt;b: x = List[int] # ![no]\n</code></pre>' in html


def test_an_open_fence_ends_with_its_reply() -> None:
    html = RENDERER.render(as_markdown(record("```\nno end")))
    assert html.count("<pre>") == 4
    assert html.count("<h3>") == 5


@examples(50)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_no_reply_becomes_html_a_link_an_image_or_a_heading(text: str) -> None:
    log = events.with_seq(
        [events.run_started(), *events.answered_call("Participant A", "propose", "/1", text)]
    )
    dissent = [{"seat": "A", "model": text, "text": text}]
    markdown = as_markdown(record(log=log, dissent=dissent, answer=f"x{text}"))
    tokens = RENDERER.parse(markdown)
    kinds = {token.type for outer in tokens for token in (outer, *(outer.children or ()))}
    assert not {"html_block", "html_inline", "link_open", "image"} & kinds
    ours = [token for token in tokens if token.type == "heading_open" and token.level == 0]
    assert len(ours) == 10
