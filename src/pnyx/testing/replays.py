"""Checks that a run of a protocol can be resumed from its recorded replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..core.models import Seat
from ..core.protocol import Protocol
from ..core.steps import Ask, Reply
from .driver import ProtocolDriver, Script, drive_protocol, prompt_name

__all__ = ["assert_replays"]


def assert_replays(
    protocol: Protocol | str, script: Script, seats: Sequence[Seat | str], **more: Any
) -> ProtocolDriver:
    """Check that a run of a protocol can be resumed, and return the first run; `AssertionError` if it cannot.

    A resumed run repeats the protocol with the recorded replies. So it must ask the same in the same places,
    and decide the same, from these alone: also if parallel branches end in another order. A protocol that
    reads a clock, draws its own random numbers, iterates over a set, or shares state between branches does
    not. more: as for `ProtocolDriver`.
    """
    first = drive_protocol(protocol, script, seats=seats, **more)
    second, recorded = _record(protocol, script, seats, more)
    _compare(first, second)
    for how, last_first in (
        ("resumed from its recorded replies", False),
        ("with branches in another order", True),
    ):
        again = _replay(protocol, recorded, seats, more, how, last_first)
        assert again.decision == first.decision, f"{how}, it decides {again.decision}, not {first.decision}"
        assert sorted(again.keys) == sorted(first.keys), f"{how}, it does not ask all that it asked before"
    return first


def _record(
    protocol: Protocol | str, script: Script, seats: Sequence[Seat | str], more: Mapping[str, Any]
) -> tuple[ProtocolDriver, dict[str, tuple[str, str | Reply | None]]]:
    """A run, and by key the fingerprint of each ask with its reply."""
    recorded: dict[str, tuple[str, str | Reply | None]] = {}

    def record(ask: Ask) -> str | Reply | None:
        reply = script(ask)
        recorded[driver.keys[-1]] = (ask.fingerprint, reply)
        return reply

    driver = ProtocolDriver(protocol, record, seats=seats, **more)
    driver.decide()
    return driver, recorded


def _replay(
    protocol: Protocol | str,
    recorded: Mapping[str, tuple[str, str | Reply | None]],
    seats: Sequence[Seat | str],
    more: Mapping[str, Any],
    how: str,
    last_first: bool,
) -> ProtocolDriver:
    """A run from recorded replies. Raises `AssertionError` for an ask that has none."""

    def replay(ask: Ask) -> str | Reply | None:
        key, what = driver.keys[-1], f"{prompt_name(ask)} of {ask.seat.label}"
        assert key in recorded, f"{how}, it asks {what} at {key}, where it asked nothing"
        fingerprint, reply = recorded[key]
        assert fingerprint == ask.fingerprint, (
            f"{how}, it asks {what} at {key}, where it asked something else"
        )
        return reply

    driver = ProtocolDriver(protocol, replay, seats=seats, last_first=last_first, **more)
    driver.decide()
    return driver


def _compare(first: ProtocolDriver, second: ProtocolDriver) -> None:
    how = "run twice with the same replies"
    for key, other, ask, again in zip(first.keys, second.keys, first.asks, second.asks, strict=False):
        assert (key, ask.fingerprint) == (other, again.fingerprint), (
            f"{how}, it asks {prompt_name(again)} of {again.seat.label} at {other}, "
            f"where it asked {prompt_name(ask)} of {ask.seat.label} at {key}"
        )
    assert len(first.keys) == len(second.keys), f"{how}, it asks {len(second.keys)} and not {len(first.keys)}"
    assert first.decision == second.decision, f"{how}, it decides {second.decision}, not {first.decision}"
