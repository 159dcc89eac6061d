"""Test sets from files and from pnyx itself."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from pnyx.errors import UsageError
from pnyx.evaluate.items import Item
from pnyx.evaluate.questions import find_items, read_items
from tests.support.rows import rows
from tests.support.sources import ROOT

CSV = """question,target,choices,category
What is 2 + 2?,4,,sums
Which is a prime?,B,"[""21"", ""23""]",
"""


def written(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def test_the_examples_in_the_docs_can_be_asked(tmp_path: Path) -> None:
    blocks = (ROOT / "docs" / "evaluation.md").read_text().split("```")[1::2]
    lines = next(block.lstrip() for block in blocks if block.lstrip().startswith('{"question"'))
    first, second, third = read_items(written(tmp_path / "q.jsonl", lines))
    assert (first.id, first.target, first.category, first.effective_grader) == ("1", "22", "sums", "exact")
    assert (second.id, second.target, second.effective_grader) == ("q2", "B", "choice")
    assert second.prompt == "Which is a prime?\n\nA) 21\nB) 23\nC) 25"
    assert (third.effective_grader, third.tolerance) == ("numeric", 0.001)


def test_csv_and_json_say_the_same_also_compressed(tmp_path: Path) -> None:
    found = read_items(written(tmp_path / "q.csv", CSV))
    rows: list[dict[str, object]] = [
        {"id": 2, "question": "What is 2 + 2?", "target": 4, "category": "sums"},
        {"id": 3, "question": "Which is a prime?", "target": "23", "choices": ["21", "23"]},
    ]
    packed = tmp_path / "q.jsonl.gz"
    packed.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    assert found == read_items(packed)
    assert [item.target for item in found] == ["4", "B"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"question": "a"}', "line 2: the field target is missing"),
        ('{"target": "a"}', "line 2: the field question is missing"),
        (
            '{"question": "a", "target": "b", "answer": "c"}',
            "line 2: unknown field 'answer'; a question has: id",
        ),
        (
            '{"question": "a", "target": "b", "grader": "fuzzy"}',
            "line 2: unknown grader 'fuzzy'; choose one of: exact",
        ),
        ('{"question": "a", "target": "b", "choices": "b or c"}', "line 2: choices must be a JSON list"),
        (
            '{"question": "a", "target": "b", "choices": ["c", "d"]}',
            "line 2: question '2': its target 'b' is not one of",
        ),
        ('{"question": "a", "target": "1", "tolerance": 2}', "line 2: tolerance must be a relative error"),
        ('{"id": "1", "question": "a", "target": "b"}', "line 2: the question 1 appears twice"),
        ('{"question": "a", "target": ["4", "four"]}', "line 2: target must be one text or number, not ['4'"),
        ('{"question": "a", "target": {"is": 4}}', "line 2: target must be one text or number, not {'is'"),
        ('{"question": ["a"], "target": 4}', "line 2: question must be one text or number, not ['a']"),
        ('{"question": "a", "target": NaN}', "line 2: target must be one text or number, not nan"),
        (
            '{"question": "a", "target": 4, "choices": [4, [5]]}',
            "line 2: a choice must be one text or number",
        ),
        (
            '{"question": "a", "target": "b", "choices": "' + "[" * 5000 + '"}',
            "line 2: choices must be a JSON list",
        ),
        (
            '{"question": "a", "target": "many", "grader": "numeric"}',
            "line 2: question '2' uses the numeric grader, but its target 'many' is not a number",
        ),
        ('{"question": "\\ud800?", "target": "b"}', "line 2: question contains a NUL or half a character"),
        ('{"question": "a", "target": "b\\u0000"}', "line 2: target contains a NUL or half a character"),
        (
            '{"question": "a", "target": "A", "choices": "[\\"\\\\udc00\\", \\"b\\"]"}',
            "line 2: choices contains a NUL",
        ),
        ("[1]", "line 2: a line must be a JSON object"),
        ("{", "line 2 is not JSON"),
    ],
)
def test_an_invalid_line_is_reported_with_its_number(tmp_path: Path, line: str, message: str) -> None:
    path = written(tmp_path / "q.jsonl", '{"id": 1, "question": "a", "target": "b"}\n' + line + "\n")
    with pytest.raises(UsageError) as caught:
        read_items(path)
    assert message in str(caught.value)


def test_an_included_set_is_found_by_name_and_an_inspect_task_is_left_to_inspect() -> None:
    small = find_items("small", seed=3, limit=5)
    assert small is not None
    assert len(small) == 5
    assert all(isinstance(item, Item) for item in small)
    assert find_items("inspect_evals/gsm8k") is None
    assert find_items("hf/org/arc_1.1") is None
    with pytest.raises(UsageError, match="cannot read"):
        find_items("nowhere.csv")


@pytest.mark.parametrize("name", ["", " "])
def test_an_empty_name_is_not_an_inspect_task(name: str) -> None:
    with pytest.raises(UsageError, match=r"the name is empty; DATASET is a \.csv or \.jsonl file"):
        find_items(name)


@rows("name", ["q.json", "cases.py", "cases.py@one", "here/and/there", "../q", "~/q"])
def test_a_missing_file_is_not_an_inspect_task(name: str) -> None:
    with pytest.raises(
        UsageError, match=r"there is no file .*; DATASET is a \.csv or \.jsonl file, one of small"
    ):
        find_items(name)


def test_a_python_file_is_left_to_inspect_and_other_kinds_are_refused(tmp_path: Path) -> None:
    assert find_items(str(written(tmp_path / "cases.py", ""))) is None
    assert find_items(f"{tmp_path / 'cases.py'}@one") is None
    assert find_items(str(tmp_path)) is None
    with pytest.raises(UsageError, match=r"q\.json: DATASET must be a \.csv or \.jsonl file"):
        find_items(str(written(tmp_path / "q.json", "[]")))


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no questions"):
        read_items(written(tmp_path / "q.csv", "question,target\n"))
