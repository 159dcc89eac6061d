"""Roles for a panel."""

from __future__ import annotations

import pytest

from pnyx.core.roles import ADVOCATE, NAMES, PRAGMATIST, SKEPTIC, assign
from pnyx.errors import UsageError


def test_diverse_is_skeptic_advocate_pragmatist_in_turn() -> None:
    assert assign("diverse", "abcde") == (SKEPTIC, ADVOCATE, PRAGMATIST, SKEPTIC, ADVOCATE)


def test_redteam_is_one_advocate_and_the_rest_skeptics() -> None:
    assert assign("redteam", "abc") == (ADVOCATE, SKEPTIC, SKEPTIC)


@pytest.mark.parametrize("name", NAMES)
def test_every_seat_has_one_role(name: str) -> None:
    assert [len(assign(name, range(n))) for n in range(1, 8)] == list(range(1, 8))
    assert assign(name, ()) == ()


def test_unknown_roles_are_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="unknown roles 'jesters'; choose one of: diverse, redteam"):
        assign("jesters", "abc")
