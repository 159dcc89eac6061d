"""Replies that are empty, too long, hostile or cut off, and impossible usage."""

from __future__ import annotations

import asyncio
import random
import tracemalloc
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

import pnyx
from tests.faults.trial import KEY, Trial, soon
from tests.support.bombs import bomb
from tests.support.books import Run
from tests.support.hosting import stalls

BODIES = {
    "HTML": b"<html><b>It works!</b></html>",
    "{": b"{",
    "null": b"null",
    "[]": b"[]",
    "NaN": b"NaN",
    "JSON 200,000 deep": b'{"choices":' * 200_000,
    "no choices": b'{"choices": []}',
}


def texts_of(run: Run, model: str = "lab:beta") -> list[str]:
    """The recorded replies of the model that count."""
    return [e["text"] for e in run.events if e["type"] == "call_finished" and e["model"].endswith(model[4:])]


def kinds(run: Run, model: str = "lab:beta") -> list[str]:
    return [attempt.kind for attempt in run.attempts if attempt.started["model"] == model]


@pytest.mark.parametrize("name", BODIES)
def test_a_200_without_a_valid_reply_is_one_retry_and_a_drop_and_blocks_nothing(
    trial: Trial, name: str
) -> None:
    async def run() -> tuple[pnyx.Result, float]:
        await pnyx.ask("Is all loaded that has to be?")
        trial.host.on("beta", body=BODIES[name])
        async with stalls() as spells:
            return await pnyx.ask("Why?"), max(spells)

    result, longest = asyncio.run(run())
    # The two seats that are left may end on the same word.
    assert (result.status in ("decided", "consensus"), result.degraded) == (True, True)
    assert longest < 0.25
    # No model writes a web page, and another request gets the same one.
    expected = ["not_found"] if name == "HTML" else ["malformed"] * 2
    assert kinds(list(trial.check().books.runs.values())[1]) == expected


WORDS = "Oui, because 17 times 24 is 408 — “no” is no answer, naïve or not.\nFinal answer: 408"


@pytest.mark.parametrize("part", range(2))
def test_a_stream_cut_at_any_byte_never_counts_as_a_proposal_or_a_vote(trial: Trial, part: int) -> None:
    trial.settle(retries=0)
    trial.host.on("*", text=WORDS)
    whole = trial.pnyx("ask", "Why?", "-p", "voting", "--jsonl", "-v", "-q")
    assert whole.code == 0
    # The host counts what it has sent after the reply has arrived.
    soon(lambda: trial.host.requests("beta")[0].done)
    length = trial.host.requests("beta")[0].sent
    # In the first half, since what follows the end of the text is missed by nobody.
    cuts = sorted(random.Random(11).sample(range(length // 2), 14))[part::2]
    for cut in cuts:
        trial.host.on("beta", text=WORDS, cut_at=cut, unframed=cut % 2 == 0)
        done = trial.pnyx("ask", "Why?", "-p", "voting", "--jsonl", "-v", "-q")
        assert (done.code, done.lines[-1]["result"]["degraded"]) == (5, True), cut
    books = trial.check(f"{len(cuts)} cuts, each a seat dropped").books
    texts = [text for run in books.runs.values() for text in texts_of(run)]
    assert texts == [WORDS]
    assert [kinds(run) for run in books.runs.values()].count(["truncated"]) == len(cuts)
    assert all(run.status != "failed" for run in books.runs.values())


@pytest.mark.parametrize("half", range(1, 3))
def test_half_a_character_at_the_end_of_a_stream_is_truncated(trial: Trial, half: int) -> None:
    trial.settle(retries=0)
    head = b'data: {"choices": [{"index": 0, "delta": {"content": "Yes '
    trial.host.on("beta", body=head + "—".encode()[:half], unframed=True)
    assert trial.pnyx("ask", "Why?", "--jsonl", "-v").code == 5
    run = trial.check().run
    assert texts_of(run) == []
    assert set(kinds(run)) <= {"truncated", "malformed"}


EMPTY = {"empty": {"text": ""}, "blank": {"text": " \n\t\u200b "}, "refusal": {"refusal": "I cannot help."}}


@pytest.mark.parametrize("name", EMPTY)
@pytest.mark.parametrize("silent", [1, 2, 3], ids=["one", "all but one", "all"])
def test_an_empty_reply_is_an_abstention_and_below_quorum_exits_with_3_without_confidence(
    trial: Trial, name: str, silent: int
) -> None:
    code = 3 if silent > 1 else 5
    trial.host.on("*", text="It is so.\nFinal answer: yes")
    for model in ("gamma", "beta", "alpha")[:silent]:
        trial.host.on(model, **EMPTY[name])
    done = trial.ask("-p", "council")
    assert done.code == code
    if code == 3:
        assert done.json["confidence"] is None
        assert done.json["stop_reason"] == "no_quorum"
    else:
        assert [one["reason"] for one in done.json["dropped"]] == [
            "refusal" if name == "refusal" else "empty reply"
        ]
    run = trial.check().run
    absent = [e["absent"] for e in run.events if e["type"] == "call_finished" and e["absent"]]
    assert len(absent) >= silent
    assert set(absent) == {"refusal" if name == "refusal" else "empty"}


def ten_mb() -> dict[str, Any]:
    return {"body": b'{"choices": [{"message": {"content": "' + b"x" * 10_000_000 + b'"}}]}'}


def gzip_bomb() -> dict[str, Any]:
    return {"body": bomb(), "headers": {"Content-Encoding": "gzip"}}


@pytest.mark.parametrize("fault", [ten_mb, gzip_bomb], ids=["10 MB", "gzip bomb of 300 MB"])
def test_an_endless_answer_is_cut_at_the_limit_in_little_memory(
    trial: Trial, fault: Callable[[], dict[str, Any]]
) -> None:
    trial.host.on("beta", **fault())
    tracemalloc.start()
    done = trial.ask()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (done.code, peak < 100_000_000) == (5, True)
    assert set(kinds(trial.check().run)) == {"malformed"}


def test_after_a_long_answer_the_next_prompt_still_fits(trial: Trial) -> None:
    trial.settle(models={f"lab:{name}": {"context": 8192} for name in ("alpha", "beta", "gamma")})
    trial.host.on("beta", text="It is wrong, for the wall is long. " * 1_500)
    done = trial.ask()
    assert done.code == 0, done.err
    run = trial.check().run
    assert max(len(attempt.started["prompt"]) for attempt in run.attempts) < 8192 * 5
    assert any(attempt.started["cut"] > 0 for attempt in run.attempts)


HOSTILE = "\x1b[2J\x1b]52;c;aGk=\x07\u202e[/] [red]x \ud800 \r gone\nFinal answer: yes"


def test_hostile_text_is_inert_on_the_terminal_and_exact_in_json(trial: Trial) -> None:
    trial.host.on("*", text=HOSTILE)
    shown = trial.pnyx("ask", "Why?", "-v")
    assert shown.code == 0
    assert not {"\x1b", "\x07", "\u202e", "\r", "\ud800"} & set(shown.out + shown.err)
    assert "[/] [red]x" in shown.out
    assert trial.ask().json["answer"] == HOSTILE
    trial.check("inert on the terminal, exact in JSON")


USAGE: dict[str, Any] = {
    "0": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    "negative": {"prompt_tokens": -5, "completion_tokens": -9, "total_tokens": -14},
    "NaN": {"prompt_tokens": float("nan"), "completion_tokens": 3, "total_tokens": 3},
    "1e18": {"prompt_tokens": 10**18, "completion_tokens": 1, "total_tokens": 10**18},
    "missing": None,
}


@pytest.mark.parametrize("name", USAGE)
def test_impossible_usage_is_charged_at_the_reservation_and_flagged(trial: Trial, name: str) -> None:
    trial.host.on("beta", usage=USAGE[name])
    assert trial.ask().code in (0, 5)
    verdict = trial.check()
    (attempt,) = [a for a in verdict.run.attempts if a.started["model"] == "lab:beta"][-1:]
    assert attempt.charged == round(attempt.started["reserved_usd"] * 1e9)
    assert (attempt.outcome or {}).get("usage_flag") or attempt.kind == "malformed"
    assert verdict.uncertain >= 1


def test_a_prompt_longer_than_a_known_window_is_compacted_and_logged(trial: Trial) -> None:
    trial.settle(models={"lab:beta": {"context": 2048}})
    trial.host.on("alpha", text="The proposal is to build a wall of stone. " * 500)
    assert trial.ask().code == 0
    run = trial.check().run
    (shortened,) = [a for a in run.attempts if a.started["model"] == "lab:beta"]
    assert shortened.started["cut"] > 0
    assert len(trial.host.requests("beta")) == 1


def test_a_question_longer_than_a_known_window_is_not_sent_blind(trial: Trial) -> None:
    trial.settle(models={"lab:beta": {"context": 1024}})
    done = trial.pnyx("ask", "Why? " * 2_000, "--json")
    assert (done.code, trial.host.requests("beta")) == (5, [])
    trial.check()


def test_a_prompt_that_the_host_rejects_as_too_long_is_shortened_and_sent_once_more(trial: Trial) -> None:
    trial.host.on("alpha", call=1, text="The proposal is to build a wall of stone. " * 500)
    trial.host.on("beta", call=1, status=400, message="maximum context length is 2048 tokens")
    assert trial.ask().code == 0
    run = trial.check().run
    assert kinds(run) == ["too_long", ""]
    first, second = trial.host.requests("beta")
    assert second.bytes < first.bytes


def test_a_prompt_shortened_to_a_known_window_and_still_too_long_is_shortened_once_more(trial: Trial) -> None:
    trial.settle(models={"lab:beta": {"context": 2048}})
    trial.host.on("alpha", call=1, text="The proposal is to build a wall of stone. " * 500)
    trial.host.on("beta", call=1, status=400, message="maximum context length is 2048 tokens")
    assert trial.ask().code == 0
    run = trial.check().run
    assert kinds(run) == ["too_long", ""]
    first, second = (a.started["cut"] for a in run.attempts if a.started["model"] == "lab:beta")
    assert 0 < first < second


def test_a_prompt_with_a_long_question_is_shortened_as_far_as_possible(trial: Trial) -> None:
    trial.host.on("alpha", call=1, text="The proposal is to build a wall of stone. " * 90)
    trial.host.on("beta", call=1, status=400, message="maximum context length is 2048 tokens")
    assert trial.pnyx("ask", "Why should it be a wall? " * 160, "--json").code == 0
    run = trial.check().run
    assert kinds(run) == ["too_long", ""]
    first, second = trial.host.requests("beta")
    assert 0.6 < second.bytes / first.bytes < 0.85


def test_a_prompt_that_stays_too_long_drops_the_seat_when_no_more_can_be_left_out(trial: Trial) -> None:
    trial.host.on("alpha", call=1, text="The proposal is to build a wall of stone. " * 500)
    trial.host.on("beta", status=400, message="the prompt is too long")
    assert trial.ask().code == 5
    assert {*kinds(trial.check().run)} == {"too_long"}
    sizes = [request.bytes for request in trial.host.requests("beta")]
    assert all(later < 0.9 * size for size, later in pairwise(sizes))
    assert sizes[-1] < 0.3 * sizes[0]


def test_a_key_that_a_model_repeats_appears_nowhere_not_even_in_streamed_text(trial: Trial) -> None:
    head = b'data: {"choices": [{"index": 0, "delta": {"content": "%s"}, "finish_reason": null}]}\n\n'
    pieces = ["My key is ", *(KEY[i : i + 4] for i in range(0, len(KEY), 4)), ", truly. ", KEY[:7]]
    chunks = [head % piece.encode() for piece in pieces]
    end = b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
    trial.host.on("*", body=b"".join([*chunks, end]))
    done = trial.pnyx("ask", "Why?", "-p", "single", "--jsonl", "-v")
    whole = f"My key is [redacted], truly. {KEY[:7]}"
    assert "".join(line["text"] for line in done.lines if line["type"] == "token") == whole
    assert [line["text"] for line in done.lines if line["type"] == "call_finished"] == [whole]
    trial.host.on("*", text=f"My key is {KEY}.\nFinal answer: yes")
    assert trial.pnyx("ask", "Why?", "-v").code == 0
    trial.check()


def test_a_key_that_a_model_passes_to_a_tool_appears_nowhere(trial: Trial) -> None:
    hidden = {"path": KEY, "notes": [{KEY: f"<{KEY}>"}]}
    trial.host.on("*", text="It is prime.")
    trial.host.on("alpha", call=1, tool_calls=(("read_file", hidden), (KEY, {})))
    done = trial.pnyx("ask", "Is it prime?", "--tools", "--jsonl", "-v")
    assert done.code == 0
    called = {e["tool"]: e["arguments"] for e in done.lines if e["type"] == "tool_called"}
    masked = {"path": "[redacted]", "notes": [{"[redacted]": "<[redacted]>"}]}
    assert called == {"read_file": masked, "[redacted]": {}}
    run_id = done.lines[-1]["run_id"]
    assert trial.pnyx("show", run_id).code == trial.pnyx("resume", run_id).code == 0
    trial.check()
