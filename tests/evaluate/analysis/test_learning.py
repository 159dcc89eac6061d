"""What a graded evaluation teaches later runs."""

from __future__ import annotations

import pytest

from pnyx.evaluate.analysis.learning import judged
from pnyx.evaluate.analysis.log import Row
from tests.evaluate.logs import log


@pytest.mark.parametrize(
    ("rule", "kind"),
    [("vote share", "voting"), ("vote share, strongest first", "voting, strongest first"), (None, "voting")],
)
def test_a_confidence_is_taught_as_what_it_is_calibrated_as(rule: str | None, kind: str) -> None:
    def change(row: Row) -> dict[str, object]:
        said = {"confidence": 0.5, "rule": rule} if row.arm == "voting" else {}
        return {"run_id": f"{row.arm} {row.id}", **said}

    made = log({"a": "+x", "b": "xx"}, {"voting": "+x"}, change=change)
    taught = [known for id, known in judged(made) if id.startswith("voting")]
    assert [(one.protocol, one.result, one.raw) for one in taught] == [
        (kind, "success", 0.5),
        (kind, "failure", 0.5),
    ]
