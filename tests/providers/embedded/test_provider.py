"""The embedded provider with the real SmolLM2: what a run relies on, not how good the answers are."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from pnyx.core.parsing.json_objects import object_schema
from pnyx.core.steps import Schema
from pnyx.errors import ProviderError
from pnyx.providers.base import Call, Completion, Message, ToolCall, ToolSpec
from pnyx.providers.embedded.provider import SLOTS, EmbeddedProvider, available_cores, open_embedded
from tests.providers.embedded.engines import computed, engines, have_ended, ports
from tests.support.sources import ROOT
from tests.support.waiting import STALL_S, until

pytestmark = pytest.mark.asyncio(loop_scope="module")

MODEL = "smollm2-135m"
LONG = "Write a very long story about a fox, a river and a mill. "
VOTE = Schema.of(
    "vote",
    {
        "type": "object",
        "properties": {
            "vote": {"enum": ["Participant A", "Participant B"]},
            "sure": {"type": "boolean"},
        },
        "required": ["vote", "sure"],
        "additionalProperties": False,
    },
)


def call(text: str, max_tokens: int = 24, model: str = MODEL, **fields: Any) -> Call:
    return Call(model, (Message("user", text),), max_tokens, **fields)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def provider(smollm2: Path) -> AsyncIterator[EmbeddedProvider]:
    provider = open_embedded(smollm2.parent)
    yield provider
    await provider.close()


@pytest_asyncio.fixture(loop_scope="module")
async def fresh(smollm2: Path) -> AsyncIterator[EmbeddedProvider]:
    """One that has loaded nothing yet, with little memory."""
    provider = open_embedded(smollm2.parent, context=2048)
    yield provider
    await provider.close()


@contextmanager
def stalls() -> Iterator[list[float]]:
    """Seconds by which the event loop was late, each time it was."""
    late: list[float] = []

    async def tick() -> None:
        while True:
            start = time.perf_counter()
            await asyncio.sleep(0.01)
            late.append(time.perf_counter() - start - 0.01)

    task = asyncio.ensure_future(tick())
    yield late
    task.cancel()


async def failure(provider: EmbeddedProvider, request: Call) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await provider.complete(request)
    return caught.value


async def started(provider: EmbeddedProvider) -> int:
    """The process id of the engine of a provider that has started none yet."""
    before = engines()
    await provider.complete(call("Hi", 1))
    (engine,) = engines() - before
    return engine


async def test_text_arrives_in_pieces_while_it_is_generated(provider: EmbeddedProvider) -> None:
    pieces: list[str] = []
    times: list[float] = []

    def on_text(piece: str) -> None:
        pieces.append(piece)
        times.append(time.perf_counter())

    for tokens in (40, 400):  # a process that stalls finds all pieces of a short text at once
        pieces.clear()
        times.clear()
        done = await provider.complete(call(LONG, tokens), on_text)
        if times[-1] - times[0] > 0.05:
            break
    assert "".join(pieces) == done.text
    assert len(pieces) > 20
    assert times[-1] - times[0] > 0.05
    assert (done.finish_reason, done.model) == ("length", MODEL)


async def test_usage_is_reported_with_what_was_cached(provider: EmbeddedProvider) -> None:
    first = await provider.complete(call("Count to ten, please, and then back to one.", 12))
    again = await provider.complete(call("Count to ten, please, and then back to one.", 12))
    assert first.usage
    assert again.usage
    assert first.usage.output_tokens <= 12
    assert again.usage.input_tokens == first.usage.input_tokens
    assert again.usage.cached_tokens > first.usage.input_tokens // 2


@pytest.mark.parametrize("seed", range(2))
async def test_a_schema_is_satisfied_at_any_temperature(provider: EmbeddedProvider, seed: int) -> None:
    request = call("Who is right?", 120, schema=VOTE, seed=seed, temperature=1.5)
    reply = json.loads((await provider.complete(request)).text)
    assert reply["vote"] in ("Participant A", "Participant B")
    assert isinstance(reply["sure"], bool)
    assert len(reply) == 2


async def test_text_within_a_schema_ends_before_the_tokens_do(provider: EmbeddedProvider) -> None:
    parts = object_schema("parts", {"explanation": {"type": "string"}, "reason": {"type": "string"}})
    request = call("Explain in detail how a steam engine works, and why.", 160, schema=parts, temperature=0.0)
    done = await provider.complete(request)
    assert done.finish_reason == "stop"
    # It would have have_ended on: the grammar ended this text.
    assert len(json.loads(done.text)["explanation"]) == 200


async def test_a_model_that_repeats_itself_is_stopped(provider: EmbeddedProvider) -> None:
    reply = "I am here. "
    done = await provider.complete(call(f"Say: {reply * 5}Go on.", 1000, temperature=0.0))
    assert (done.text, done.finish_reason) == (reply, "length")
    assert done.usage
    assert 50 < done.usage.input_tokens < 60
    assert 50 < done.usage.output_tokens < 120
    free = await asyncio.wait_for(provider.complete(call("Hello.", 1)), STALL_S)
    assert free.usage


async def test_seed_and_temperature_decide_the_text(provider: EmbeddedProvider) -> None:
    async def text(**fields: Any) -> str:
        return (await provider.complete(call("Name an animal and say why.", 8, **fields))).text

    await text(seed=0)
    assert await text(seed=7, temperature=1.0) == await text(seed=7, temperature=1.0)
    assert len({await text(seed=n, temperature=1.5) for n in range(3)}) > 1
    assert len({await text(seed=n, temperature=0.0) for n in range(2)}) == 1


async def test_a_prompt_that_does_not_fit_is_too_long_and_costs_nothing(provider: EmbeddedProvider) -> None:
    error = await failure(provider, call("word " * 9000))
    assert (error.kind, error.billed, error.retryable) == ("too_long", False, False)
    assert "8192" in str(error)


async def test_a_reply_ends_where_the_window_does(smollm2: Path) -> None:
    provider = open_embedded(smollm2.parent, context=256, slots=1)
    done = await provider.complete(call(LONG * 13, 100_000, temperature=2.0))
    await provider.close()
    assert done.usage
    assert 200 < done.usage.input_tokens + done.usage.output_tokens <= 256


@pytest.mark.parametrize("text", [LONG, LONG * 110], ids=["generating", "reading the prompt"])
async def test_a_cancelled_call_frees_its_slot_within_two_seconds(fresh: EmbeddedProvider, text: str) -> None:
    engine = await started(fresh)
    idle = computed(engine)
    calls = [asyncio.ensure_future(fresh.complete(call(f"{n} {text}", 4000))) for n in range(SLOTS)]
    await until(lambda: computed(engine) - idle > 0.3)
    assert not any(task.done() for task in calls)
    start, used = time.perf_counter(), computed(engine)
    for task in calls:
        task.cancel()
    ended = await asyncio.gather(*calls, return_exceptions=True)
    assert time.perf_counter() - start < STALL_S
    assert all(isinstance(error, asyncio.CancelledError) for error in ended)
    await fresh.complete(call("Hi", 1))
    # Seconds of its processor time, whatever else the machine is doing.
    assert (computed(engine) - used) / available_cores() < 2


async def test_a_call_cancelled_while_it_waits_for_a_slot_is_never_generated(
    provider: EmbeddedProvider,
) -> None:
    writing, pieces = set[int](), list[str]()
    running = [
        asyncio.ensure_future(
            provider.complete(call(f"{n} {LONG}", 3000), lambda _, n=n: writing.add(n))  # type: ignore[misc]
        )
        for n in range(SLOTS)
    ]
    await until(lambda: len(writing) == SLOTS)
    waiting = asyncio.ensure_future(provider.complete(call(LONG, 30), pieces.append))
    await asyncio.sleep(0.1)
    assert not any(task.done() for task in running)
    for task in (waiting, *running):
        task.cancel()
    await asyncio.gather(waiting, *running, return_exceptions=True)
    await provider.complete(call("Hi", 1))
    assert waiting.cancelled()
    assert not pieces


async def test_more_calls_than_slots_are_all_answered_and_no_more_than_slots_run_at_once(
    provider: EmbeddedProvider,
) -> None:
    spans: dict[int, list[float]] = {}

    async def one(n: int) -> Completion:
        spans[n] = []
        return await provider.complete(
            call(f"{n}: {LONG}", 10), lambda piece: spans[n].append(time.perf_counter())
        )

    done = await asyncio.gather(*(one(n) for n in range(5)))
    assert all(reply.usage and reply.usage.output_tokens == 10 for reply in done)
    firsts = sorted(times[0] for times in spans.values())
    lasts = sorted(times[-1] for times in spans.values())
    # The third begins only when one of the first two has ended, and so on.
    assert all(started_at > ended for started_at, ended in zip(firsts[SLOTS:], lasts, strict=False))
    assert firsts[1] < lasts[0]


async def test_loading_and_generating_leave_the_event_loop_free(smollm2: Path) -> None:
    latest = []
    for _ in range(5):  # a machine can stall in one of them; a loop that is blocked is blocked in all
        provider = open_embedded(smollm2.parent, context=2048)
        with stalls() as late:
            await provider.complete(call(LONG, 20))
        await provider.close()
        latest.append(max(late))
        if latest[-1] < 0.25:
            break
    assert min(latest) < 0.25


async def test_first_calls_at_once_start_one_engine(fresh: EmbeddedProvider) -> None:
    before = engines()
    await asyncio.gather(*(fresh.complete(call(f"Hi {n}", 2)) for n in range(3)))
    assert len(engines() - before) == 1


async def test_two_models_answer_side_by_side(fresh: EmbeddedProvider, smollm2: Path, tmp_path: Path) -> None:
    other = tmp_path / "another.gguf"
    shutil.copyfile(smollm2, other)
    before = engines()
    done = await asyncio.gather(
        fresh.complete(call("Hi", 4)), fresh.complete(call("Hi", 4, model=str(other)))
    )
    assert [reply.model for reply in done] == [MODEL, str(other)]
    assert all(reply.text for reply in done)
    assert len(engines() - before) == 2


async def test_close_ends_the_engine_and_what_it_generates(fresh: EmbeddedProvider) -> None:
    engine = await started(fresh)
    began = asyncio.Event()
    running = asyncio.ensure_future(fresh.complete(call(LONG, 900), lambda _: began.set()))
    await began.wait()
    await fresh.close()
    with pytest.raises(ProviderError, match="closed") as caught:
        await running
    assert caught.value.kind == "unavailable"
    assert have_ended({engine})
    assert (await fresh.complete(call("Hi", 2))).text


async def test_a_crash_of_the_engine_fails_its_calls_and_the_next_call_starts_another(
    fresh: EmbeddedProvider,
) -> None:
    engine = await started(fresh)
    began = asyncio.Event()
    running = asyncio.ensure_future(fresh.complete(call(LONG, 900), lambda _: began.set()))
    await began.wait()
    os.kill(engine, 9)
    with pytest.raises(ProviderError, match="crashed") as caught:
        await running
    assert caught.value.retryable
    assert (await fresh.complete(call("Hi", 2))).text


async def test_a_missing_model_names_the_command_that_fetches_it(tmp_path: Path) -> None:
    error = await failure(open_embedded(tmp_path), call("Hi"))
    assert error.kind == "not_found"
    assert "pnyx models pull smollm2-135m" in str(error)


async def test_a_damaged_file_is_an_error_and_loads_once_it_is_mended(
    fresh: EmbeddedProvider, smollm2: Path, tmp_path: Path
) -> None:
    path = tmp_path / "model.gguf"
    shutil.copyfile(smollm2, path)
    os.truncate(path, 50_000_000)
    error = await failure(fresh, call("Hi", model=str(path)))
    assert error.kind == "unavailable"
    assert f"{path} cannot be loaded" in str(error)
    shutil.copyfile(smollm2, path)
    assert (await fresh.complete(call("Hi", 2, model=str(path)))).text


async def test_an_invalid_schema_is_refused(provider: EmbeddedProvider) -> None:
    error = await failure(provider, call("Hi", schema=Schema.of("odd", {"type": "nonsense"})))
    assert error.kind == "refused"
    assert (await provider.complete(call("Hi", 2))).text


async def test_text_cannot_end_its_turn_or_break_the_request(provider: EmbeddedProvider) -> None:
    async def tokens(text: str) -> int:
        done = await provider.complete(call(text, 1))
        assert done.usage
        return done.usage.input_tokens

    # As a control mark it would be one token, as text it is several.
    assert await tokens("a<|im_end|>") > await tokens("a") + 3
    assert await tokens("\ud800 \x00 \x1b[2J \u202e") > 0


async def test_tools_are_ignored_and_a_tools_turn_is_read(provider: EmbeddedProvider) -> None:
    request = (
        Message("system", "Be brief."),
        Message("user", "What is the weather?"),
        Message("assistant", "Let me look.", tool_calls=(ToolCall("1", "weather", {}),)),
        Message("tool", "Sunny.", tool_call_id="1", tool_name="weather"),
    )
    done = await provider.complete(Call(MODEL, request, 8, tools=(ToolSpec("weather", "reports it", {}),)))
    assert done.text
    assert not done.tool_calls


LEFT_OPEN = """
import asyncio, os, sys
from pathlib import Path
from pnyx.providers.embedded.provider import open_embedded
from pnyx.providers.base import Call, Message
from tests.providers.embedded.test_provider import engines

async def main(good, bad, note):
    provider = open_embedded(good.parent, context=512)
    for model in ("smollm2-135m", str(bad)):
        try:
            assert (await provider.complete(Call(model, (Message("user", "Hi"),), 2))).text
        except Exception as exc:
            assert "cannot be loaded" in str(exc), exc
    note.write_text(" ".join(map(str, engines())))

asyncio.run(main(*map(Path, sys.argv[1:])))
"""


async def test_nothing_is_printed_and_no_engine_outlives_a_process_that_never_closed_it(
    smollm2: Path, tmp_path: Path
) -> None:
    bad, note = tmp_path / "bad.gguf", tmp_path / "note"
    bad.write_bytes(b"GGUF" + bytes(1000))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", LEFT_OPEN, str(smollm2), str(bad), str(note)),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await process.communicate()
    assert (process.returncode, out) == (0, b"")
    assert await asyncio.to_thread(have_ended, set(map(int, note.read_text().split())))


async def test_the_engine_can_be_reached_through_no_port(fresh: EmbeddedProvider) -> None:
    engine = await started(fresh)
    assert not ports(engine)


async def test_the_engine_gets_no_key(fresh: EmbeddedProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "PNYX_DATABASE", "GITHUB_TOKEN"):
        monkeypatch.setenv(name, "secret-of-the-user")
    file = Path(f"/proc/{await started(fresh)}/environ")
    assert b"secret-of-the-user" not in await asyncio.to_thread(file.read_bytes)
