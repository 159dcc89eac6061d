"""Messages about a settings file name the line of the key that is wrong."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.config.key_lines import key_lines
from pnyx.config.load import load
from pnyx.errors import ConfigError

NAMES = st.sampled_from(["a", "b-1", '"x:y"', "'z.w'", '"\\u00e9 = [#"'])
VALUES = st.sampled_from(
    [
        *("1", "true", '"# no = [comment"', "'\"'", r'"\" # ["', "2026-01-01", "[]"),
        *("{c = [1], d = {e = '}'}}", '[\n  "]", # ] comment\n  2,\n]', '"""a"""""'),
        *('"""\nx = 1\n[t]\n\\"""\n"""', "'''\n\"\n[q]\n'''"),
    ]
)
ENDS = st.sampled_from(["\n", "\r\n"])
GAPS = st.lists(st.sampled_from(["", "# k = 1 [", "   "]), max_size=2)
SETTINGS = st.dictionaries(NAMES, st.tuples(VALUES, GAPS), max_size=3)


@given(SETTINGS, st.dictionaries(st.tuples(NAMES, NAMES), SETTINGS, max_size=3), ENDS)
def test_each_key_is_found_on_its_line(top: dict, tables: dict, end: str) -> None:  # type: ignore[type-arg]
    lines: list[str] = []
    expected: dict[tuple[str, ...], int] = {}

    def add(settings: dict, table: tuple[str, ...]) -> None:  # type: ignore[type-arg]
        for name, (value, gap) in settings.items():
            expected[(*table, *parts(name))] = len(lines) + 1
            lines.extend([*f"  {name} = {value} # after".split("\n"), *gap])

    add({f"top{n}": value for n, value in enumerate(top.values())}, ())
    for (outer, inner), settings in tables.items():
        expected[table := parts(f"{outer}.{inner}")] = len(lines) + 1
        lines.append(f"[ {outer} . {inner} ] # [k]")
        add(settings, table)
    text = end.join(lines)
    tomllib.loads(text)
    assert key_lines(text) == expected


def parts(name: str) -> tuple[str, ...]:
    found, inner = [], tomllib.loads(f"{name} = 0")
    while isinstance(inner, dict):
        ((part, inner),) = inner.items()
        found.append(part)
    return tuple(found)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("\n# mine\n[panel]\n\nseat = []", "panel.seat in pnyx.toml:5"),
        ("[providers.lab]\nkind = 'openai'\nbase_ur = ''", "providers.lab.base_ur in pnyx.toml:3"),
        ("[providers]\n\nlab = {kind = 'openai', base_ur = ''}", "providers.lab.base_ur in pnyx.toml:3"),
        ("[[panel]]\nseats = []", "panel in pnyx.toml:1 "),
        ("[run]\nseed = 1\n[run.phases.vot]\n\neffort = 'low'\n", "pnyx.toml:5"),
        ("[panels.fast]\nseats = ['''\na\n''',\n3]", "panels.fast.seats[1] in pnyx.toml:2"),
    ],
)
def test_a_problem_names_the_line(tmp_path: Path, text: str, place: str) -> None:
    (tmp_path / "pnyx.toml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(env={"HOME": str(tmp_path), "PNYX_CONFIG": "pnyx.toml"}, cwd=tmp_path)
    assert place in str(caught.value)


def test_a_named_file_that_is_missing_is_the_one_of_the_variable(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^\$PNYX_CONFIG: cannot read none\.toml: No such file"):
        load(env={"HOME": str(tmp_path), "PNYX_CONFIG": "none.toml"}, cwd=tmp_path)
