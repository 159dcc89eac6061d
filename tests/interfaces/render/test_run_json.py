"""A run as JSON is written in parts, and is the same text as if it were written at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.events import Event, UnknownEvent, to_json
from pnyx.interfaces.render.markdown import Redact
from pnyx.interfaces.render.run_json import run_json
from pnyx.providers.redaction import redact_json
from tests.interfaces import events
from tests.interfaces.render.test_markdown import record

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
DOCUMENTS = st.dictionaries(st.text(), VALUES, max_size=4).map(lambda one: {**one, "type": "new"})


def written(head: dict[str, Any], log: Sequence[Event], size: int, redact: Redact = str) -> str:
    async def pages() -> AsyncIterator[Sequence[Event]]:
        for start in range(0, len(log), size):
            yield log[start : start + size]

    async def parts() -> str:
        return "".join([part async for part in run_json(head, pages(), redact)])

    return asyncio.run(parts())


@given(VALUES, st.lists(DOCUMENTS, max_size=5), st.integers(1, 3))
def test_it_is_the_text_that_the_json_module_writes(
    value: Any, found: list[dict[str, Any]], size: int
) -> None:
    log = [UnknownEvent(name="new", document=one) for one in found]
    expected = json.dumps({"result": value, "events": found}, indent=2) + "\n"
    assert written({"result": value}, log, size) == expected


def test_every_text_is_redacted_before_it_is_written() -> None:
    secret = 'se"cret\\'
    run = record(f"The key is {secret}.")

    def redact(text: str) -> str:
        return text.replace(secret, "[redacted]")

    found = written({"result": run.document}, run.events, 2, redact)
    plain = {"result": run.document, "events": [to_json(one) for one in run.events]}
    assert json.loads(found) == json.loads(json.dumps(redact_json(plain, redact)))
    assert "The key is [redacted]." in found
    assert "cret" not in found


def test_a_run_without_events_has_an_empty_list() -> None:
    assert json.loads(written({"run_id": "x"}, [], 1)) == {"run_id": "x", "events": []}


def test_the_order_is_that_of_the_events() -> None:
    log = events.with_seq(events.consensus_run())
    found = json.loads(written({}, log, 3))["events"]
    assert [one["seq"] for one in found] == [one.seq for one in log]
