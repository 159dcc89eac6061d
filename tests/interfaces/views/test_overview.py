"""The debate at a glance follows from the events alone: votes, changes of mind, positions, costs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.events import CallFinished, CallStarted, Event, SeatAbstained, VoteTallied, from_json
from pnyx.core.parsing.ballots import ballot_schema
from pnyx.interfaces.render.markdown import as_markdown
from pnyx.interfaces.views.overview import READS, overview
from pnyx.interfaces.views.tallies import is_tied
from pnyx.interfaces.views.transcript import Transcript
from tests.interfaces import events
from tests.interfaces.render.test_markdown import record
from tests.support.sources import ROOT

A, B, C = "Participant A", "Participant B", "Participant C"
LABELS = [A, B, C]
RUNS = sorted((ROOT / "web" / "tests" / "runs").glob("*.json"))


def replies(
    phase: str, key: int, texts: dict[str, str], schema: str | None = None, n: int = 1
) -> list[Event]:
    """The calls of one phase: all start before the first ends."""
    ids = {seat: f"/{key}.{at}" for at, seat in enumerate(texts)}
    common: dict[str, Any] = {"phase": phase, "round": n, "attempt": 1, "fingerprint": "x"}
    prompt: dict[str, Any] = {"prompt_id": phase, "prompt_sha256": "", "prompt": "", "schema": schema}
    started: list[Event] = [
        CallStarted(seat=seat, key=ids[seat], model="lab:alpha", **common, **prompt) for seat in texts
    ]
    return started + [
        CallFinished(
            seat=seat,
            key=ids[seat],
            model="lab:alpha",
            text=text,
            input_tokens=10,
            output_tokens=5,
            cost_usd=0.001,
            elapsed_s=1.5,
            source="prose" if schema else None,
            **common,
        )
        for seat, text in texts.items()
    ]


def ballot(vote: str, label: str = "", text: str = "", ranking: list[str] | None = None) -> str:
    return json.dumps({"text": text, "vote": vote, "label": label, "ranking": ranking or []})


def council(*rounds: dict[str, str]) -> list[Event]:
    """A council of whose rounds only the votes are given."""
    log: list[Event] = [events.run_started()]
    for n, votes in enumerate(rounds, 1):
        log += replies("voting", 10 * n, votes, ballot_schema(LABELS).json, n)
        counts = dict.fromkeys(LABELS, 0.0)
        for vote in votes.values():
            label = json.loads(vote)["label"]
            counts[label] = counts.get(label, 0.0) + 1
        counts.pop("", None)
        log.append(
            VoteTallied(
                rule="endorsements", tally=counts, winner=max(counts, key=counts.__getitem__),
                phase="voting", round=n, key=f"/{10 * n + 1}",
            )
        )  # fmt: skip
    return events.with_seq(log)


def test_each_count_has_its_ballots_with_reasons_and_rankings() -> None:
    votes = {A: ballot("FINALIZE", B, "It is right", [B, A, C]), B: ballot("FINALIZE", B)}
    found = overview(council(votes | {C: ballot("REVISE", "", "the cost")}))["votes"]
    assert [(one["winner"], one["tied"]) for one in found] == [(B, False)]
    assert [(one["seat"], one["of"], one["text"]) for one in found[0]["ballots"]] == [
        (A, B, "It is right"),
        (B, B, ""),
        (C, None, "asks for a revision: the cost"),
    ]
    assert found[0]["ballots"][0]["ranking"] == [B, A, C]


def test_a_tie_has_no_winner_anywhere() -> None:
    log = council({A: ballot("FINALIZE", A), B: ballot("FINALIZE", B), C: ballot("SPLIT", "", "a value")})
    assert (overview(log)["votes"][0]["winner"], overview(log)["votes"][0]["tied"]) == (None, True)
    text = as_markdown(record(log=log))
    assert "endorsements, round 1: a tie" in text
    assert "→ Participant" not in text
    assert "Participant C (0), a tie" in text


@given(st.dictionaries(st.sampled_from("abcd"), st.integers(0, 3), min_size=1))
def test_a_count_is_tied_unless_one_name_has_the_most_votes(tally: dict[str, float]) -> None:
    best = [name for name, votes in tally.items() if votes == max(tally.values())]
    assert is_tied(tally) is (len(best) != 1)


def test_who_changed_their_mind_when_and_after_what() -> None:
    log = events.with_seq(
        [
            events.run_started(),
            *replies("answer", 1, {A: "Final answer: 41", B: "Final answer: 42", C: "Final answer: 42"}),
            *replies("debate", 2, {A: "You are right.\nFinal answer: 42.0", B: "I stay.\nFinal answer: 42"}),
        ]
    )
    found = overview(log)
    assert found["changes"] == [
        {
            "seat": A,
            "kind": "answer",
            "before": "41",
            "now": "42.0",
            "round": 1,
            "phase": "debate",
            "after": [{"round": 1, "phase": "answer", "seats": [B, C]}],
        }
    ]
    assert found["panel"] == {"agree": ["All 3 say 42."], "differ": [], "only": []}
    text = as_markdown(record(log=log))
    assert "said 41, and in round 1 (debate) 42.0, after answer by Participant B and Participant C." in text


@given(st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from("123"), st.integers(1, 2)), max_size=14))
def test_what_a_seat_read_is_what_others_said_between_its_two_answers(
    said: list[tuple[str, str, int]],
) -> None:
    log: list[Event] = [events.run_started()]
    for key, (seat, answer, n) in enumerate(said):
        log += replies("debate", key, {seat: f"Final answer: {answer}"}, n=n)
    found = overview(events.with_seq(log))["changes"]
    expected, last = [], dict[str, int]()
    for at, (seat, answer, _) in enumerate(said):
        before = last.get(seat)
        last[seat] = at
        if before is not None and said[before][1] != answer:
            read = [(n, other) for other, _, n in said[before + 1 : at]]
            rounds = dict.fromkeys(n for n, _ in read)
            expected.append([(n, sorted({other for r, other in read if r == n})) for n in rounds])
    assert [[(one["round"], one["seats"]) for one in change["after"]] for change in found] == expected


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_an_overview_follows_from_the_events_that_it_reads(path: Any) -> None:
    log = [from_json(event) for event in json.loads(path.read_text())]
    assert overview([event for event in log if event.type in READS]) == overview(log)


def test_a_changed_endorsement_is_a_change_of_mind() -> None:
    log = council(
        {A: ballot("FINALIZE", A), B: ballot("FINALIZE", B), C: ballot("SPLIT")},
        {A: ballot("FINALIZE", B), B: ballot("FINALIZE", B), C: ballot("FINALIZE", C)},
    )
    (change,) = overview(log)["changes"]
    assert (change["seat"], change["kind"], change["before"], change["now"]) == (A, "endorsement", A, B)
    assert overview(log)["panel"] == {
        "agree": [],
        "differ": ["2 of 3 endorse Participant B: Participant A and Participant B."],
        "only": ["Only Participant C endorses Participant C."],
    }


def test_what_only_one_seat_says_and_who_says_nothing() -> None:
    log = events.with_seq(
        [
            events.run_started(),
            *replies(
                "answer",
                1,
                {
                    A: "Final answer: yes",
                    B: "Final answer: no",
                    C: "Well, it depends on many things that nobody here has measured.",
                },
            ),
        ]
    )
    panel = overview(log)["panel"]
    assert panel["only"] == ["Only Participant A says yes.", "Only Participant B says no."]
    assert panel["differ"] == ["Participant C states no short answer."]


def test_a_seat_without_a_reply_differs_from_nobody() -> None:
    said = replies("answer", 1, {A: "Final answer: yes", B: "Final answer: yes"})
    panel = overview(events.with_seq([events.run_started(), *said]))["panel"]
    assert panel == {"agree": ["All 2 say yes."], "differ": [], "only": []}


def test_a_verdict_that_cannot_be_read_is_no_position() -> None:
    verdict = "I prefer the first.\nFinal answer: no"
    log = [
        events.run_started(),
        *replies("vote", 1, {A: "Final answer: yes", B: "Final answer: yes", C: "Final answer: no"}),
        *replies("judge", 2, {B: verdict}),
        *replies("judge", 3, {B: verdict}),
    ]
    reason = "no verdict was found"
    unread = SeatAbstained(seat=B, phase="judge", round=1, key="/4", reason=reason)
    assert overview(events.with_seq(log))["panel"]["differ"] == [
        "2 of 3 say no: Participant B and Participant C."
    ]
    found = overview(events.with_seq([*log, unread]))
    assert found["panel"]["differ"] == ["2 of 3 say yes: Participant A and Participant B."]
    assert not found["changes"]


def test_an_approval_is_no_position() -> None:
    schema = '{"name": "approval", "properties": {"verdict": {}}}'
    log = events.with_seq(
        [events.run_started(), *replies("confirm", 1, dict.fromkeys(LABELS, "APPROVE"), schema)]
    )
    assert not any(overview(log)["panel"].values())


def test_costs_are_by_seat_and_phase_and_sum_to_the_run() -> None:
    log = events.with_seq(
        [
            events.run_started(),
            *replies("answer", 1, dict.fromkeys([C, A], "x")),
            *replies("debate", 2, {A: "y"}),
        ]
    )
    rows = overview(log)["costs"]
    assert [(row["seat"], row["phase"]) for row in rows] == [(A, "answer"), (C, "answer"), (A, "debate")]
    assert sum(row["cost_usd"] or 0 for row in rows) == pytest.approx(0.003)
    assert {row["elapsed_s"] for row in rows} == {1.5}


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_costs_of_recorded_runs_equal_their_usage(path: Any) -> None:
    log = [from_json(one) for one in json.loads(path.read_text()) if one["type"] != "token"]
    view = Transcript()
    for event in log:
        view.add(event)
    rows, usage = overview(log)["costs"], view.summary.usage
    assert sum(row["calls"] for row in rows) == usage["calls"]
    assert sum(row["output_tokens"] for row in rows) == usage["output_tokens"]
    assert sum(row["cost_usd"] for row in rows) == pytest.approx(usage["cost_usd"])


def test_the_overview_of_a_broken_or_foreign_run_is_empty() -> None:
    assert overview([]) == {
        "votes": [],
        "changes": [],
        "panel": {"agree": [], "differ": [], "only": []},
        "costs": [],
    }
