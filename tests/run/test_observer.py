"""What runs announce to those who watch a process, and the names of spans."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pnyx.run.observer import ORIGIN, Origin, TraceContext, renewed
from tests.support.rows import rows


@given(trace=st.integers(1, 2**128 - 1), span=st.integers(1, 2**64 - 1), sampled=st.booleans())
def test_a_context_is_read_as_it_is_written(trace: int, span: int, sampled: bool) -> None:
    context = TraceContext(f"{trace:032x}", f"{span:016x}", sampled)
    assert TraceContext.parse(str(context)) == context


@rows(
    "header",
    [
        None,
        "",
        "garbage",
        f"00-{'0' * 32}-{'1' * 16}-01",
        f"00-{'1' * 32}-{'0' * 16}-01",
        f"ff-{'1' * 32}-{'1' * 16}-01",
        f"00-{'1' * 32}-{'1' * 16}-01-more",
        f"00-{'A' * 32}-{'1' * 16}-01",
        f"00-{'1' * 31}-{'1' * 16}-01",
    ],
)
def test_an_invalid_traceparent_is_none(header: str | None) -> None:
    assert TraceContext.parse(header) is None


def test_a_later_version_of_the_header_may_have_more() -> None:
    assert TraceContext.parse(f"01-{'1' * 32}-{'1' * 16}-01-more") == TraceContext("1" * 32, "1" * 16)


@given(names=st.lists(st.text(max_size=20), min_size=2, max_size=2, unique=True))
def test_the_span_of_a_call_has_the_same_name_everywhere(names: list[str]) -> None:
    run = TraceContext.new()
    first, second = (run.below(name) for name in names)
    assert first != second
    assert first == run.below(names[0])
    assert first.trace_id == run.trace_id
    assert TraceContext.parse(str(first)) == first


def test_a_resumed_run_has_a_new_span_and_names_the_one_before() -> None:
    parent = TraceContext.new()
    token = ORIGIN.set(Origin("req_1", parent))
    try:
        first = renewed(None, traced=True, here=True)
    finally:
        ORIGIN.reset(token)
    assert first is not None
    second = renewed(first, traced=True, here=True)
    assert second is not None
    assert second["earlier"] == first["span"] != second["span"]
    assert first["parent"] == second["parent"] == str(parent)
    assert first["request_id"] == second["request_id"] == "req_1"
    assert second["span"].split("-")[1] == parent.trace_id


def test_a_run_for_a_worker_has_a_parent_and_no_span_yet() -> None:
    token = ORIGIN.set(Origin("req_1", parent := TraceContext.new()))
    try:
        queued = renewed(None, traced=True, here=False)
    finally:
        ORIGIN.reset(token)
    assert queued == {"request_id": "req_1", "parent": str(parent)}


def test_without_traces_nothing_but_the_request_is_kept() -> None:
    assert renewed(None, traced=False, here=True) is None
    token = ORIGIN.set(Origin("req_1", TraceContext.new()))
    try:
        assert renewed(None, traced=False, here=True) == {"request_id": "req_1"}
    finally:
        ORIGIN.reset(token)
