"""The reference of settings lists exactly the keys, defaults and variables that exist."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from pnyx.config.load import keys, load, variables
from pnyx.config.schema import TABLES

DOCS = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")


def default_of(key: str) -> str:
    *table, name = key.split(".")
    field = TABLES[tuple(table)].model_fields[name]
    if field.is_required():
        return "required"
    value: Any = field.get_default(call_default_factory=True)
    match value:
        case None:
            return "none"
        case bool():
            return f"`{str(value).lower()}`"
        case str():
            return f"`{value}`"
        case int() | float():
            return f"{value:g}"
        case _:
            return f"`{json.dumps(value)}`" if isinstance(value, tuple) else "none"


def test_every_key_is_documented_with_its_default_and_no_other() -> None:
    rows = re.findall(r"^\| `([^`]+\.[^`]+)` \| [^|]+ \| ([^|]+) \|", DOCS, re.MULTILINE)
    assert dict(rows) == {key: default_of(key) for key in map(".".join, keys())}


def test_every_variable_is_documented_with_its_key_and_no_other() -> None:
    rows = dict(re.findall(r"^\| `(PNYX_\w+)` \| (.+) \|$", DOCS, re.MULTILINE))
    documented = {variable: re.findall(r"`([^`]+)`", text) for variable, text in rows.items()}
    assert documented == {
        **{variable: [".".join(key)] for variable, key in variables().items()},
        "PNYX_CONSENSUS_ROUNDS": ["consensus.rounds"],
        "PNYX_CONFIG": [],
        "PNYX_MODELS": [],
    }


def test_example_loads(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", DOCS, re.DOTALL)
    (tmp_path / "example.toml").write_text(example)
    env = {"HOME": str(tmp_path), "PNYX_CONFIG": "example.toml"}
    settings = load(env=env, cwd=tmp_path, protocol_names=["consensus"])
    assert settings.panel.seats == ("lab:alpha*2", "anthropic:claude-opus-5-5")
    assert settings.models["lab:alpha"].context == 32768
    assert settings.protocols == {"consensus": {"rounds": 3}}
