"""Announcements of runs for tests: written by hand, and drawn with texts that no log may hold."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from pnyx.core.events import (
    Budget,
    CallFailed,
    CallFinished,
    CallStarted,
    Event,
    PhaseEntered,
    RunFinished,
    RunStarted,
    SeatAbstained,
    SeatDropped,
    ToolCalled,
    UnknownEvent,
    VoteTallied,
)
from pnyx.run.observer import RunIdentity, TraceContext

__all__ = ["RUN", "SECRET_TEXT", "TRACED", "events", "texts", "tools"]

RUN = RunIdentity(run_id="abc123", owner="ada", protocol="voting", request_id="req_1")
TRACED = RunIdentity(
    run_id="abc123", owner="ada", protocol="voting", span=TraceContext("1" * 32, "2" * 16, True)
)
SECRET_TEXT = "the merger is off"
"""What every text of people and models contains in a drawn event."""

texts = st.text(max_size=40).map(lambda text: f"{text}{SECRET_TEXT}{text}\n")
_amounts = st.none() | st.floats(0, 10)
_call: dict[str, Any] = {
    "key": st.just("/0.1"),
    "seat": st.just("Participant A"),
    "phase": st.just("propose"),
    "round": st.integers(1, 3),
    "attempt": st.integers(1, 4),
    "fingerprint": st.just("f" * 64),
    "model": st.just("lab:alpha"),
}
_results = st.fixed_dictionaries(
    {
        "answer": texts,
        "final_answer": texts,
        "question": texts,
        "dissent": st.lists(texts, max_size=2),
        "detail": st.dictionaries(texts, texts, max_size=2),
        "status": st.just("decided"),
        "protocol": st.just("voting"),
        "stop_reason": st.sampled_from(["max_rounds", "budget", "interrupted", "error"]),
        "usage": st.just({"calls": 3, "input_tokens": 10, "output_tokens": 5, "cost_usd": 0.5}),
        "elapsed_s": st.floats(0, 100),
    }
)
_seats = st.lists(st.fixed_dictionaries({"seat": st.just("A"), "model": st.just("lab:alpha"), "role": texts}))
tools = st.builds(
    ToolCalled,
    fingerprint=st.just("f"),
    tool=st.just("web_search"),
    arguments=st.dictionaries(texts, texts, max_size=2),
    outcome=texts,
    ok=st.booleans(),
)
events: st.SearchStrategy[Event] = st.one_of(
    st.builds(
        RunStarted,
        question=texts,
        protocol=st.just("voting"),
        seats=_seats.map(tuple),
        options=st.dictionaries(texts, texts, max_size=2),
        files=st.lists(st.fixed_dictionaries({"name": texts}), max_size=2).map(tuple),
    ),
    st.builds(PhaseEntered, protocol=st.just("voting"), answer=texts, phase=st.just("vote")),
    st.builds(
        CallStarted,
        **_call,
        prompt_id=st.just("voting/propose"),
        prompt_sha256=st.just("a" * 64),
        prompt=texts,
        system=texts,
        schema=texts,
        reserved_usd=_amounts,
    ),
    st.builds(
        CallFinished,
        **_call,
        text=texts,
        data=st.none() | st.dictionaries(texts, texts, max_size=2),
        tool_calls=st.lists(st.fixed_dictionaries({"arguments": texts}), max_size=1).map(tuple),
        finish_reason=st.sampled_from(["stop", "length", "filter", "tool"]),
        usage_flag=texts,
        absent=texts,
        notes=st.lists(texts, max_size=1).map(tuple),
        sources=st.lists(texts, max_size=1).map(tuple),
        finish_detail=texts,
        reasoning=texts,
        cost_usd=_amounts,
        input_tokens=st.integers(0, 10**6),
    ),
    st.builds(
        CallFailed,
        **_call,
        kind=st.sampled_from(["overloaded", "timeout", "unknown", "cut_off"]),
        message=texts,
        final=st.booleans(),
        reasoning=texts,
        retry_in_s=_amounts,
    ),
    st.builds(SeatDropped, model=st.just("lab:alpha"), reason=texts),
    st.builds(SeatAbstained, reason=texts, seat=st.just("Participant A")),
    tools,
    st.builds(
        VoteTallied,
        rule=st.just("plurality"),
        tally=st.dictionaries(texts, st.floats(0, 5), max_size=3),
        winner=texts,
        detail=st.dictionaries(texts, texts, max_size=2),
    ),
    st.builds(
        Budget,
        kind=st.sampled_from(["warning", "exhausted", "raised", "overrun"]),
        scope=st.just("key:ada"),
        spent_usd=st.floats(0, 5),
        reserved_usd=st.floats(0, 5),
        cap_usd=_amounts,
    ),
    st.builds(RunFinished, status=st.sampled_from(["decided", "paused", "failed"]), result=_results),
    st.builds(UnknownEvent, name=st.just("new_event"), document=st.dictionaries(texts, texts, max_size=2)),
)
"""Events of every stored type, whose texts contain `SECRET_TEXT`."""
