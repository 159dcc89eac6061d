"""What telemetry does happens in a thread: it may fail or hang, and loses only its own items."""

from __future__ import annotations

import threading
import time

import pytest

from pnyx.telemetry.relay import Relay
from tests.support.waiting import STALL_S


def test_items_arrive_in_order_and_the_end_comes_last() -> None:
    seen: list[object] = []
    relay = Relay[int]("test", seen.append, at_end=lambda: seen.append("end"))
    for n in range(1000):
        relay.offer(n)
    assert relay.close(10)
    assert seen == [*range(1000), "end"]
    assert (relay.dropped, relay.failed) == (0, 0)


def test_a_failure_is_reported_once_counted_and_costs_one_item(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[int] = []

    def sink(n: int) -> None:
        if n % 2:
            raise ZeroDivisionError
        seen.append(n)

    relay = Relay[int]("test", sink)
    for n in range(10):
        relay.offer(n)
    assert relay.close(10)
    assert seen == [0, 2, 4, 6, 8]
    assert relay.failed == 5
    assert len(caplog.records) == 1


def test_what_hangs_is_left_behind() -> None:
    hold = threading.Event()
    relay = Relay[int]("test", lambda n: hold.wait(60), capacity=5)
    began = time.monotonic()
    for n in range(1000):
        relay.offer(n)
    assert not relay.drain(0.05)
    assert not relay.close(0.05)
    assert time.monotonic() - began < STALL_S
    assert relay.dropped >= 994
    hold.set()
