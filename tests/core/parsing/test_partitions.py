"""Groups of texts that say the same, as a judge writes them."""

from __future__ import annotations

import pytest

from pnyx.core.parsing.json_objects import find_violation
from pnyx.core.parsing.partitions import groups_schema, read_groups
from pnyx.core.parsing.verdicts import Unreadable
from tests.support.rows import rows


@rows(
    "text, groups",
    [
        ('{"groups": [[1, 3], [2]]}', [[1, 3], [2]]),
        ('They part over the date.\n```json\n{"groups": [[1, 2, 3]]}\n```\n', [[1, 2, 3]]),
        ("{'groups': [[1, 2], [3],]}", [[1, 2], [3]]),
        ('{"groups": [["Text 1", "Text 2"], ["3"]]}', [[1, 2], [3]]),
        ('{"groups": [[1, 3], 2]}', [[1, 3], [2]]),
        ('{"groups": [[2, 3]]}', [[2, 3]]),
        ('{"groups": []}', []),
        ('{"groups": [[1, 2], [3], [2, 1], [3]]}', [[1, 2], [3]]),
    ],
)
def test_groups_are_read_as_they_are_written(text: str, groups: list[list[int]]) -> None:
    assert read_groups(text, 3) == groups


@rows(
    "text",
    [
        "Texts 1 and 3 say the same.",
        '{"groups": [[1, 2], [2, 3]]}',
        '{"groups": [[1, 4]]}',
        '{"groups": [[0]]}',
        '{"groups": [["all"]]}',
        '{"groups": "1 and 2"}',
        "",
    ],
)
def test_what_is_no_partition_of_the_texts_is_refused_with_the_expected_form(text: str) -> None:
    with pytest.raises(Unreadable, match="the numbers 1 to 3, each once"):
        read_groups(text, 3)


def test_a_group_holds_numbers_of_existing_texts() -> None:
    schema = groups_schema(3)
    assert find_violation({"groups": [[1, 3], [2]]}, schema) is None
    assert find_violation({"groups": [[1, 4]]}, schema) is not None
