"""The transcript: entries with seat, model and cost, and the state of every seat."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from pnyx.core.events import BranchesClosed, CallStarted, Event, SeatAbstained, UnknownEvent, VoteTallied
from pnyx.interfaces.cli.terminal.output import Stream
from pnyx.interfaces.cli.terminal.plain import entry_lines
from pnyx.interfaces.views.transcript import Entry, Transcript, quantity, seconds
from tests.interfaces import events


def read(*log: Event) -> tuple[Transcript, list[Entry]]:
    view = Transcript(clock=lambda: 100.0)
    view.add(events.run_started())
    return view, [entry for event in log if (entry := view.add(event)) is not None]


def test_a_run_has_an_entry_for_every_reply_with_seat_and_model() -> None:
    view = Transcript()
    entries = [entry for event in events.consensus_run() if (entry := view.add(event)) is not None]
    assert [entry.title for entry in entries] == [
        "Round 1 · propose · Participant A (lab:alpha)",
        "Round 1 · challenge · Participant B (lab:beta)",
        "Round 1 · challenge · Participant C (lab:gamma)",
        "Round 1 · revise · Participant A (lab:alpha)",
    ]
    assert entries[0].text == "Because."
    assert entries[0].facts == ("20 tokens", "$0.0003", "0.5 s")
    assert view.result == events.RESULT
    assert view.now == "Round 1 · revise"


def test_usage_is_summed_per_model_over_its_seats() -> None:
    view = Transcript()
    for event in events.consensus_run():
        view.add(event)
    alpha = view.by_model()["lab:alpha"]
    assert (alpha.calls, alpha.input_tokens, alpha.output_tokens) == (2, 200, 40)
    assert alpha.cost_usd == pytest.approx(0.0006)
    assert sum(total.calls for total in view.by_model().values()) == view.summary.usage["calls"]


def test_one_call_of_unknown_price_makes_the_sum_unknown() -> None:
    view, _ = read(
        *events.answered_call("Participant A", "propose", "/1", "x", cost_usd=None),
        *events.answered_call("Participant A", "revise", "/2", "x"),
    )
    assert view.by_model()["lab:alpha"].cost_usd is None


def test_the_cost_of_a_seat_is_unknown_during_a_call_of_unknown_price() -> None:
    question, failure = events.failed_call("Participant A", "propose", "/1")
    assert isinstance(question, CallStarted)
    view, _ = read(replace(question, reserved_usd=None))
    assert (view.seats["Participant A"].cost_usd, view.by_model()["lab:alpha"].cost_usd) == (None, None)
    view.add(failure)
    assert (view.seats["Participant A"].cost_usd, view.summary.usage["cost_usd"]) == (0.0, 0.0)


def test_the_states_of_a_seat_during_a_call() -> None:
    view, _ = read()
    seat = view.seats["Participant A"]
    states = [seat.state]
    question, answer = events.answered_call("Participant A", "propose", "/1", "Because of it.")
    for event in (question, events.token("Participant A", "Because"), answer):
        view.add(event)
        states.append(seat.state)
    assert states == ["waiting", "asked", "writing", "answered"]
    assert seat.since is None


def test_the_text_of_an_unfinished_reply_is_bounded() -> None:
    view, _ = read(events.call_started("Participant A", "propose", "/1"))
    for _ in range(100):
        view.add(events.token("Participant A", "many words "))
    tail = view.seats["Participant A"].tail
    assert len(tail) == 400
    assert tail.endswith("many words ")


def test_an_open_call_is_timed_from_its_start() -> None:
    view, _ = read(events.call_started("Participant A", "propose", "/1"))
    assert view.seats["Participant A"].since == 100.0


def test_a_retry_says_why_and_when() -> None:
    _, (entry,) = read(*events.failed_call("Participant A", "propose", "/1", retry_in_s=2.0))
    assert (entry.kind, entry.text, entry.facts) == ("retry", "slow down", ("attempt 1", "retry in 2.0 s"))


def test_a_lost_call_has_its_charge() -> None:
    lost = events.failed_call(
        "Participant A", "propose", "/1", kind="unknown", message="lost", charged_usd=0.01
    )
    _, (entry,) = read(*lost)
    assert entry.kind == "unknown"
    assert "charged $0.0100" in entry.facts


def test_a_dropped_seat_has_one_entry() -> None:
    view, (entry,) = read(
        *events.failed_call("Participant B", "challenge", "/1", final=True),
        events.seat_dropped("Participant B", "gone"),
    )
    assert (entry.kind, entry.text) == ("dropped", "dropped: gone")
    assert view.seats["Participant B"].state == "dropped"


@pytest.mark.parametrize(
    ("absent", "word", "reply", "text"),
    [
        ("empty", "", "", "abstained: empty reply"),
        ("empty", "", "\u200b\ufeff\u00ad", "abstained: empty reply"),
        ("empty", "tool_calls", " \n", "abstained: empty reply (tool_calls)"),
        ("refusal", "", "I won't.\nSorry.", "abstained: refusal: I won't. Sorry."),
        ("refusal", "refusal", "No. " * 100, f"abstained: refusal: {'No. ' * 49}No.…"),
        ("refusal", "", "不行。" * 100, f"abstained: refusal: {'不行。' * 33}…"),
        ("refusal", "SAFETY", "", "abstained: refusal (SAFETY)"),
    ],
)
def test_an_absent_reply_is_an_abstention(absent: str, word: str, reply: str, text: str) -> None:
    call = events.answered_call("Participant B", "challenge", "/1", reply, absent=absent, finish_detail=word)
    _, (entry,) = read(*call)
    assert (entry.kind, entry.text) == ("silence", text)


def test_a_cut_reply_odd_usage_and_a_copied_reply_say_so() -> None:
    odd = {"finish_reason": "length", "usage_flag": "negative"}
    view, (cut, copied) = read(
        *events.answered_call("Participant A", "propose", "/1", "x", **odd),
        *events.answered_call("Participant B", "challenge", "/2", "x", copied=True, cost_usd=0.0),
    )
    assert cut.facts[3:] == ("cut at the token limit", "usage negative, charged at the reservation")
    assert copied.facts == ("reused from the forked run",)
    _, (free,) = read(
        *events.answered_call(
            "Participant A", "vote", "/1", "x", usage_flag="missing", output_tokens=0, cost_usd=None
        )
    )
    assert free.facts[:2] + free.facts[3:] == ("tokens unknown", "cost unknown", "usage missing")
    assert view.seats["Participant B"].output_tokens == 0


def test_tools_votes_and_budgets_have_entries() -> None:
    weighted = events.vote(yes=3.12108, no=1.6)
    _, entries = read(events.tool("a page"), events.vote(yes=2, no=1), weighted, events.budget("exhausted"))
    assert [(entry.kind, entry.title, entry.text) for entry in entries] == [
        ("tool", "Round 1 · propose · Participant A (lab:alpha) · read_page(url=http://a.example)", "a page"),
        ("tally", "Round 1 · vote", "plurality: yes (2), no (1) → yes"),
        ("tally", "Round 1 · vote", "plurality: yes (3.12), no (1.6) → yes"),
        ("budget", "Budget too small", "the next call may cost up to $0.0634 and $0.0500 is left"),
    ]


def test_a_seat_that_abstains_is_named_without_a_count() -> None:
    now = SeatAbstained(seat="Participant A", reason="no vote", phase="vote", round=1)
    # As version 0.1 recorded it.
    before = VoteTallied(
        rule="abstention (its verdict could not be read)",
        tally={"Participant A": 0},
        detail={"abstained": ["Participant A"], "why": "no vote"},
        phase="vote",
        round=1,
    )
    for event in (now, before):
        _, (entry,) = read(event)
        assert entry.text == "Participant A abstains: its verdict could not be read (no vote)"


def test_closed_branches_and_unknown_events_are_no_entries() -> None:
    before = VoteTallied(rule="closed", tally={}, detail={"branches": ["/3.1"]})
    unknown = UnknownEvent(name="seat_promoted", document={"type": "seat_promoted"})
    for event in (BranchesClosed(branches=("/3.1",)), before, unknown):
        assert read(event)[1] == []


def test_counts_and_times_are_readable() -> None:
    assert quantity(1, "call") == "1 call"
    assert quantity(1234, "call") == "1,234 calls"
    assert seconds(0.25) == "0.2 s"
    assert seconds(125.0) == "2 min 5 s"


def test_untrusted_text_cannot_forge_our_lines() -> None:
    stream = Stream(io.StringIO())
    _, entries = read(
        *events.failed_call("Participant A", "propose", "/1", message="slow\npnyx: run cancelled"),
        events.seat_dropped("Participant B", "gone\npnyx: forged"),
        events.tool("fine\nRound 9 · forged"),
    )
    lines = [line for entry in entries for line in entry_lines(stream, entry, whole=True)]
    assert not [line for line in lines if line.startswith(("pnyx:", "Round 9"))]


def test_a_count_without_a_vote_says_so() -> None:
    event = VoteTallied(rule="plurality", tally={}, round=1, phase="vote")
    entry = Transcript().add(event)
    assert entry is not None
    assert entry.text == "plurality: no votes"
