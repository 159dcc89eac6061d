"""Event lists of runs, written by hand, for tests of what reads them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from pnyx.core.events import (
    Budget,
    CallFailed,
    CallFinished,
    CallStarted,
    Event,
    PhaseEntered,
    RunFinished,
    RunStarted,
    SeatDropped,
    Token,
    ToolCalled,
    VoteTallied,
)

__all__ = [
    "RESULT",
    "answered_call",
    "budget",
    "consensus_run",
    "failed_call",
    "seat_dropped",
    "token",
    "tool",
    "vote",
    "with_seq",
]

MODELS = {"Participant A": "lab:alpha", "Participant B": "lab:beta", "Participant C": "lab:gamma"}
RESULT: dict[str, Any] = {
    "run_id": "run1",
    "status": "decided",
    "protocol": "consensus",
    "question": "Why?",
    "answer": "Because.\nFinal answer: yes",
    "final_answer": "yes",
    "confidence": None,
    "confidence_rule": None,
    "rigor": 0.5,
    "agreement": None,
    "consensus_reached": None,
    "dissent": [{"seat": "Participant B", "model": "lab:beta", "text": "It is not so."}],
    "rounds": 1,
    "converged": False,
    "stop_reason": "max_rounds",
    "seats": [{"seat": seat, "model": model, "role": ""} for seat, model in MODELS.items()],
    "dropped": [],
    "degraded": False,
    "usage": {
        "calls": 4,
        "input_tokens": 400,
        "cached_tokens": 0,
        "output_tokens": 80,
        "cost_usd": 0.0012,
    },
    "elapsed_s": 3.5,
    "detail": {
        "challenges": [
            {"seat": "Participant B", "framing": "flaw", "flagged": None, "substantive": True},
            {
                "seat": "Participant C",
                "framing": "alternative",
                "flagged": "Great answer",
                "substantive": False,
            },
        ],
        "agreed": {"seats": 2, "of": 3, "models": 2, "of_models": 3},
        "raw_confidence": 0.62,
        "raw_rule": "posterior of the votes",
    },
}


def _call(seat: str, phase: str, key: str) -> dict[str, Any]:
    return {"seat": seat, "phase": phase, "round": 1, "key": key, "attempt": 1, "fingerprint": key}


def call_started(seat: str, phase: str, key: str, **more: Any) -> Event:
    prompt: dict[str, Any] = {"prompt_id": f"consensus/{phase}", "prompt_sha256": "", "prompt": "Do it."}
    return CallStarted(**_call(seat, phase, key), **prompt, model=MODELS[seat], reserved_usd=0.01, **more)


def answered_call(seat: str, phase: str, key: str, text: str, **more: Any) -> list[Event]:
    """The events of a call with a reply."""
    values: dict[str, Any] = {"input_tokens": 100, "output_tokens": 20, "cost_usd": 0.0003, "elapsed_s": 0.5}
    finished = CallFinished(**_call(seat, phase, key), model=MODELS[seat], text=text, **(values | more))
    return [call_started(seat, phase, key), finished]


def failed_call(seat: str, phase: str, key: str, **more: Any) -> list[Event]:
    """The events of a call whose attempt failed."""
    values: dict[str, Any] = {"kind": "rate_limited", "message": "slow down", "final": False}
    failure = CallFailed(**_call(seat, phase, key), model=MODELS[seat], **(values | more))
    return [call_started(seat, phase, key), failure]


def seat_dropped(seat: str, reason: str) -> Event:
    return SeatDropped(seat=seat, model=MODELS[seat], reason=reason, phase="challenge", round=1)


def token(seat: str, text: str) -> Event:
    return Token(seat=seat, phase="propose", round=1, text=text)


def vote(**tally: float) -> Event:
    return VoteTallied(rule="plurality", tally=tally, winner=max(tally), phase="vote", round=1)


def tool(outcome: str) -> Event:
    return ToolCalled(
        seat="Participant A",
        fingerprint="",
        tool="read_page",
        arguments={"url": "http://a.example"},
        outcome=outcome,
        phase="propose",
        round=1,
    )


def budget(kind: str) -> Event:
    account: dict[str, Any] = {"scope": "run:run1", "spent_usd": 0.9, "reserved_usd": 0.05, "cap_usd": 1.0}
    return Budget(kind=kind, next_usd=0.0634 if kind == "exhausted" else None, **account)


def phase_entered(phase: str, answer: str | None = None) -> Event:
    return PhaseEntered(protocol="consensus", phase=phase, round=1, answer=answer)


def run_started(question: str = "Why?") -> Event:
    seats = tuple({"seat": seat, "model": model, "role": ""} for seat, model in MODELS.items())
    return RunStarted(question=question, protocol="consensus", seats=seats, version="0")


def consensus_run(text: str = "Because.", **result: Any) -> list[Event]:
    """The events of a consensus run in which every reply is `text`."""
    return with_seq(
        [
            run_started(),
            phase_entered("propose"),
            *answered_call("Participant A", "propose", "/2", text),
            phase_entered("challenge", text),
            *answered_call("Participant B", "challenge", "/4.0", text),
            *answered_call("Participant C", "challenge", "/4.1", text),
            phase_entered("revise"),
            *answered_call("Participant A", "revise", "/6", text),
            RunFinished(status="decided", result=RESULT | result),
        ]
    )


def with_seq(events: Iterable[Event]) -> list[Event]:
    """Return `events` as they are stored: with run id, time and `seq`."""
    return [
        replace(event, run_id="run1", seq=seq, time=f"2026-01-02T03:04:{seq:02}.000Z")
        for seq, event in enumerate(events, 1)
    ]
