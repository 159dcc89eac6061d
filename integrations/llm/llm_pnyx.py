"""A plug-in for llm: `llm -m pnyx/consensus "…"` asks a panel of language models."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Iterator
from importlib.metadata import entry_points
from typing import Any

import llm
from llm.parts import StreamEvent, TextPart
from pydantic import Field

import pnyx

PREFIX = "pnyx/"
UNDECIDED = ("failed", "paused", "cancelled")


@llm.hookimpl
def register_models(register: Any) -> None:
    """Register a model for each protocol, and one for each saved panel of the settings."""
    protocols = sorted(entry_points(group="pnyx.protocols").names)
    for name in protocols:
        register(Panel(name, {"protocol": name}), AsyncPanel(name, {"protocol": name}))
    try:
        panels = pnyx.load_settings().panels
    except pnyx.PnyxError:
        return  # a request says what is wrong with the settings
    for name in panels:
        if name not in protocols:
            register(Panel(name, {"saved_panel": name}), AsyncPanel(name, {"saved_panel": name}))


class Options(llm.Options):
    """The options of a request; those left out come from the settings of pnyx."""

    panel: str | None = Field(
        None, description="The models, with commas between: provider:model or provider:model*N"
    )
    preset: str | None = Field(None, description="quick or deep")
    rounds: int | None = Field(None, description="The most rounds")
    judge: str | None = Field(None, description="The model that closes")
    effort: str | None = Field(None, description="How much models think: none, low, medium or high")
    language: str | None = Field(None, description="The language of the answer, such as de")
    seed: int | None = Field(None, description="Random seed")
    budget_usd: float | None = Field(None, description="Pause before the run costs more than this, in USD")
    deadline_s: float | None = Field(None, description="Pause after this many seconds")
    ground: bool | None = Field(None, description="Search the web first; all seats cite the same sources")
    tools: bool | None = Field(
        None, description="Let seats search the web, read pages and files, and run Python"
    )


class _Shared:
    can_stream = True
    supports_schema = True
    Options = Options

    def __init__(self, name: str, named: dict[str, str]) -> None:
        self.model_id = PREFIX + name
        self._named = named

    def __str__(self) -> str:
        return f"pnyx: {self.model_id}"

    def _request(self, prompt: Any) -> dict[str, Any]:
        """Return the arguments of `pnyx.stream`: the last turn of the user is the question."""
        request: dict[str, Any] = {**self._named, **prompt.options.model_dump(exclude_none=True)}
        if isinstance(panel := request.get("panel"), str):
            request["panel"] = [model.strip() for model in panel.split(",") if model.strip()]
        turns = [(one.role, "".join(_texts(one))) for one in prompt.messages]
        system = [text for role, text in turns if role == "system" and text]
        spoken = [turn for turn in turns if turn[0] != "system" and turn[1]]
        question = spoken.pop()[1] if spoken and spoken[-1][0] == "user" else ""
        if system:
            request["instructions"] = "\n\n".join(dict.fromkeys(system))
        if prompt.schema:
            request["answer_schema"] = prompt.schema
        context = [pnyx.Material(f"Earlier, {role}", text) for role, text in spoken]
        return {**request, "question": question, "context": context}

    async def _events(self, prompt: Any, response: Any) -> AsyncIterator[StreamEvent]:
        """Ask the panel: its steps and what is known of the answer as reasoning, the answer as text."""
        last: Any = None
        async for event in pnyx.stream(tokens=False, **self._request(prompt)):
            match event:
                case pnyx.PhaseEntered():
                    place = f"round {event.round} · {event.phase}" if event.round else event.phase
                    yield StreamEvent(type="reasoning", chunk=f"{place}\n")
                case pnyx.CallFinished():
                    yield StreamEvent(type="reasoning", chunk=f"  {event.seat} ({event.model}) replied\n")
                case pnyx.SeatDropped():
                    yield StreamEvent(type="reasoning", chunk=f"  {event.seat} dropped out: {event.reason}\n")
                case pnyx.RunFinished():
                    last = event
        result = last.result if last is not None else {}
        if not result or result["status"] in UNDECIDED:
            raise llm.ModelError(_failure(result))
        response.response_json = result
        usage = result["usage"]
        response.set_usage(
            input=usage["input_tokens"],
            output=usage["output_tokens"],
            details={"cost_usd": usage["cost_usd"], "calls": usage["calls"], "run_id": result["run_id"]},
        )
        yield StreamEvent(type="reasoning", chunk=_known(result))
        yield StreamEvent(type="text", chunk=result["answer"] or "")


class Panel(_Shared, llm.Model):
    """A panel, for code without an event loop."""

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Iterator[StreamEvent]:
        """Yield the events of a run. Leaving early interrupts it, and `pnyx resume` continues it."""
        events: queue.Queue[StreamEvent | BaseException | None] = queue.Queue()
        loop = asyncio.new_event_loop()

        async def pump() -> None:
            async for event in self._events(prompt, response):
                events.put(event)

        task = loop.create_task(pump())

        def run() -> None:
            # A thread of its own: notebooks have a loop running in the one that calls.
            try:
                loop.run_until_complete(task)
                events.put(None)
            except BaseException as exc:
                events.put(exc)
            finally:
                loop.run_until_complete(loop.shutdown_asyncgens())
                loop.close()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        ended = False
        try:
            while not ended:
                event = events.get()
                ended = event is None or isinstance(event, BaseException)
                if isinstance(event, BaseException):
                    raise _shown(event)
                if event is not None:
                    yield event
        finally:
            if not ended:
                loop.call_soon_threadsafe(task.cancel)
            thread.join()


class AsyncPanel(_Shared, llm.AsyncModel):
    """A panel, for code with an event loop."""

    async def execute(
        self, prompt: Any, stream: bool, response: Any, conversation: Any
    ) -> AsyncIterator[StreamEvent]:
        """Yield the events of a run."""
        try:
            async for event in self._events(prompt, response):
                yield event
        except pnyx.PnyxError as exc:
            raise _shown(exc) from exc


def _texts(message: Any) -> Iterator[str]:
    """What a message says, without its reasoning."""
    for part in message.parts:
        if isinstance(part, TextPart):
            yield part.text


def _shown(exc: BaseException) -> BaseException:
    """An error as llm prints it, without a traceback."""
    return llm.ModelError(str(exc)) if isinstance(exc, pnyx.PnyxError) else exc


def _failure(result: dict[str, Any]) -> str:
    if not result:
        return "the run ended without a result"
    why = (result.get("detail") or {}).get("message") or result["stop_reason"]
    resume = f"; continue it with: pnyx resume {result['run_id']}" if result["status"] == "paused" else ""
    return f"run {result['run_id']} {result['status']}: {why}{resume}"


def _known(result: dict[str, Any]) -> str:
    """What is known of the answer: agreement, cost, run, and the objections that stand."""
    agreed, cost = result["detail"].get("agreed"), result["usage"]["cost_usd"]
    facts = [f"{agreed['seats']} of {agreed['of']} seats agree"] if agreed else []
    facts += ["cost unknown" if cost is None else f"${cost:.4f}", f"run {result['run_id']}"]
    lines = [" · ".join(facts)]
    lines += [f"Objection of {one['seat']}: {one['text']}" for one in result["dissent"]]
    return "\n".join(lines) + "\n"
