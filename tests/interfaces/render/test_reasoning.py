"""Reasoning is shown on demand, apart from the reply, and is as safe as any text of a model."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.events import Event
from pnyx.interfaces.cli.terminal.output import streams
from pnyx.interfaces.cli.terminal.plain import entry_lines
from pnyx.interfaces.render.folder_files import Artifacts
from pnyx.interfaces.render.html import as_html
from pnyx.interfaces.render.markdown import as_markdown
from pnyx.interfaces.views.transcript import Transcript
from tests.interfaces import events
from tests.interfaces.render.test_html import check
from tests.interfaces.render.test_markdown import PIECES, RENDERER, record
from tests.interfaces.shell import pnyx
from tests.support.scripted import ScriptedHost

THOUGHT, LATE, CUT = "I weigh both sides.", "I never came to an end.", "I was cut off."


def log(thought: str = THOUGHT) -> list[Event]:
    silent: dict[str, Any] = {"absent": "no answer: the reply is all reasoning", "reasoning": LATE}
    return events.with_seq(
        [
            events.run_started(),
            *events.answered_call("Participant A", "propose", "/1", "So be it.", reasoning=thought),
            *events.failed_call("Participant B", "challenge", "/2", kind="cut_off", reasoning=CUT),
            *events.answered_call("Participant B", "challenge", "/2", "No.", reasoning_tokens=7),
            *events.answered_call("Participant C", "challenge", "/3", "", **silent),
        ]
    )


def test_markdown_has_it_under_a_heading_of_its_own() -> None:
    text = as_markdown(record(log=log()))
    assert text.count("#### Reasoning") == 3
    for line in (f"> {THOUGHT}", f"> {LATE}", f"> {CUT}"):
        assert line in text.splitlines()
    without = as_markdown(record(log=log()), reasoning=False)
    assert not any(text in without for text in ("Reasoning", THOUGHT, LATE, CUT))
    assert "So be it." in without


def test_the_page_has_it_folded() -> None:
    page = as_html(record(log=log()))
    check(page)
    assert page.count('<details class="reasoning"><summary>Reasoning</summary>') == 3
    for text in (THOUGHT, LATE, CUT):
        assert f"<pre>{text}</pre>" in page


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join).filter(str.strip))
def test_no_reasoning_is_active(text: str) -> None:
    check(as_html(record(log=log(text))))
    html = RENDERER.render(as_markdown(record(log=log(text))))
    assert "<script" not in html
    assert "<img" not in html
    assert html.count("<h4>Reasoning</h4>") == 3


def test_a_folder_has_it_in_files_of_its_own() -> None:
    artifacts = Artifacts(lambda text: text.replace("weigh", "[redacted]"))
    paths = {path for event in log() for path in artifacts.add(event)}
    texts = {path: artifacts.text(path) for path in paths}
    found = {path for path in paths if path.endswith(".reasoning.md")}
    assert {path.rpartition("/")[2].partition(".")[0] for path in found} == {
        *("participant-a", "participant-b", "participant-c")
    }
    for path, text in texts.items():
        assert any(thought in text for thought in ("[redacted] both", LATE, CUT)) == (path in found), path


def test_the_transcript_counts_the_tokens_and_keeps_the_text_apart() -> None:
    view = Transcript()
    entries = [entry for event in log() if (entry := view.add(event)) is not None]
    assert [(entry.kind, entry.reasoning) for entry in entries] == [
        ("reply", THOUGHT),
        ("retry", CUT),
        ("reply", ""),
        ("silence", LATE),
    ]
    assert entries[2].facts[:2] == ("20 tokens", "7 of them reasoning")
    for entry in entries:
        plain = "\n".join(entry_lines(streams(plain=True).out, entry, whole=True))
        assert "Reasoning" not in plain
        assert not entry.reasoning or entry.reasoning not in plain


def test_a_reply_that_is_given_up_is_an_abstention() -> None:
    view = Transcript()
    failed = events.failed_call(
        "Participant B", "challenge", "/1", kind="cut_off", message="no room", final=True
    )
    (entry,) = (entry for event in failed if (entry := view.add(event)) is not None)
    assert (entry.kind, entry.text) == ("silence", "abstained: no room")
    assert view.seats["Participant B"].state == "silent"


@pytest.mark.usefixtures("lab")
def test_show_prints_it_only_with_verbose(lab: ScriptedHost) -> None:
    lab.on("*", text=f"<think>{THOUGHT}\x1b[2J</think>\nYes.\nFinal answer: yes")
    run_id = pnyx("ask", "Why?", "-p", "voting", "--json").json["run_id"]
    assert THOUGHT not in pnyx("show", run_id).out
    shown = pnyx("show", run_id, "-v").out
    assert THOUGHT in shown
    assert "\x1b[2J" not in shown
    replies = [e for e in pnyx("show", run_id, "--json").json["events"] if e["type"] == "call_finished"]
    assert {(one["reasoning"], one["text"][:4]) for one in replies} == {(f"{THOUGHT}\x1b[2J", "Yes.")}
    assert "Reasoning" in pnyx("export", run_id, "--format", "md").out
