"""Keys in the responses of a host are masked before they are published or recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pnyx.core.events import CallFailed, CallFinished, Event, RunFinished, Token
from pnyx.core.models import Usage
from pnyx.errors import ProviderError
from pnyx.protocols import get
from pnyx.providers.base import Call, Completion
from pnyx.providers.redaction import Redactor
from tests.support.panels import Host
from tests.support.processes import PANEL, Node, fixed_reply

Make = Callable[[Host], Node]
KEY = "sk-planted-0123456789"


class Babbling(Host):
    """Streams these pieces, then returns a completion: by default, all pieces."""

    def __init__(self, pieces: Sequence[str], *ends: ProviderError | Completion) -> None:
        super().__init__(fixed_reply)
        self.pieces, self.ends = pieces, list(ends)

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
        await asyncio.sleep(0.05)  # the watcher asks for text after the run has started
        for piece in self.pieces:
            if on_text is not None:
                on_text(piece)
                await asyncio.sleep(0)  # what arrives in one turn of the event loop is one piece
        end = self.ends.pop(0) if self.ends else Completion("".join(self.pieces), Usage(10, 0, 10, 0))
        if isinstance(end, ProviderError):
            raise end
        return end


async def watched(make: Make, host: Host, **changes: Any) -> list[Event]:
    """All events of a run with one seat, including tokens."""
    node = make(host)
    node.runner.providers.redact = node.runner.providers.redact_replies = Redactor([KEY])
    handle = await node.start(protocol="single", seats=PANEL[:1], **changes)
    return [event async for event in handle.events(tokens=True)]


async def test_a_key_split_over_tokens_is_masked_in_them_and_in_the_reply(make: Make) -> None:
    log = await watched(
        make, Babbling(["My key ", "is sk-", "planted", "-0123456789", ", ask", " sk-planted."])
    )
    (finished,) = (e for e in log if isinstance(e, CallFinished))
    tokens = [e for e in log if isinstance(e, Token)]
    assert finished.text == "My key is [redacted], ask sk-planted."
    assert [e.text for e in tokens] == ["My key ", "is ", "[redacted]", ", a", "sk sk-planted."]
    assert KEY not in str(log)
    first, last = log[0].time, log[-1].time
    assert all(first <= e.time <= last for e in tokens)


async def test_text_of_a_failed_attempt_is_published_once_and_complete(make: Make) -> None:
    broken = ProviderError("truncated", f"broke off after {KEY}", billed=True)
    log = await watched(make, Babbling(["The beginning: ", KEY[:9]], broken), retries=1)
    (failed,) = (e for e in log if isinstance(e, CallFailed))
    assert failed.message == "broke off after [redacted]"
    assert [e.text for e in log if isinstance(e, Token)] == ["The beginning: ", KEY[:9]] * 2


async def test_everything_that_a_host_returns_with_a_reply_is_masked(make: Make) -> None:
    completion = Completion(
        f"yes {KEY}", Usage(10, 0, 10, 0), model=f"alpha-{KEY}", sources=(f"http://h/?{KEY}",)
    )
    log = await watched(make, Babbling([], completion))
    (finished,) = (e for e in log if isinstance(e, CallFinished))
    assert (finished.model, finished.sources) == ("alpha-[redacted]", ("http://h/?[redacted]",))
    assert KEY not in str(log)


async def test_a_bug_is_recorded_without_the_key_in_it(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(brief: Any, panel: Any) -> Any:
        raise ZeroDivisionError(f"Bearer {KEY}")

    bad = replace(get("single"), script=broken)
    monkeypatch.setattr("pnyx.protocols.get", lambda name: bad)
    log = await watched(make, Host(fixed_reply))
    assert isinstance(log[-1], RunFinished)
    said = log[-1].result["detail"]["message"]
    assert said.partition(" (")[0] == "ZeroDivisionError: Bearer [redacted]"
