"""pnyx within Inspect: `pnyx/PROTOCOL` as a model, our test sets as tasks, our graders as a scorer.

Found by Inspect through its entry point, so `inspect eval TASK --model pnyx/council -M panel=a:x,b:y` works.
`pnyx eval` runs its arms as the same model, with a bench of its own in `BENCH`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine, Sequence
from contextvars import ContextVar
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageUser,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    modelapi,
)
from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import TaskState, generate
from inspect_ai.tool import ToolChoice, ToolInfo

from ... import protocols
from ...config.load import check_protocols, load
from ...config.schema import Settings
from ...errors import UsageError
from ...providers.catalogue import default_panel
from ...run.batch import Batch
from ...run.runner import Runner
from ..analysis.log import Arm
from ..datasets import load as load_set
from ..grading.grade import grade
from ..items import Item
from .arm_names import parse_arm
from .bench import Bench, Told

__all__ = [
    "BENCH",
    "FACTS",
    "JudgeModel",
    "PanelModel",
    "hard",
    "item_task",
    "read_item",
    "same_answer",
    "small",
    "traps",
]

BENCH: ContextVar[Bench] = ContextVar("bench")
"""Where the models of this evaluation answer; unset where Inspect itself began it."""
FACTS = "pnyx"
"""The key in an output's metadata under which stands what came of the run."""
T = TypeVar("T")


@modelapi(name="pnyx")
class PanelModel(ModelAPI):
    """A panel as one model. Its name is an arm: `voting`, `council:quick`, `consensus:rounds=2`.

    model_args: panel (references, comma-separated or a list; default: as configured), seed, budget_usd
    (USD, of one answer), tools; all else is an option of the protocol.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008  Inspect's own signature
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        self._own = model_args
        bench = BENCH.get(None)
        self.arm = bench.arms[model_name] if bench else _with(parse_arm(model_name), model_args)

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        if tools:
            raise UsageError("a panel uses pnyx's own tools ([tools] in its settings), none of Inspect's")
        question = _question(input)
        bench = BENCH.get(None) or await _own_bench(self._own)
        return _output(self.model_name, await _in(bench, bench.answer(self.arm, question)))

    def max_connections(self) -> int:
        return 8

    def connection_key(self) -> str:
        return self.model_name


@modelapi(name="pnyx-judge")
class JudgeModel(ModelAPI):
    """The judge of the evaluation, for tasks that have a model grade: no arm may grade itself."""

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        bench = BENCH.get()
        told = await _in(bench, bench.ask_judge(_question(input)))
        return ModelOutput.from_content(self.model_name, told)


async def _in(bench: Bench, work: Coroutine[Any, Any, T]) -> T:
    """Do `work` in the loop of the bench: Inspect has one of its own, in a thread of its own."""
    if bench.batch.loop is asyncio.get_running_loop():
        return await work
    there: Awaitable[T] = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, bench.batch.loop))
    return await there


def _output(model: str, told: Told) -> ModelOutput:
    facts = told.facts()
    # What stood when a run failed is not its answer.
    output = ModelOutput.from_content(model, "" if facts["failure"] else told.result.answer)
    output.usage = ModelUsage(
        input_tokens=facts["input_tokens"] - facts["cached_tokens"],
        input_tokens_cache_read=facts["cached_tokens"],
        output_tokens=facts["output_tokens"],
        total_tokens=facts["input_tokens"] + facts["output_tokens"],
        total_cost=facts["cost_usd"],
    )
    output.time = facts["seconds"]
    output.metadata = {FACTS: facts}
    return output


def _question(messages: Sequence[ChatMessage]) -> str:
    """What a chat asks, as one text: only the words of a lone message, else each behind who said it."""
    if any(not isinstance(m.content, str) and any(c.type != "text" for c in m.content) for m in messages):
        raise UsageError("a panel reads text only; this sample has images, sound or files")
    spoken = [message for message in messages if message.text.strip()]
    if len(spoken) == 1 and isinstance(spoken[0], ChatMessageUser):
        return spoken[0].text
    head = [message.text for message in spoken if message.role == "system"]
    turns = [message for message in spoken if message.role != "system"]
    if len(turns) == 1:
        return "\n\n".join([*head, turns[0].text])
    names = {True: "Assistant", False: "User"}
    return "\n\n".join(
        [*head, *(f"{names[isinstance(turn, ChatMessageAssistant)]}: {turn.text}" for turn in turns)]
    )


OURS = ("panel", "seed", "budget_usd", "tools")
_OPEN: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Task[tuple[Runner, object]]] = WeakKeyDictionary()


def _with(arm: Arm, args: dict[str, Any]) -> Arm:
    options = {**arm.options, **{key: value for key, value in args.items() if key not in OURS}}
    return Arm(name=arm.name, kind=arm.kind, protocol=arm.protocol, options=options)


async def _own_bench(args: dict[str, Any]) -> Bench:
    """A bench for an evaluation that Inspect began: each answer a fresh run, on the settings found here."""
    loop = asyncio.get_running_loop()
    if loop not in _OPEN:
        _OPEN[loop] = loop.create_task(_opened())
    runner, _ = await asyncio.shield(_OPEN[loop])
    told: dict[str, Any] = {key: args[key] for key in ("budget_usd", "tools") if key in args}
    return Bench(
        Batch(runner), panel_of(runner.settings, args.get("panel")), seed=args.get("seed"), options=told
    )


async def _opened() -> tuple[Runner, object]:
    settings = load()
    check_protocols(settings, {name: protocols.get(name) for name in settings.protocols})
    # Inspect closes no model; what runs leave behind is in the journal, and ends with the process.
    held = Runner.open(settings)
    return await held.__aenter__(), held


def panel_of(settings: Settings, given: str | Sequence[str] | None = None) -> tuple[str, ...]:
    """The references of a panel: given, configured, or found here."""
    refs = given.split(",") if isinstance(given, str) else given
    return tuple(refs or settings.panel.seats or default_panel(settings).refs)


def item_task(items: Sequence[Item], name: str) -> Task:
    """Our questions as a task of Inspect's."""
    samples = [
        Sample(
            input=item.asked,
            target=item.target,
            id=item.id,
            metadata={
                "question": item.question,
                "choices": list(item.choices),
                "category": item.category,
                "grader": item.grader,
                "tolerance": item.tolerance,
            },
        )
        for item in items
    ]
    return Task(MemoryDataset(samples, name=name), solver=generate(), scorer=same_answer(), name=name)


def read_item(id: str, target: str, metadata: dict[str, Any]) -> Item:
    """The question of a sample made by `item_task`."""
    return Item(
        id=id,
        question=metadata["question"],
        target=target,
        choices=tuple(metadata["choices"]),
        category=metadata["category"],
        grader=metadata["grader"],
        tolerance=metadata["tolerance"],
    )


@scorer(metrics=[accuracy(), stderr()])
def same_answer() -> Scorer:
    """Right where the short answer is the target's: exactly, by letter, within a tolerance, or to a judge."""

    async def score(state: TaskState, target: Target) -> Score:
        item = read_item(str(state.sample_id), target.text, state.metadata)
        facts = (state.output.metadata or {}).get(FACTS, {})

        async def ask(prompt: str) -> str:
            bench = BENCH.get(None) or await _own_bench({})
            return await _in(bench, bench.ask_judge(prompt))

        graded = await grade(item, state.output.completion, facts.get("final_answer"), ask)
        return Score(
            value=CORRECT if graded.correct else INCORRECT, answer=graded.answer, explanation=graded.why
        )

    return score


@task
def small(seed: int = 0, limit: int | None = None) -> Task:
    """Generated questions of mid difficulty for small models."""
    return item_task(load_set("small", seed=seed, limit=limit), "small")


@task
def traps() -> Task:
    """Questions whose well-known answer is wrong."""
    return item_task(load_set("traps"), "traps")


@task
def hard() -> Task:
    """Hard questions in six categories, every computable key derived in code."""
    return item_task(load_set("hard"), "hard")
