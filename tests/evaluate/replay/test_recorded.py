"""Files of recorded answers."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from pnyx.errors import UsageError
from pnyx.evaluate.replay.recorded import read_recorded
from pnyx.reliability.accuracy import AnsweredQuestion
from tests.support.sources import ROOT

CSV = """id,gold,category,options,lab:alpha,beta
1,B,law,4,b,C
2,"1,000",,,1000,
3,A,law,4,NA,A
"""
JSONL = """{"id": 1, "gold": "B", "category": "law", "options": 4, "answers": {"lab:alpha": "b", "beta": "C"}}

{"id": 2, "gold": 1000, "answers": {"lab:alpha": 1000, "beta": null}, "seconds": 3}
{"id": 3, "gold": "A", "category": "law", "options": 4, "answers": {"lab:alpha": "NA", "beta": "A"}}
"""
BOTH = [
    AnsweredQuestion({"lab:alpha": "B", "beta": "C"}, "B", 4, "law"),
    AnsweredQuestion({"lab:alpha": "1000", "beta": None}, "1000"),
]


def written(folder: Path, text: str, name: str) -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "name"),
    [(CSV, "a.csv"), (CSV, "a.csv.gz"), ("\ufeff" + CSV.replace("\n", "\r\n"), "a.csv"), (JSONL, "a.jsonl")],
    ids=["csv", "csv.gz", "csv as spreadsheets write it", "jsonl"],
)
def test_answers_are_normalised_and_questions_that_a_model_was_not_asked_are_left_out(
    tmp_path: Path, text: str, name: str
) -> None:
    assert read_recorded(written(tmp_path, text, name)) == BOTH


def test_the_csv_and_json_examples_in_the_docs_are_equal(tmp_path: Path) -> None:
    blocks = (ROOT / "docs" / "evaluation.md").read_text().split("```")[1::2]
    table, lines = (
        next(b.lstrip() for b in blocks if b.lstrip().startswith(start)) for start in ("id,", '{"id": 1')
    )
    found = read_recorded(written(tmp_path, table, "a.csv"))
    assert found == read_recorded(written(tmp_path, lines, "a.jsonl"))
    assert [question.gold for question in found] == ["B"]


def test_a_panel_selects_and_orders_the_models(tmp_path: Path) -> None:
    found = read_recorded(written(tmp_path, CSV, "a.csv"), ["beta"])
    assert [q.answers for q in found] == [{"beta": "C"}, {"beta": None}, {"beta": "A"}]
    both = read_recorded(written(tmp_path, CSV, "a.csv"), ["beta", "lab:alpha"])
    assert [list(q.answers) for q in both] == [["beta", "lab:alpha"]] * 2


def test_rows_can_be_selected_by_a_column_which_is_then_not_a_model(tmp_path: Path) -> None:
    path = written(tmp_path, "id,gold,checked,beta\n1,A,1,A\n2,B,0,A\n", "a.csv")
    assert read_recorded(path, where={"checked": "1"}) == [AnsweredQuestion({"beta": "A"}, "A")]
    with pytest.raises(UsageError, match="has no row with checked=2"):
        read_recorded(path, where={"checked": "2"})


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("true", "true"),
        ("null", ""),
        ("null", "null"),
        ("1.0", "1"),
        ("1", "1.0"),
        ('"1"', "1"),
        ('"x y"', "x y"),
    ],
)
def test_a_json_column_is_compared_as_json(tmp_path: Path, cell: str, value: str) -> None:
    row = '{"id": %d, "gold": "A", "ok": %s, "answers": {"a": "A"}}'
    path = written(tmp_path, "\n".join([row % (1, cell), row % (2, '"other"')]), "a.jsonl")
    assert len(read_recorded(path, where={"ok": value})) == 1
    with pytest.raises(UsageError, match="has no row with ok=True"):
        read_recorded(path, where={"ok": "True"})


def test_na_with_a_blank_is_still_na(tmp_path: Path) -> None:
    path = written(tmp_path, "id,gold,a,b\n1,A,A,B\n2,A,A, NA\n", "a.csv")
    assert read_recorded(path) == [AnsweredQuestion({"a": "A", "b": "B"}, "A")]


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("id,gold,a\n1,A,A\n1,B,B\n", "a.csv", "line 3: the question 1 appears twice"),
        ("id,gold,a\n1,,A\n", "a.csv", "line 2: the gold answer is missing"),
        ("id,a\n1,A\n", "a.csv", "line 2: the column `gold` is missing"),
        ("gold,a\n1,A\n", "a.csv", "line 2: the column `id` is missing"),
        ("id,gold,options,a\n1,A,four,A\n", "a.csv", "'four' is not a number of options"),
        ("id,gold,options,a\n1,A,1,A\n", "a.csv", "'1' is not a number of options"),
        ("id,gold,a\n1,A,NA\n", "a.csv", "no question that all models of the panel were asked"),
        ("", "a.csv", "no question that all models of the panel were asked"),
        ('{"id": 1}\n', "a.jsonl", "line 1: a line must be an object with an object `answers`"),
        ("[" * 5000, "a.jsonl", "line 1 is not JSON"),
        ("{,}", "a.jsonl", "line 1 is not JSON"),
        (CSV, "a.txt", ".csv or .jsonl"),
        (JSONL.replace('"gold": "B"', '"gold": ["B"]'), "a.jsonl", "line 1: gold must be one text or number"),
        (JSONL.replace('"beta": "C"', '"beta": {"is": 3}'), "a.jsonl", "line 1: beta must be one text"),
    ],
)
def test_an_invalid_line_is_reported(tmp_path: Path, text: str, name: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        read_recorded(written(tmp_path, text, name))
    assert message in str(error.value)


@pytest.mark.parametrize(
    "options",
    [
        "Infinity",
        "-Infinity",
        "NaN",
        "1e400",
        "-4",
        "0",
        "1",
        "4.5",
        "true",
        '"four"',
        "[4]",
        "{}",
        "1" * 400,
    ],
)
def test_an_invalid_number_of_options_is_refused(tmp_path: Path, options: str) -> None:
    path = written(tmp_path, JSONL.replace('"options": 4', f'"options": {options}', 1), "a.jsonl")
    with pytest.raises(UsageError, match=r"a\.jsonl, line 1: .{1,45} is not a number of options; write 2 to"):
        read_recorded(path)


@pytest.mark.parametrize("options", ["4.0", '"4"', '" 4 "'])
def test_a_number_of_options_may_be_text_or_a_float(tmp_path: Path, options: str) -> None:
    path = written(tmp_path, JSONL.replace('"options": 4', f'"options": {options}'), "a.jsonl")
    assert read_recorded(path) == BOTH


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"id,gold,a\n1,A,\xff\n", "save it as UTF-8"),
        ("a.csv", b'id,gold,a\n1,A,A\n2,A,"' + b"x\n" * 99_999, "after line 2: .*a quote may be left open"),
        ("a.csv.gz", gzip.compress(CSV.encode())[:-12], "compress it again"),
        ("a.csv.gz", gzip.compress(CSV.encode())[:10] + b"\xff" * 20, "compress it again"),
        ("a.jsonl.gz", gzip.compress(JSONL.encode())[:-8] + b"\0" * 8, "compress it again"),
        ("a.csv.gz", b"not gzip", "compress it again"),
        ("missing.csv", None, "No such file"),
    ],
    ids=["bytes", "quote", "cut short", "no deflate", "no checksum", "no gzip", "missing"],
)
def test_a_damaged_or_missing_file_is_refused_with_advice(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=rf"cannot read .*{name}.*{message}"):
        read_recorded(tmp_path / name)


def test_a_model_that_is_not_in_the_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no answer of gamma"):
        read_recorded(written(tmp_path, CSV, "a.csv"), ["beta", "gamma"])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "id,gold,alpha,beta\n1,2,1,000,1000\n", "line 2: more cells"),
        ("a.csv", "id,gold,alpha,beta\n1,2,1,1\n2,2,1\n", "line 3: fewer cells"),
        ("a.csv", "id,gold,alpha,alpha\n1,2,1,1\n", "two columns have the name 'alpha'"),
        (
            "a.jsonl",
            '{"id": 1, "gold": 1, "answers": {"a": 1, "b": 1}}\n{"id": 2, "gold": 1, "answers": {"a": 1}}\n',
            "line 2: no answer of b",
        ),
        (
            "a.jsonl",
            '{"id": 1, "gold": 1, "answers": {"a": 1}}\n{"id": 2, "gold": 1, "answers": {"a": 1, "b": 1}}\n',
            "line 2: it has an answer of b",
        ),
    ],
)
def test_rows_unlike_the_first_are_reported(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(UsageError, match=message):
        read_recorded(tmp_path / name)
