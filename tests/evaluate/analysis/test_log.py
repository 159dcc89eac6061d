"""The log file of an evaluation."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from pathlib import Path

import pytest

from pnyx.errors import UsageError
from pnyx.evaluate.analysis.log import Arm, Log, Row
from tests.evaluate.logs import log, random_log
from tests.support.sources import ROOT


def test_a_log_reads_back_as_it_was_written(tmp_path: Path) -> None:
    def change(row: Row) -> dict[str, object]:
        return {
            "steps": (True, None, False),
            "detail": {"model": "a\u202e\n"},
            "confidence": 0.5,
            "cost_usd": None,
        }

    made = random_log(5, change=change, seed=3)
    made.write(tmp_path / "log.jsonl")
    assert Log.read(tmp_path / "log.jsonl") == made
    assert len((tmp_path / "log.jsonl").read_text("utf-8").splitlines()) == 1 + len(made.rows)


def test_the_docs_list_every_field(tmp_path: Path) -> None:
    random_log(5, seed=3).write(tmp_path / "log.jsonl")
    head, row = map(json.loads, (tmp_path / "log.jsonl").read_text().splitlines()[:2])
    section = (ROOT / "docs" / "evaluation.md").read_text().split("\n## The log\n")[1].split("\n## ")[0]
    for written, table in zip((head, row), section.split("| field |")[1:], strict=True):
        cells = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
        assert sorted(written) == sorted(name for cell in cells for name in re.findall(r"`(\w+)`", cell))
    assert f"`{{{', '.join(field.name for field in fields(Arm))}}}`" in section


def test_only_questions_that_every_model_was_asked_are_compared() -> None:
    made = log({"a": "+_+x", "b": "++_x"}, {"council": "++++"})
    assert made.ids == ("q000", "q003")
    assert made.by_arm["council"].keys() == {"q000", "q001", "q002", "q003"}


def test_the_last_row_of_a_question_counts() -> None:
    made = log({"a": "+"})
    changed = replace(made, rows=(*made.rows, replace(made.rows[0], correct=False)))
    assert not changed.by_arm["a"]["q000"].correct


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '[{"arm": "a"}]',
        "null",
        "[" * 100_000,
        '{"arm": "a"}',
        '{"arm": "nobody", "id": "q1"}',
        '{"arm": "a", "id": "q1", "unknown": 1}',
        '{"arm": "a", "id": "q1", "steps": 3}',
        '{"arm": "a", "id": "q1", "correct": true, "error": "no seat answered"}',
        *(
            f'{{"arm": "a", "id": "q1", "{name}": {value}}}'
            for name, values in {
                "confidence": (2.0, -0.5, 1e308, "1e999"),
                "cost_usd": (-1.0, 1e308),
                "seconds": (-3.0, 1e308),
                "calls": (-1, 10**400),
                "output_tokens": (-1, 10**400),
                "options": (0, 1),
            }.items()
            for value in values
        ),
    ],
)
def test_an_invalid_row_is_reported_with_its_line_number(line: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log({"a": "+x"}).write(path)
    path.write_text(path.read_text("utf-8") + line + "\n", "utf-8")
    with pytest.raises(UsageError, match="line 4"):
        Log.read(path)


def test_a_file_that_is_not_a_log_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with pytest.raises(UsageError, match="cannot read the log"):
        Log.read(path)
    path.write_text("\n")
    with pytest.raises(UsageError, match="empty"):
        Log.read(path)
    path.write_text('{"id": 1}\n')
    with pytest.raises(UsageError, match="line 1"):
        Log.read(path)
    made = log({"a": "+"})
    made.write(path)
    head, *rows = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([json.dumps({**json.loads(head), "pnyx_eval": 99}), *rows]))
    with pytest.raises(UsageError, match="does not read"):
        Log.read(path)
