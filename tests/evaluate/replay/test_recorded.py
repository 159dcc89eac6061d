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
def test_answers_are_canonical_and_questions_not_asked_of_all_are_left_out(
    tmp_path: Path, text: str, name: str
) -> None:
    assert read_recorded(written(tmp_path, text, name)) == BOTH


def test_the_examples_in_the_docs_say_the_same_twice(tmp_path: Path) -> None:
    blocks = (ROOT / "docs" / "evaluation.md").read_text().split("```")[1::2]
    table, lines = (
        next(b.lstrip() for b in blocks if b.lstrip().startswith(start)) for start in ("id,", '{"id": 1')
    )
    found = read_recorded(written(tmp_path, table, "a.csv"))
    assert found == read_recorded(written(tmp_path, lines, "a.jsonl"))
    assert [question.gold for question in found] == ["B"]


def test_a_panel_is_some_of_the_models_in_its_own_order(tmp_path: Path) -> None:
    found = read_recorded(written(tmp_path, CSV, "a.csv"), ["beta"])
    assert [q.answers for q in found] == [{"beta": "C"}, {"beta": None}, {"beta": "A"}]
    both = read_recorded(written(tmp_path, CSV, "a.csv"), ["beta", "lab:alpha"])
    assert [list(q.answers) for q in both] == [["beta", "lab:alpha"]] * 2


def test_rows_can_be_chosen_by_any_column_which_is_then_no_model(tmp_path: Path) -> None:
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
def test_a_column_of_json_is_what_json_writes(tmp_path: Path, cell: str, value: str) -> None:
    row = '{"id": %d, "gold": "A", "ok": %s, "answers": {"a": "A"}}'
    path = written(tmp_path, "\n".join([row % (1, cell), row % (2, '"other"')]), "a.jsonl")
    assert len(read_recorded(path, where={"ok": value})) == 1
    with pytest.raises(UsageError, match="has no row with ok=True"):
        read_recorded(path, where={"ok": "True"})


def test_a_blank_beside_na_makes_it_no_answer(tmp_path: Path) -> None:
    path = written(tmp_path, "id,gold,a,b\n1,A,A,B\n2,A,A, NA\n", "a.csv")
    assert read_recorded(path) == [AnsweredQuestion({"a": "A", "b": "B"}, "A")]


@pytest.mark.parametrize(
    ("text", "name", "says"),
    [
        ("id,gold,a\n1,A,A\n1,B,B\n", "a.csv", "line 3: the question 1 comes a second time"),
        ("id,gold,a\n1,,A\n", "a.csv", "line 2: there is no gold answer"),
        ("id,a\n1,A\n", "a.csv", "line 2: there is no `gold`"),
        ("gold,a\n1,A\n", "a.csv", "line 2: there is no `id`"),
        ("id,gold,options,a\n1,A,four,A\n", "a.csv", "'four' is no number of options"),
        ("id,gold,options,a\n1,A,1,A\n", "a.csv", "'1' is no number of options"),
        ("id,gold,a\n1,A,NA\n", "a.csv", "no question that all of the panel were asked"),
        ("", "a.csv", "no question that all of the panel were asked"),
        ('{"id": 1}\n', "a.jsonl", "line 1: wanted an object with the object `answers`"),
        ("[" * 5000, "a.jsonl", "line 1 is not JSON"),
        ("{,}", "a.jsonl", "line 1 is not JSON"),
        (CSV, "a.txt", ".csv or .jsonl"),
        (JSONL.replace('"gold": "B"', '"gold": ["B"]'), "a.jsonl", "line 1: gold is one text or number"),
        (JSONL.replace('"beta": "C"', '"beta": {"is": 3}'), "a.jsonl", "line 1: beta is one text or number"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(tmp_path: Path, text: str, name: str, says: str) -> None:
    with pytest.raises(UsageError) as error:
        read_recorded(written(tmp_path, text, name))
    assert says in str(error.value)


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
def test_options_that_are_no_number_of_such_are_refused(tmp_path: Path, options: str) -> None:
    path = written(tmp_path, JSONL.replace('"options": 4', f'"options": {options}', 1), "a.jsonl")
    with pytest.raises(UsageError, match=r"a\.jsonl, line 1: .{1,45} is no number of options; wanted 2 to"):
        read_recorded(path)


@pytest.mark.parametrize("options", ["4.0", '"4"', '" 4 "'])
def test_options_may_be_written_as_tables_do(tmp_path: Path, options: str) -> None:
    path = written(tmp_path, JSONL.replace('"options": 4', f'"options": {options}'), "a.jsonl")
    assert read_recorded(path) == BOTH


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.csv", b"id,gold,a\n1,A,\xff\n", "save it as UTF-8"),
        ("a.csv", b'id,gold,a\n1,A,A\n2,A,"' + b"x\n" * 99_999, "after line 2: .*a quote may be left open"),
        ("a.csv.gz", gzip.compress(CSV.encode())[:-12], "compress it once more"),
        ("a.csv.gz", gzip.compress(CSV.encode())[:10] + b"\xff" * 20, "compress it once more"),
        ("a.jsonl.gz", gzip.compress(JSONL.encode())[:-8] + b"\0" * 8, "compress it once more"),
        ("a.csv.gz", b"not gzip", "compress it once more"),
        ("missing.csv", None, "No such file"),
    ],
    ids=["bytes", "quote", "cut short", "no deflate", "no checksum", "no gzip", "missing"],
)
def test_a_file_that_is_damaged_or_not_there_is_refused_with_what_to_do(
    tmp_path: Path, name: str, content: bytes | None, told: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=rf"cannot read .*{name}.*{told}"):
        read_recorded(tmp_path / name)


def test_a_model_that_is_not_in_the_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no answer of gamma"):
        read_recorded(written(tmp_path, CSV, "a.csv"), ["beta", "gamma"])


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.csv", "id,gold,alpha,beta\n1,2,1,000,1000\n", "line 2: more cells"),
        ("a.csv", "id,gold,alpha,beta\n1,2,1,1\n2,2,1\n", "line 3: fewer cells"),
        ("a.csv", "id,gold,alpha,alpha\n1,2,1,1\n", "two columns are called 'alpha'"),
        (
            "a.jsonl",
            '{"id": 1, "gold": 1, "answers": {"a": 1, "b": 1}}\n{"id": 2, "gold": 1, "answers": {"a": 1}}\n',
            "line 2: no answer of b",
        ),
        (
            "a.jsonl",
            '{"id": 1, "gold": 1, "answers": {"a": 1}}\n{"id": 2, "gold": 1, "answers": {"a": 1, "b": 1}}\n',
            "line 2: an answer of b",
        ),
    ],
)
def test_rows_that_do_not_fit_are_named(tmp_path: Path, name: str, content: str, told: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(UsageError, match=told):
        read_recorded(tmp_path / name)
