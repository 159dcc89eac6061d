"""Protocols describe themselves: no other folder lists their names; it reads an attribute instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import pnyx
from pnyx import protocols
from pnyx.core.decision import AGREEMENT_KNOWN, DECIDED, FINAL, STATUSES, UNDECIDED
from pnyx.errors import UsageError
from pnyx.protocols import decompose
from tests.support.packages import installing
from tests.support.rows import rows

ROOT = Path(pnyx.__file__).parent
OTHER_MEANINGS = {
    "__init__.py": {"aggregate", "deliberate"},  # public functions
    "interfaces/library.py": {"aggregate", "deliberate"},  # the same
    "core/decision.py": {"consensus", "single"},  # statuses
    "interfaces/cli/actions/panel.py": {"single"},  # the best model alone
    "interfaces/cli/actions/first_settings.py": {"auto", "consensus", "voting"},  # fast, balanced, thorough
    "interfaces/cli/commands/ask.py": {"decompose"},  # what --decompose is short for
    "evaluate/analysis/log.py": {"single"},  # a kind of arm
    "evaluate/report/page.py": {"single"},  # the same
    "interfaces/http/apis/responses.py": {"auto"},  # of truncation
    "telemetry/sample.py": {"sample"},  # of the gauges
}
"""Protocols' names in collections that mean something else there, or what another word means."""


def collected(source: str) -> Iterator[str]:
    """The strings in the collection literals of `source`, those of `Literal[...]` and `"...".split()` too."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                held = items
            case ast.Dict(keys=keys, values=values):
                held = [*filter(None, keys), *values]
            case ast.Subscript(value=ast.Name(id="Literal"), slice=one):
                held = [one]
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(words)), attr="split")):
                held = [ast.Constant(word) for word in words.split()]
            case _:
                continue
        for item in held:
            if isinstance(item, ast.Constant) and isinstance(item.value, str):
                yield item.value


def test_no_module_outside_protocols_lists_names_of_protocols() -> None:
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        where = path.relative_to(ROOT).as_posix()
        if not where.startswith("protocols/"):
            found[where] = set(collected(path.read_text("utf-8"))) & set(protocols.names())
    assert {where: names for where, names in found.items() if names} == OTHER_MEANINGS


@rows(
    "source",
    [
        'X = ("a", "moa")',
        'X = ["moa"]',
        'X = {"moa"}',
        'X = {"moa": 1}',
        'X = {1: "moa"}',
        'X = "a moa".split()',
        'X: Literal["moa"]',
        'X: Literal["a", "moa"]',
        'frozenset(("moa",))',
    ],
)
def test_a_name_is_found_in_every_kind_of_collection(source: str) -> None:
    assert "moa" in set(collected(source))


def test_those_that_only_hand_questions_on_do_not_run_inside_another() -> None:
    assert set(protocols.names()) - set(protocols.composable()) == {"auto", "decompose"}
    assert protocols.get("voting").composable
    assert decompose.PROTOCOL.options["inner"].allowed == protocols.composable()
    with pytest.raises(UsageError, match=r"inner must be one of aggregate, consensus, .*, not 'auto'"):
        decompose.PROTOCOL.resolve_options({"inner": "auto"})


def test_a_phase_is_called_after_what_is_contributed_in_it() -> None:
    council, consensus = protocols.get("council"), protocols.get("consensus")
    assert [council.noun(phase) for phase in ("proposing", "voting", "rebuttal")] == [
        "proposal",
        "vote",
        "rebuttal",
    ]
    assert consensus.noun("propose") == "propose"


@rows("name", protocols.names())
def test_what_a_protocol_says_of_its_phases_is_of_phases_that_it_has(name: str) -> None:
    protocol = protocols.get(name)
    phases = {transition.target for transition in protocol.phases.transitions}
    assert {*protocol.nouns, *protocol.closing} <= phases


def test_a_protocol_that_is_not_installed_is_found_to_be_none() -> None:
    assert protocols.find("bygone") is None
    assert protocols.find("moa") is protocols.get("moa")


def test_a_protocol_that_does_not_load_is_found_to_be_none(tmp_path: Path) -> None:
    with installing(tmp_path / "site") as install:
        install("ailing", "pnyx.protocols", "ailing = ailing_module:PROTOCOL", "raise ImportError")
        assert protocols.find("ailing") is None


def test_every_status_is_final_or_not_and_decided_or_not() -> None:
    assert {*DECIDED, *UNDECIDED} == set(STATUSES)
    assert not {*DECIDED} & {*UNDECIDED}
    assert FINAL - set(DECIDED) == {"failed", "cancelled"}
    assert set(DECIDED) - AGREEMENT_KNOWN == {"decided", "single"}
