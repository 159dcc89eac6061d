"""No test starts shortly before a day ends, in UTC or where the machine is."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.waiting import MIDNIGHT_S, until_midnight


@pytest.fixture(params=["UTC", "Asia/Kolkata", "America/St_Johns", "Pacific/Chatham"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 40_000).map(lambda days: days * 86_400.0), st.floats(-100_000, 100_000))
def test_a_test_starts_in_the_day_in_which_it_ends(zone: None, midnight: float, offset: float) -> None:
    now = max(midnight + offset, 0.0)
    start = now + until_midnight(now)
    start += 0.1 if start > now else 0.0
    assert start - now <= MIDNIGHT_S + 0.1
    for days in (time.gmtime, time.localtime):
        assert days(start)[:3] == days(start + MIDNIGHT_S - 1)[:3]
