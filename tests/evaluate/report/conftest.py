"""What tests of the report share."""

from __future__ import annotations

import pytest

from pnyx.evaluate.analysis import arms
from pnyx.reliability.weights import equal


@pytest.fixture
def unweighted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every model has one vote, for tests of other arms: learning takes most of the time of a report."""
    monkeypatch.setattr(arms, "learn", lambda questions, models: equal(models))
