"""What later runs learn from a graded evaluation."""

from __future__ import annotations

import pytest

from pnyx.evaluate.analysis.learning import lessons
from pnyx.evaluate.analysis.log import Row
from tests.evaluate.logs import log


@pytest.mark.parametrize(
    ("rule", "kind"),
    [("vote share", "voting"), ("vote share, strongest first", "voting, strongest first"), (None, "voting")],
)
def test_a_lesson_names_the_measure_that_its_confidence_belongs_to(rule: str | None, kind: str) -> None:
    def change(row: Row) -> dict[str, object]:
        rated = {"confidence": 0.5, "rule": rule} if row.arm == "voting" else {}
        return {"run_id": f"{row.arm} {row.id}", **rated}

    made = log({"a": "+x", "b": "xx"}, {"voting": "+x"}, change=change)
    found = [lesson for id, lesson in lessons(made) if id.startswith("voting")]
    assert [(one.protocol, one.result, one.raw) for one in found] == [
        (kind, "success", 0.5),
        (kind, "failure", 0.5),
    ]
