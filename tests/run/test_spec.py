"""The values that a spec accepts, from any interface."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from pnyx.core.models import REVISION
from pnyx.errors import UsageError
from pnyx.run.spec import Spec
from tests.support.processes import spec

AMOUNTS = ("budget_usd", "day_usd", "batch_usd", "key_usd", "warn_usd", "deadline_s")


@pytest.mark.parametrize("name", AMOUNTS)
@pytest.mark.parametrize("value", [-1, 0, 0.0, math.nan, math.inf, 1e10, 10**400, True, "1"])
def test_an_invalid_amount_is_refused_with_what_to_do(name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=f"{name} must be a number above 0 and at most .*; leave it out"):
        spec(**{name: value}).check()


@pytest.mark.parametrize("value", [-1, 2**32, 2**40, 1.5, True, "1"])
def test_an_invalid_seed_is_refused_with_what_to_do(value: Any) -> None:
    with pytest.raises(
        UsageError, match=r"seed must be a whole number from 0 to 4294967295, not .*; leave it out"
    ):
        spec(seed=value).check()


def test_the_smallest_and_largest_values_are_accepted() -> None:
    for amount in (1e-9, 1, 1e9):
        spec(**dict.fromkeys(AMOUNTS, amount), allow_unknown_price=True).check()
    for seed in (0, 2**32 - 1):
        spec(seed=seed).check()


def test_a_stored_run_without_a_revision_keeps_the_rules_of_revision_1() -> None:
    stored = json.loads(json.dumps(spec().to_json()))
    assert Spec.from_json(stored).panel.revision == REVISION
    del stored["revision"]
    assert Spec.from_json(stored).panel.revision == 1
