"""Why a reply has no answer, as its seat says it."""

from __future__ import annotations

import pytest

from pnyx.core.models import Usage
from pnyx.providers.base import Completion
from pnyx.run.calls.reply import no_answer

COUNTED = (
    "no answer: {} tokens went to reasoning; raise max_output_tokens (now 200) or lower reasoning_effort"
)


@pytest.mark.parametrize(
    ("done", "billed", "reason"),
    [
        (Completion("", Usage(9, 0, 200, 150), "length"), Usage(9, 0, 200, 150), COUNTED.format(150)),
        (Completion("", Usage(9, 0, 2000), "length"), Usage(9, 0, 2000), COUNTED.format("2,000")),
        # The reservation is no count of what the model wrote.
        (
            Completion("", None, "length"),
            Usage(9, 0, 200),
            "no answer before the limit of the reply; raise max_output_tokens (now 200)",
        ),
        (
            Completion("", None, "length", reasoning="So it is not that. " * 10),
            Usage(9, 0, 200),
            COUNTED.format(103),
        ),
        (Completion("", Usage(9, 0, 3)), Usage(9, 0, 3), "empty"),
    ],
)
def test_a_reply_that_ends_before_its_answer_says_what_its_tokens_went_to(
    done: Completion, billed: Usage, reason: str
) -> None:
    assert no_answer(done, billed, "max_output_tokens (now 200)") == reason
