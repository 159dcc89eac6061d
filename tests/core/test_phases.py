"""The guard table and the diagram drawn from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pnyx import protocols
from pnyx.core.phases import START, Phases, Transition
from pnyx.errors import IllegalPhase

TABLE = Phases(
    (
        Transition(START, "ask"),
        Transition("ask", "done", "an answer", lambda facts: facts["answer"]),
    ),
    terminal=("done", "failed"),
)


def test_a_transition_that_is_not_in_the_table_says_what_is() -> None:
    with pytest.raises(IllegalPhase, match="done cannot follow idle; allowed: ask"):
        TABLE.check(START, "done", {})


def test_a_guard_that_does_not_hold_says_what_it_needs() -> None:
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


@pytest.mark.parametrize("name", protocols.names())
def test_every_protocol_has_a_page_with_its_diagram(name: str) -> None:
    page = Path(__file__).parents[2] / "docs" / "protocols" / f"{name}.md"
    drawn = f"```mermaid\n{protocols.get(name).phases.mermaid()}```\n"
    assert drawn in page.read_text("utf-8"), f"put this into {page.name}:\n{drawn}"
