"""Reasoning is kept apart from answers, recorded, and never shown to another seat."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pnyx.core.events import CallFailed, CallFinished, CallStarted, Event, SeatDropped, Token, to_json
from pnyx.core.models import Usage
from pnyx.providers.base import Call, Completion
from pnyx.providers.redaction import Redactor
from pnyx.run.calls.admission import Refusal
from pnyx.run.calls.call import ModelCall
from pnyx.run.calls.reply import LONGEST_REASONING, separate
from pnyx.run.result import exit_code
from tests.support.panels import Host, ProcessKilled, seats
from tests.support.processes import PANEL, Node, account_of, die, fixed_reply, well_formed

Make = Callable[[Host], Node]
SECRET = "nobody-may-read-this"
FORMS: dict[str, Callable[[str], Completion]] = {
    "of the host": lambda text: Completion(text, reasoning=SECRET),
    "tags in its field": lambda text: Completion(text, reasoning=f"<think>{SECRET}</think>"),
    "think": lambda text: Completion(f"<think>\n{SECRET}\n</think>\n\n{text}"),
    "only a closing tag": lambda text: Completion(f"{SECRET}\n</think>\n\n{text}"),
    "seed:think": lambda text: Completion(f"<seed:think>{SECRET}</seed:think>{text}"),
    "[THINK]": lambda text: Completion(f"[THINK]{SECRET}[/THINK]{text}</s>"),
    "channels": lambda text: Completion(
        f"<|channel|>analysis<|message|>{SECRET}<|end|><|start|>assistant<|channel|>final<|message|>{text}<|return|>"
    ),
    "both": lambda text: Completion(f"<think>{SECRET}</think>{text}", reasoning=SECRET),
}


class Reasoner(Host):
    """Replies with reasoning of `form`, and publishes its text letter by letter."""

    def __init__(self, form: Callable[[str], Completion]) -> None:
        super().__init__(fixed_reply)
        self.form = form
        self.watched = asyncio.Event()
        self.watched.set()

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
        await self.watched.wait()
        answer = await super().complete(call)
        done = replace(self.form(answer.text), usage=answer.usage)
        if on_text is not None:
            for letter in done.text:
                on_text(letter)
        return done


async def watched(node: Node, **changes: Any) -> list[Event]:
    """The events of a run whose first reply comes once they are watched: before that, it has no tokens."""
    if isinstance(node.host, Reasoner):
        node.host.watched.clear()
    handle = await node.start(**changes)
    log: list[Event] = []
    async for event in handle.events(tokens=True):
        log.append(event)
        if isinstance(node.host, Reasoner):
            node.host.watched.set()
    return log


@pytest.mark.parametrize("form", FORMS)
async def test_reasoning_is_recorded_and_reaches_no_other_seat(make: Make, form: str) -> None:
    node = make(Reasoner(FORMS[form]))
    log = await watched(node, options={"rounds": 2})
    finished = [event for event in log if isinstance(event, CallFinished)]
    assert len(finished) > 5
    assert {event.reasoning for event in finished} == {SECRET}
    for event in log:
        document = to_json(event)
        document.pop("reasoning", None)
        # Text that arrives before a closing tag without an opening one looks like an answer.
        assert SECRET not in str(document) or (form == "only a closing tag" and isinstance(event, Token)), (
            event
        )
    assert not any(SECRET in prompt for prompt in node.host.sent)
    texts = {event.key: event.text for event in finished}
    shown: dict[str, str] = {}
    for event in log:
        if isinstance(event, Token):
            shown[event.key] = event.text if event.restart else shown.get(event.key, "") + event.text
    assert shown == texts
    restarts = {event.key for event in log if isinstance(event, Token) and event.restart}
    assert restarts == (set(texts) if form == "only a closing tag" else set())
    assert all(text.endswith("evidence") for text in texts.values())


async def test_a_verdict_after_reasoning_is_read_from_its_json(make: Make) -> None:
    def rule(call: Call) -> str:
        if call.schema is None:
            return "I propose to wait.\nFinal answer: wait"
        ballot = '{"text": "", "vote": "FINALIZE", "label": "Participant A", "ranking": []}'
        approval = '{"reason": "", "verdict": "APPROVE"}'
        return (
            f"<think>Perhaps {{}}?</think>\n{ballot if call.schema.name == 'ballot' else approval}<|im_end|>"
        )

    node = make(Host(rule))
    handle = await node.start(protocol="council", options={"rounds": 1})
    assert (await handle.result()).stop_reason == "majority"
    verdicts = [
        e for e in await node.log(handle.run_id) if isinstance(e, CallFinished) and e.data is not None
    ]
    assert {(event.source, event.reasoning) for event in verdicts} == {("json", "Perhaps {}?")}


async def test_reasoning_is_masked_and_bounded(make: Make) -> None:
    node = make(
        Reasoner(lambda text: Completion(text, reasoning=f"sk-{SECRET} " + "x" * 2 * LONGEST_REASONING))
    )
    node.runner.providers.redact_replies = Redactor([f"sk-{SECRET}"])
    log = await watched(node, protocol="single", options={})
    (finished,) = (event for event in log if isinstance(event, CallFinished))
    assert finished.reasoning is not None
    assert finished.reasoning.startswith("[redacted] xxx")
    assert finished.reasoning.endswith("more characters were not recorded]")
    assert len(finished.reasoning) < LONGEST_REASONING + 100


class Thinker(Host):
    """Thinks for `thoughts` tokens before each answer; a reply that is longer than its limit is cut off."""

    def __init__(self, thoughts: dict[str, int], **more: Any) -> None:
        super().__init__(lambda call: f"It is so.\nFinal answer: {call.model[0]}", **more)
        self.thoughts = thoughts
        self.limits: list[tuple[str, int]] = []

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
        answer = await super().complete(call)
        self.limits.append((call.model, call.max_tokens))
        thought = self.thoughts.get(call.model, 0)
        size = len(call.prompt) // 4 + 1
        if thought + 20 <= call.max_tokens:
            text = f"<think>{SECRET}</think>{answer.text}" if thought else answer.text
            return Completion(text, Usage(size, 0, thought + 20, thought))
        spent = Usage(size, 0, call.max_tokens, call.max_tokens)
        return Completion(f"<think>{SECRET}, and so", spent, "length", finish_detail="max_tokens")


def events_of(log: list[Event], *kinds: type[Event]) -> list[Any]:
    return [event for event in log if isinstance(event, kinds)]


async def test_a_reply_that_was_all_reasoning_is_asked_for_once_more_with_a_higher_limit(make: Make) -> None:
    host = Thinker({"mid": 300})
    node = make(host)
    handle = await node.start(protocol="voting", options={})
    result = await handle.result()
    log = await node.log(handle.run_id)
    well_formed(log)
    assert [limit for model, limit in host.limits if model == "mid"] == [200, 400]
    (cut,) = events_of(log, CallFailed)
    assert (cut.kind, cut.final, cut.reasoning) == ("cut_off", False, f"{SECRET}, and so")
    assert cut.message == (
        "no answer: 200 tokens went to reasoning; raise max_output_tokens (now 200) or lower reasoning_effort"
    )
    assert (cut.output_tokens, cut.reasoning_tokens) == (200, 200)
    assert len(result.detail["votes"]) == 3
    assert (result.degraded, result.dropped, exit_code(result)) == (False, (), 0)
    # The first reply was paid, and is counted.
    charged = cut.charged_usd + sum(event.cost_usd for event in events_of(log, CallFinished))
    account = await account_of(node, handle.run_id)
    assert (account.spent_nusd, account.reserved_nusd) == (round(charged * 1e9), 0)
    assert result.usage["cost_usd"] == pytest.approx(charged)
    outputs = sum(event.output_tokens for event in events_of(log, CallFinished, CallFailed))
    assert result.usage["output_tokens"] == outputs
    assert cut.charged_usd == pytest.approx((cut.input_tokens + 4 * 200) / 1e6)


async def test_a_seat_that_only_thinks_is_missing_with_the_setting_to_raise(make: Make) -> None:
    host = Thinker({"mid": 10_000})
    node = make(host)
    handle = await node.start(protocol="voting", options={})
    result = await handle.result()
    log = await node.log(handle.run_id)
    assert [limit for model, limit in host.limits if model == "mid"] == [200, 400]
    (silent,) = (event for event in events_of(log, CallFinished) if event.absent)
    reason = (
        "no answer: 400 tokens went to reasoning; raise max_output_tokens (now 200) or lower reasoning_effort"
    )
    assert (silent.absent, silent.text, silent.reasoning) == (reason, "", f"{SECRET}, and so")
    assert result.dropped == ({"seat": "Participant B", "model": "h:mid", "reason": reason},)
    assert (result.degraded, exit_code(result)) == (True, 5)
    assert not events_of(log, SeatDropped)


async def test_without_room_in_the_budget_the_seat_abstains_and_the_run_goes_on(make: Make) -> None:
    free = make(Thinker({"mid": 300}))
    three: dict[str, Any] = {"protocol": "sample", "options": {"samples": 3, "adaptive": False}}
    handle = await free.start(**three)
    await handle.result()
    log = await free.log(handle.run_id)
    (second,) = [event for event in events_of(log, CallStarted) if event.max_tokens == 400]
    first = sum(event.cost_usd or 0 for event in events_of(log, CallFinished) if event.attempt == 1)
    first += sum(event.charged_usd or 0 for event in events_of(log, CallFailed))
    # There is room for three first requests, whatever their order, but never for the second one of a seat.
    limit = first + 0.7 * (second.reserved_usd or 0)
    node = make(Thinker({"mid": 300}))
    handle = await node.start(**three, budget_usd=limit)
    result = await handle.result()
    log = await node.log(handle.run_id)
    cut, given_up = events_of(log, CallFailed)
    assert (cut.final, given_up.final, given_up.charged_usd) == (False, True, 0.0)
    assert given_up.message.endswith("; the budget has no room for a longer reply")
    assert result.dropped == ({"seat": "Participant B", "model": "h:mid", "reason": given_up.message},)
    assert (result.status, result.degraded) != ("paused", False)
    account = await account_of(node, handle.run_id)
    assert account.reserved_nusd == 0
    assert account.spent_nusd <= round(limit * 1e9)


async def test_a_seat_that_nobody_can_stand_in_for_waits_for_a_larger_budget(make: Make) -> None:
    alone: dict[str, Any] = {"protocol": "single", "options": {}, "seats": PANEL[1:2]}
    host = Thinker({"mid": 300})
    node = make(host)
    # Room for a reply of 200 tokens at 4 USD per million tokens, and for none of 400.
    handle = await node.start(**alone, budget_usd=0.0028)
    paused = await handle.result()
    assert (paused.status, paused.stop_reason) == ("paused", "budget")
    assert paused.detail["message"].startswith(
        "no answer: 200 tokens went to reasoning; raise max_output_tokens (now 200) or lower "
        "reasoning_effort. Budget too small: the next call may cost up to $0.00"
    )
    done = await (await node.runner.resume(handle.run_id, budget_usd=1.0)).result()
    assert (done.status, done.degraded) == ("single", False)
    assert [limit for _, limit in host.limits] == [200, 400]


async def test_a_run_that_the_budget_left_without_a_quorum_is_paused(make: Make) -> None:
    host = Thinker({"large": 300, "mid": 300, "small": 300})
    node = make(host)
    handle = await node.start(protocol="voting", options={}, budget_usd=0.0053)
    paused = await handle.result()
    assert (paused.status, paused.stop_reason) == ("paused", "budget")
    assert "200 tokens went to reasoning" in paused.detail["message"]
    assert paused.usage["cost_usd"] <= 0.0053
    done = await (await node.runner.resume(handle.run_id, budget_usd=1.0)).result()
    assert (done.status, done.degraded) == ("plurality", False)
    # Every seat is asked once under each limit: what was paid is not paid again.
    votes = [limit for _, limit in host.limits][:6]
    assert sorted(votes) == [200, 200, 200, 400, 400, 400]


async def test_a_limit_that_the_budget_lowered_does_not_take_the_place_of_the_higher_one(make: Make) -> None:
    host = Thinker({"mid": 300})
    node = make(host)
    handle = await node.start(protocol="single", options={}, seats=PANEL[1:2], budget_usd=0.0012)
    assert (await handle.result()).status == "paused"
    assert host.limits[0][1] < 200
    done = await (await node.runner.resume(handle.run_id, budget_usd=1.0)).result()
    assert done.status == "single"
    assert [limit for _, limit in host.limits][-2:] == [200, 400]


@pytest.mark.parametrize("is_sent", [False, True])
async def test_a_kill_between_the_two_requests_pays_neither_twice(
    make: Make, monkeypatch: pytest.MonkeyPatch, is_sent: bool
) -> None:
    alone: dict[str, Any] = {"protocol": "single", "seats": seats("h:large"), "options": {}}
    whole = Thinker({"large": 300})
    expected = await (await make(whole).start(**alone)).result()
    assert [limit for _, limit in whole.limits] == [200, 400]

    node = make(Thinker({"large": 300}, die_before=1 if is_sent else None))
    if not is_sent:
        record = ModelCall._record_intent

        async def record_first(call: ModelCall) -> CallStarted | Refusal:
            if call.context.journal.attempts(call.key):
                raise ProcessKilled
            return await record(call)

        monkeypatch.setattr(ModelCall, "_record_intent", record_first)
    handle = await node.start(**alone)
    await die(node, handle)
    monkeypatch.undo()

    later = Thinker({"large": 300})
    result = await (await node.another_process(later).runner.resume(handle.run_id)).result()
    assert [limit for _, limit in later.limits] == [400]
    assert (result.answer, result.status) == (expected.answer, expected.status)
    log = await node.log(handle.run_id)
    well_formed(log)
    kinds = [event.kind for event in events_of(log, CallFailed)]
    assert kinds == (["cut_off", "unknown"] if is_sent else ["cut_off"])
    assert is_sent or result.usage == expected.usage


async def test_a_model_that_thinks_beyond_the_limit_is_cut_off_once_in_a_run_and_its_resumes(
    make: Make,
) -> None:
    layers: dict[str, Any] = {"protocol": "moa", "options": {"layers": 2}}
    whole = Thinker({"mid": 300})
    await (await make(whole).start(**layers)).result()
    assert [limit for model, limit in whole.limits if model == "mid"] == [200, 400, 400]
    for kill in range(len(whole.limits)):
        node = make(Thinker({"mid": 300}, die_before=kill))
        handle = await node.start(**layers)
        await die(node, handle)
        later = Thinker({"mid": 300})
        await (await node.another_process(later).runner.resume(handle.run_id)).result()
        cut = [event for event in events_of(await node.log(handle.run_id), CallFailed) if event.text == ""]
        assert [event.kind for event in cut].count("cut_off") == 1, kill


async def test_a_model_at_its_own_limit_is_not_asked_again(make: Make) -> None:
    host = Thinker({"large": 300})
    handle = await make(host).start(protocol="single", seats=seats("h:large", max_output=100), options={})
    result = await handle.result()
    assert host.limits == [("large", 100)]
    assert result.detail["message"].endswith(
        'no answer: 100 tokens went to reasoning; raise max_output of [models."h:large"] (now 100) '
        "or lower reasoning_effort"
    )


@pytest.mark.parametrize(
    ("done", "reason"),
    [
        (Completion("<think>I never stop"), "no answer: the reply is all reasoning"),
        (Completion("", reasoning="I never answer"), "no answer: the reply is all reasoning"),
        (Completion(""), "empty"),
        (Completion("</s>"), "empty"),
    ],
)
async def test_a_reply_without_an_answer_is_an_abstention(make: Make, done: Completion, reason: str) -> None:
    node = make(Reasoner(lambda text: done))
    handle = await node.start(protocol="single", seats=seats("h:large"), options={})
    await handle.result()
    (finished,) = events_of(await node.log(handle.run_id), CallFinished)
    assert (finished.absent, finished.text) == (reason, "")


async def test_an_empty_reply_at_its_limit_says_so_even_if_the_host_counts_no_reasoning(make: Make) -> None:
    node = make(Reasoner(lambda text: Completion("", finish_reason="length")))
    handle = await node.start(protocol="single", seats=seats("h:large"), options={})
    result = await handle.result()
    words = r"no answer: \d+ tokens went to reasoning; raise max_output_tokens \(now 200\) or lower"
    assert re.search(words, str(result.detail))
    assert [e.max_tokens for e in events_of(await node.log(handle.run_id), CallStarted)] == [200, 400]


async def test_a_fork_keeps_the_reasoning_of_replies_that_it_copies(make: Make) -> None:
    node = make(Reasoner(FORMS["think"]))
    handle = await node.start(options={"rounds": 1})
    await handle.result()
    fork = await node.runner.resume(handle.run_id, fork=True)
    await fork.result()
    copied = [event for event in await node.log(fork.run_id) if isinstance(event, CallFinished)]
    assert {(event.copied, event.reasoning) for event in copied} == {(True, SECRET)}


async def test_a_seat_that_answers_later_is_not_missing_but_the_run_is_degraded(make: Make) -> None:
    calls: list[str] = []

    def rule(call: Call) -> str:
        calls.append(call.model)
        return "" if call.model == "mid" and calls.count("mid") == 1 else fixed_reply(call)

    result = await (await make(Host(rule)).start(options={"rounds": 3})).result()
    assert calls.count("mid") > 1
    assert (result.dropped, result.degraded, exit_code(result)) == ((), True, 5)


def test_an_answer_behind_the_thoughts_in_their_field_is_the_answer() -> None:
    found = separate(Completion("", reasoning=f"{SECRET}</think>It is 4."))
    assert (found.reasoning, found.text) == (SECRET, "It is 4.")
    both = Completion("It is 4.", reasoning="I write <think>a</think> b.")
    assert separate(both) == both
