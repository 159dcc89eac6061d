"""Every statement of the specification has a test whose name one can find from it: `specification.toml`."""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from itertools import groupby
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from tests.support.rows import rows

TESTS = Path(__file__).parents[1]
SECTIONS: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("specification.toml").read_text("utf-8")
)
NAMES = (
    *("common ground", "consensus", "voting", "auto", "decompose", "tools in a phase", "council"),
    *("aggregate", "deliberate", "moa", "single and sample"),
)


@cache
def written(page: str) -> frozenset[str]:
    """The names of the tests of a page, read without running it."""
    tree = ast.parse((TESTS / page).read_text("utf-8"))
    functions = (n for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(f.name for f in functions if f.name.startswith("test_"))


def test_every_protocol_has_its_section() -> None:
    assert tuple(SECTIONS) == NAMES


@rows("section", SECTIONS)
def test_every_statement_names_tests_that_exist(section: str) -> None:
    for id, statement in SECTIONS[section].items():
        assert statement.keys() == {"says", "by"}, f"{section} {id}"
        assert statement["by"], f"{section} {id} is shown by nothing"
        for node in statement["by"]:
            page, _, name = node.partition("::")
            assert (TESTS / page).is_file(), f"{section} {id}: there is no page {page}"
            assert name in written(page), f"{section} {id}: {page} has no {name}"


@rows("section", SECTIONS)
def test_ids_go_on_without_gaps(section: str) -> None:
    """1, 2a, 2b, 3 …: from 0 where something comes before the specification's own numbers."""
    numbers = [(int(id.rstrip(ascii_lowercase)), id.lstrip("0123456789")) for id in SECTIONS[section]]
    groups = {n: [letter for _, letter in some] for n, some in groupby(numbers, lambda number: number[0])}
    first = next(iter(groups))
    assert first in (0, 1)
    assert list(groups) == list(range(first, first + len(groups)))
    for n, letters in groups.items():
        assert letters in ([""], list(ascii_lowercase[: len(letters)])), f"{section} {n}"


def test_no_statement_is_made_twice_and_each_is_one_line() -> None:
    said = [one["says"] for statements in SECTIONS.values() for one in statements.values()]
    assert len(set(said)) == len(said)
    assert not [text for text in said if not 10 < len(text) <= 120 or "\n" in text or not text.endswith(".")]
