"""Where a budget has no room for what the letters of a text may need, its host counts them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any, cast

import pytest

from pnyx.core.context.files import File
from pnyx.core.events import CallFinished, CallStarted
from pnyx.core.models import Usage
from pnyx.providers import base
from pnyx.providers.base import Call, Completion
from pnyx.providers.hosted.provider import open_hosted
from pnyx.run.calls.counted_prompts import CountedPrompts
from pnyx.run.result import Result
from pnyx.run.spec import Spec
from tests.run.test_small_budgets import spec
from tests.support.counting import CountingHost
from tests.support.hosting import KEY
from tests.support.panels import Host
from tests.support.processes import Node, account_of, well_formed
from tests.support.sized import SEATS, SizedHost
from tests.support.waiting import until

Make = Callable[[Host], Node]
NO_PRICE = tuple(replace(seat, price=None) for seat in SEATS)
TEXTS = {
    "Arabic": (6.0, 300 * "توصي مجموعة العمل بإبقاء الخدمات الأربع في مستودع واحد لأن الفريق صغير. "),
    "Hindi": (7.5, 250 * "कार्य समूह की सिफारिश है कि चारों सेवाएँ एक ही भंडार में रहें, क्योंकि दल छोटा है। "),
    "Russian": (7.0, 300 * "Рабочая группа рекомендует оставить четыре сервиса в одном репозитории. "),
    "Georgian": (6.0, 300 * "სამუშაო ჯგუფი გვირჩევს ოთხი სერვისის ერთ საცავში დატოვებას. "),
}
"""Language -> the bytes of a token by a recent encoding, and a text."""
ODD: tuple[Any, ...] = (0, 1, -5, 10**12, True, 1e4, float("nan"), "7000", None, [7000], ValueError("odd"))


class Counting(SizedHost):
    """Bills a token for `bytes` of input. says: what it says of a count, in place of the truth."""

    def __init__(self, bytes: float, says: Callable[[int], Any] = lambda tokens: tokens) -> None:
        super().__init__()
        self.bytes, self.says = bytes, says
        self.asked: list[Call] = []

    def tokens(self, call: Call) -> int:
        size = sum(len(message.text.encode()) for message in call.messages)
        return int((size + (len(call.schema.json) if call.schema else 0)) / self.bytes) + 8

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
        done = await super().complete(call, on_text)
        return replace(done, usage=replace(cast(Usage, done.usage), input_tokens=self.tokens(call)))

    async def count_tokens(self, call: Call) -> Any:
        self.asked.append(call)
        found = self.says(self.tokens(call))
        if isinstance(found, Exception):
            raise found
        return await found if asyncio.iscoroutine(found) else found


class Silent(Counting):
    """Has no count."""

    count_tokens = None  # type: ignore[assignment]


def about(protocol: str, language: str, **changes: Any) -> Spec:
    text = TEXTS[language][1]
    files = (File.of_text("notes.md", text.encode(), text),)
    return replace(spec(protocol, files=files), **changes)


async def ended(node: Node, wanted: Spec) -> Result:
    return await (await node.runner.start(wanted)).result()


async def cost(make: Make, protocol: str, language: str) -> float:
    host = Counting(TEXTS[language][0])
    usual = await ended(make(host), about(protocol, language))
    assert usual.status not in ("failed", "paused")
    assert host.asked == []
    return float(usual.usage["cost_usd"])


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("protocol", ["single", "escalate", "aggregate"])
async def test_a_run_about_a_text_in_any_script_finishes_under_twice_its_cost(
    make: Make, protocol: str, language: str
) -> None:
    cap = 2 * await cost(make, protocol, language)
    host = Counting(TEXTS[language][0])
    node = make(host)
    handle = await node.runner.start(about(protocol, language, budget_usd=cap))
    done = await handle.result()
    assert done.status not in ("failed", "paused"), done.detail
    assert done.usage["cost_usd"] <= cap
    log = await node.log(handle.run_id)
    well_formed(log)
    started = [event for event in log if isinstance(event, CallStarted)]
    reserved = {event.key: event.reserved_usd or 0 for event in started}
    costs = {event.key: event.cost_usd or 0 for event in log if isinstance(event, CallFinished)}
    assert len(started) == len(host.sent) == done.usage["calls"]
    assert all(costs[key] <= reserved[key] for key in costs)
    assert len(host.asked) <= len(started)
    assert (await account_of(node, handle.run_id)).reserved_nusd == 0


@pytest.mark.parametrize("language", ["Arabic", "Hindi"])
async def test_a_host_that_cannot_count_reserves_by_letters(make: Make, language: str) -> None:
    cap = 2 * await cost(make, "single", language)
    done = await ended(make(Silent(TEXTS[language][0])), about("single", language, budget_usd=cap))
    assert done.status == "paused"


@pytest.mark.parametrize("says", ODD, ids=repr)
async def test_a_count_that_cannot_be_true_changes_nothing(make: Make, says: Any) -> None:
    cap = 2 * await cost(make, "single", "Arabic")
    wanted = about("single", "Arabic", budget_usd=cap)
    silent = await ended(make(Silent(6.0)), wanted)
    host = Counting(6.0, lambda tokens: says)
    lied = await ended(make(host), wanted)
    assert len(host.asked) == 1
    assert (lied.status, _without_id(lied)) == (silent.status, _without_id(silent))
    assert lied.usage == silent.usage


def _without_id(done: Result) -> str:
    return str(done.detail["message"]).replace(done.run_id, "RUN")


async def test_a_host_that_hangs_costs_a_short_wait(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "COUNT_S", 0.05)
    host = Counting(6.0, lambda tokens: asyncio.sleep(3600))
    cap = 2 * await cost(make, "single", "Arabic")
    async with asyncio.timeout(20):
        done = await ended(make(host), about("single", "Arabic", budget_usd=cap))
    assert (done.status, len(host.asked)) == ("paused", 1)


async def test_a_stop_ends_the_wait_for_a_count(make: Make) -> None:
    host = Counting(6.0, lambda tokens: asyncio.sleep(3600))
    handle = await make(host).runner.start(about("single", "Arabic", budget_usd=0.02))
    await until(lambda: bool(host.asked))
    handle.pause()
    async with asyncio.timeout(5):
        done = await handle.result()
    assert (done.status, host.sent) == ("paused", [])


@pytest.mark.parametrize("changes", [{}, {"budget_usd": 5.0}, {"budget_usd": 1e-6, "seats": NO_PRICE}])
async def test_nobody_is_asked_where_it_does_not_matter(make: Make, changes: dict[str, Any]) -> None:
    """Without a cap, with room, and without a price."""
    host = Counting(6.0)
    done = await ended(make(host), about("single", "Arabic", allow_unknown_price=True, **changes))
    assert (done.status, host.asked) == ("single", [])


async def test_a_short_text_is_not_counted(make: Make) -> None:
    host = Counting(6.0)
    done = await ended(make(host), spec("single", budget_usd=0.0005))
    assert (done.status, host.asked) == ("paused", [])


async def test_a_text_whose_letters_tell_its_tokens_is_not_counted(make: Make) -> None:
    text = 300 * "The working group recommends that the four services stay in one repository. "
    files = (File.of_text("notes.md", text.encode(), text),)
    host = Counting(4.5)
    done = await ended(make(host), spec("single", files=files, budget_usd=0.01))
    assert (done.status, host.asked) == ("paused", [])


async def test_after_a_resume_a_host_may_be_asked_again(make: Make) -> None:
    host = Counting(6.0)
    node = make(host)
    handle = await node.runner.start(about("single", "Arabic", budget_usd=0.01))
    assert (await handle.result()).status == "paused"
    assert len(host.asked) == 1
    usual = await cost(make, "single", "Arabic")
    resumed = await (await node.runner.resume(handle.run_id, budget_usd=1.5 * usual)).result()
    assert (resumed.status, len(host.asked)) == ("single", 2)


async def test_a_host_that_charges_more_than_it_counted_is_not_believed_again(make: Make) -> None:
    usual = await cost(make, "deliberate", "Arabic")
    asked = []
    for share in (1.0, 0.9):
        host = Counting(6.0, lambda tokens: int(share * tokens))  # noqa: B023 (called in this turn)
        await ended(make(host), about("deliberate", "Arabic", budget_usd=1.05 * usual))
        asked.append(len(host.asked))
    assert asked[1] < asked[0]


def test_what_was_asked_is_forgotten_once_a_host_charges_more() -> None:
    counted, one, two = CountedPrompts(), ((10, b"a"), (20, b"b")), ((10, b"a"), (30, b"c"))
    counted.note_asked(one, 100, 200)
    assert counted.bound(two, lambda: "x" * 30, "m", 10**6).counted == 102
    counted.compare(one, 102)
    assert counted.may_ask
    counted.note(one, 103)
    counted.compare(one, 103)
    assert not counted.may_ask
    assert counted.bound(two, lambda: "x" * 30, "m", 10**6).counted == 103


@pytest.fixture(params=["anthropic", "google", "openai vllm", "openai llama.cpp"])
async def counter(request: pytest.FixtureRequest) -> AsyncIterator[tuple[CountingHost, str]]:
    dialect, _, server = request.param.partition(" ")
    async with CountingHost(server) as host:
        yield host, dialect


@pytest.mark.parametrize("protocol", ["single", "escalate"])
async def test_a_run_over_a_socket_finishes_under_twice_its_cost_if_its_host_counts(
    make: Make, counter: tuple[CountingHost, str], protocol: str
) -> None:
    host, dialect = counter
    results = []
    for counts in (False, True):
        host.answers = host.count if counts else lambda path, document: (404, b"{}")
        provider = open_hosted(dialect, base_url=getattr(host, dialect), api_key=KEY)
        node = make(cast(Host, provider))
        usual = await ended(node, about(protocol, "Arabic"))
        sent, asked = len(host.log), len(host.counts)
        assert usual.status not in ("failed", "paused")
        capped = about(protocol, "Arabic", budget_usd=2 * usual.usage["cost_usd"])
        results.append(await ended(node, capped))
        assert len(host.counts) > asked
        assert len(host.log) - sent == results[-1].usage["calls"]
        await provider.close()
    without, done = results
    assert without.status == "paused"
    assert done.status == usual.status
    assert done.usage["cost_usd"] == pytest.approx(usual.usage["cost_usd"])
