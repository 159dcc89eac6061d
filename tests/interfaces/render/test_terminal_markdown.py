"""Tables, pictures and links of an answer on a terminal, wide or narrow."""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from pnyx.interfaces.render.terminal_markdown import render_markdown

ANSI = re.compile(r"\x1b\[[0-9;]*m")
CELL = st.lists(st.text("abcxyz0123漢字é", min_size=1, max_size=30), max_size=4).map(" ".join)
TABLE = """| Option | Price of a month | What a team of two has to do |
|---|---:|---|
| A machine | 5 USD | upgrades, backups, monitoring |
| Managed | 15 USD | nothing |"""


def shown(table: str, width: int) -> list[str]:
    return ANSI.sub("", "\n".join(render_markdown(table, width))).split("\n")


def test_words_are_whole_in_narrow_columns() -> None:
    lines = "\n".join(shown(TABLE, 40))
    assert "─" in lines
    for word in TABLE.replace("|", " ").replace("-", " ").replace(":", " ").split():
        assert word in lines


def test_where_the_columns_do_not_fit_each_row_is_a_list() -> None:
    lines = [line.strip() for line in shown(TABLE, 24)]
    assert lines[1:3] == ["Option: A machine", "Price of a month: 5 USD"]
    assert "Option: Managed" in lines


@given(st.lists(st.lists(CELL, min_size=3, max_size=3), min_size=1, max_size=3), st.integers(12, 100))
def test_a_table_loses_nothing_at_any_width(rows: list[list[str]], width: int) -> None:
    table = "\n".join(["| one | two | three |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)])
    lines = shown(table, width)
    assert all(cell_len(line) <= width for line in lines)
    missing = Counter("".join(chain(*rows)).replace(" ", "")) - Counter("".join(lines))
    assert not missing


def test_a_picture_stays_in_its_place_with_its_address() -> None:
    text = "Before ![a *plan*](https://example.com/plan.png) after, and ![](b.png)."
    assert shown(text, 100) == ["Before a *plan* (https://example.com/plan.png) after, and picture (b.png)."]


def test_an_address_is_printed_once() -> None:
    text = "See <https://example.com/a_b>, [https://example.com/c](https://example.com/c), <me@example.com>,"
    assert shown(f"{text} [the site](https://example.com/d).", 200) == [
        "See https://example.com/a_b, https://example.com/c, me@example.com, the site (https://example.com/d)."
    ]
