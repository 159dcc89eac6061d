"""The table of transitions and its diagram."""

from __future__ import annotations

from pathlib import Path

import pytest

from pnyx import protocols
from pnyx.core.phases import START, Phases, Transition
from pnyx.errors import IllegalPhase
from tests.support.rows import rows

TABLE = Phases(
    (
        Transition(START, "ask"),
        Transition("ask", "done", "an answer", lambda facts: facts["answer"]),
    ),
    terminal=("done", "failed"),
)


def test_the_error_of_an_unknown_transition_names_the_allowed_ones() -> None:
    with pytest.raises(IllegalPhase, match="done cannot follow idle; allowed: ask"):
        TABLE.check(START, "done", {})


def test_the_error_of_a_guard_names_its_condition() -> None:
    with pytest.raises(IllegalPhase, match="ask -> done needs an answer"):
        TABLE.check("ask", "done", {"answer": ""})
    TABLE.check("ask", "done", {"answer": "yes"})


def test_the_diagram_holds_every_transition_and_condition() -> None:
    assert TABLE.mermaid() == (
        "stateDiagram-v2\n"
        "    [*] --> idle\n"
        "    idle --> ask\n"
        "    ask --> done: an answer\n"
        "    idle --> failed\n"
        "    ask --> failed\n"
        "    done --> [*]\n"
        "    failed --> [*]\n"
    )


@rows("name", protocols.names())
def test_every_protocol_has_a_page_with_its_diagram(name: str) -> None:
    page = Path(__file__).parents[2] / "docs" / "protocols" / f"{name}.md"
    drawn = f"```mermaid\n{protocols.get(name).phases.mermaid()}```\n"
    assert drawn in page.read_text("utf-8"), f"put this into {page.name}:\n{drawn}"
