"""The names and contents of the files of a run, for any events."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.events import CallFailed, CallFinished, Event, RunFinished, RunStarted, ToolCalled, VoteTallied
from pnyx.interfaces.render.folder_files import Artifacts
from tests.interfaces import events
from tests.interfaces.render.test_markdown import PIECES, RENDERER
from tests.support.properties import examples

HOSTILE = ["../../x", "CON", "a/b", "Participant \u0410", "Participant A\n", "..", "\ud800", "x" * 300]


def test_no_file_name_contains_untrusted_text() -> None:
    artifacts, paths = Artifacts(), set[str]()
    seats = tuple({"seat": label, "model": label, "role": label} for label in [*events.MODELS, *HOSTILE])
    log: list[Event] = [RunStarted(question="Why?", protocol="../p", seats=seats, options={"../o": HOSTILE})]
    for n, label in enumerate([*events.MODELS, *HOSTILE]):
        common: dict[str, Any] = {
            "seat": label,
            "phase": label,
            "round": 1,
            "fingerprint": "",
            "attempt": 1,
            "model": label,
        }
        log.append(CallFinished(**common, key=f"/{n}/{label}/1", text=label))
        log.append(CallFailed(**common, key=f"/{n}", kind=label, message=label, final=True))
        log.append(
            ToolCalled(
                seat=None,
                phase=label,
                key=f"/{n}/{label}/2",
                fingerprint="",
                tool=label,
                arguments={label: label},
                outcome=label,
            )
        )
    for event in log:
        paths |= artifacts.add(event)
    valid = re.compile(r"([a-z0-9][a-z0-9-]{0,50}/){0,2}[a-z][a-z0-9-]{0,50}(\.[a-z0-9-]{1,50}){1,2}")
    assert not [path for path in paths if not valid.fullmatch(path)]
    assert {path.partition(".")[0].rpartition("/")[2] for path in paths if "seat-" in path} == {
        f"seat-{n}" for n in range(4, 4 + len(HOSTILE))
    }


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KEYS = ["sources", "winner", "settled_by", "shipped", "borda", "votes", "self_endorsed", "abstained"]
KEYS += ["needed", "live", "message"]


def final_files(detail: dict[str, Any], text: str = "Because.") -> dict[str, str]:
    """The files that the end of a run changes, if all untrusted text in the run is `text`."""
    artifacts = Artifacts()
    count = VoteTallied(rule=text, tally={text: 1.0}, winner=text, detail=detail)
    for event in (events.run_started(text), count, events.tool(text)):
        artifacts.add(event)
    dissent = [{"seat": "A", "model": text, "text": text}]
    result = events.RESULT | {"detail": detail, "answer": text or None, "dissent": dissent}
    changed = artifacts.add(RunFinished(status="decided", result=result))
    return {path: artifacts.text(path) for path in changed}


@examples(60)
@given(st.dictionaries(st.sampled_from(KEYS), JSON))
def test_final_md_is_written_for_any_detail_of_a_protocol(detail: dict[str, Any]) -> None:
    files = final_files(detail)
    assert "\n## Tally\n" in files["final.md"]
    assert json.loads(files["state.json"])["result"]["detail"] == detail


@examples(60)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_nothing_in_final_md_becomes_html_a_link_an_image_or_a_heading(text: str) -> None:
    detail = {
        "sources": [{"n": 1, "title": text, "url": text, "cited": True}],
        "winner": text,
        "votes": {text: text},
        "abstained": [text],
        "borda": {text: 1},
        "self_endorsed": [text],
    }
    tokens = RENDERER.parse(final_files(detail, text)["final.md"])
    kinds = {token.type for outer in tokens for token in (outer, *(outer.children or ()))}
    assert not {"html_block", "html_inline", "link_open", "image"} & kinds
    ours = [token for token in tokens if token.type == "heading_open" and token.level == 0]
    assert len(ours) == 9
