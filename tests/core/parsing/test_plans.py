from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.parsing.json_objects import find_violation
from pnyx.core.parsing.plans import PLAN, Subtask, check_plan, read_plan
from pnyx.core.parsing.verdicts import Unreadable
from tests.support.rows import rows

COSTS, RISKS = Subtask("a", "What does it cost?"), Subtask("b", "What can go wrong?", ("a",))
BOTH = (COSTS, RISKS)


@rows(
    "text",
    [
        '{"subtasks": [{"label": "a", "question": "What does it cost?", "needs": []},'
        ' {"label": "b", "question": "What can go wrong?", "needs": ["a"]}]}',
        'Here is the plan:\n\n```json\n{"subtasks": [{"label": "a", "question": "What does it cost?",},\n'
        '  {"label": "b", "question": "What can go wrong?", "needs": "a"}] // enough\n}\n```\nGood luck!',
        '[{"id": "a", "task": "What does it cost?", "depends_on": null},'
        ' {"id": "b", "task": "What can go wrong?", "depends_on": ["a"]}]',
        '{"label": "a", "question": "What does it cost?"}\n'
        '{"label": "b", "question": "What can go wrong?", "needs": ["a"]}',
        '{"plan": {"a": "What does it cost?", "b": {"question": "What can go wrong?", "requires": ["a"]}}}',
        "a: What does it cost?\nb: What can go wrong? (needs: a)",
        "Plan:\n\n- **a**: What does it cost? [needs: none]\n- **b**: What can go wrong? [depends on a]",
        "a. What does it cost?\n   - needs: none\nb. What can go wrong?\n   - Needs: a\n",
        "> a: What did Participant C plan?\n\na: What does it cost?\nb: What can go wrong? — requires a",
    ],
    ids=[
        "the schema's object", "fenced, with comments and prose", "a bare array under other names",
        "one object a line", "a mapping by label", "a list of questions", "a bold list with needs",
        "needs on a line of their own",
        "beside a quoted plan",
    ],
)  # fmt: skip
def test_a_plan_is_read(text: str) -> None:
    assert read_plan(text) == BOTH


def test_numbers_serve_as_labels() -> None:
    text = '[{"label": 1, "question": "x", "needs": []}, {"label": 2, "question": "y", "needs": [1]}]'
    assert read_plan(text) == (Subtask("1", "x"), Subtask("2", "y", ("1",)))
    assert read_plan("1. x?\n2. y? (needs: subtask 1)") == (Subtask("1", "x?"), Subtask("2", "y?", ("1",)))
    assert read_plan('{"subtasks": ["x", "y"]}') == (Subtask("1", "x"), Subtask("2", "y"))


def test_a_plan_without_subtasks_is_read_and_then_found_empty() -> None:
    assert read_plan('{"subtasks": []}') == ()
    assert check_plan((), 7) == "the plan has 0 subtasks; it may have 1 to 7"


@rows(
    "text, says",
    [
        ("First I would look at costs, then at risks.", "no plan"),
        ("1. Introduction\n2. Methods\n3. Results", "no plan"),
        ("", "no plan"),
        ('{"answer": "42"}', "no plan"),
        ('{"subtasks": "none"}', "not a list"),
        ('{"subtasks": [1, 2]}', "subtask 1 has no question"),
        ('{"subtasks": [{"label": "a"}]}', "subtask 1 has no question"),
        ('{"subtasks": ["x"]}\n{"subtasks": ["y"]}', "more than one plan"),
        ("> 1. x?\n> 2. y?", "no plan"),
        ('<m0123456789 Participant A>\n{"subtasks": ["x"]}\n</m0123456789>', "no plan"),
        ('{"subtasks": [{"label": "a", "question": "x"', "no plan"),
    ],
)
def test_a_text_without_a_plan_is_refused_with_the_expected_form(text: str, says: str) -> None:
    with pytest.raises(Unreadable, match=rf"{says}.*give one JSON object"):
        read_plan(text)


@rows(
    "plan, problem",
    [
        (BOTH, None),
        ((COSTS,), None),
        (tuple(Subtask(str(n), "x") for n in range(7)), None),
        (tuple(Subtask(str(n), "x") for n in range(9)), "the plan has 9 subtasks; it may have 1 to 7"),
        ((COSTS, COSTS), "subtasks 1 and 2 have the same label"),
        ((COSTS, Subtask("b", "x", ("c",))), "subtask 2 needs what is no subtask's label"),
        ((Subtask("a", "x", ("a",)),), "subtasks need each other in a circle: 1 <- 1"),
        ((Subtask("a", "", ()),), "a subtask needs a label and a question, which subtask 1 has not"),
        ((Subtask("", "x", ()),), "a subtask needs a label and a question, which subtask 1 has not"),
    ],
)
def test_a_plan_is_checked_before_it_is_scheduled(plan: tuple[Subtask, ...], problem: str | None) -> None:
    assert check_plan(plan, 7) == problem


def test_a_circle_is_shown() -> None:
    circle = (Subtask("a", "x", ("c",)), Subtask("b", "x", ("a",)), Subtask("c", "x", ("b",)))
    assert "circle" in (check_plan(circle, 7) or "")


tasks = st.lists(
    st.builds(
        Subtask,
        st.sampled_from("abcd"),
        st.sampled_from(("What?", "How much?")),
        st.lists(st.sampled_from("abcde"), max_size=2, unique=True).map(tuple),
    ),
    max_size=5,
).map(tuple)


@given(tasks)
def test_a_plan_that_passes_the_check_can_be_done_in_some_order(plan: tuple[Subtask, ...]) -> None:
    done, left = set[str](), list(plan)
    while ready := [task for task in left if done.issuperset(task.needs)]:
        done.update(task.label for task in ready)
        left = [task for task in left if task not in ready]
    labels = [task.label for task in plan]
    possible = not left and 1 <= len(plan) <= 4 and len(set(labels)) == len(labels)
    assert (check_plan(plan, 4) is None) == possible


@given(tasks)
def test_a_plan_in_its_schema_is_read_back(plan: tuple[Subtask, ...]) -> None:
    document = {
        "subtasks": [{"label": t.label, "question": t.question, "needs": list(t.needs)} for t in plan]
    }
    assert find_violation(document, PLAN) is None
    assert read_plan(json.dumps(document)) == plan
