"""pnyx within Inspect: `pnyx/PROTOCOL` as a model, the included test sets as tasks, the graders as a scorer.

Inspect finds it through its entry point, so `inspect eval TASK --model pnyx/council -M panel=a:x,b:y` works.
`pnyx eval` runs its arms as the same model, with its own bench in `BENCH`.
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
from ...providers.default_panel import default_panel
from ...run.batch import Batch
from ...run.runner import Runner
from ..analysis.log import Arm
from ..datasets import load as load_set
from ..grading.grade import grade
from ..items import Item
from .arm_names import parse_arm
from .bench import ArmAnswer, Bench

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
"""The bench of this evaluation; unset if `inspect eval` started it."""
FACTS = "pnyx"
"""The key of the run's facts in the metadata of an output."""
T = TypeVar("T")


@modelapi(name="pnyx")
class PanelModel(ModelAPI):
    """A panel as one model. Its name is an arm: `voting`, `council:quick`, `consensus:rounds=2`.

    model_args: panel (references, comma-separated or a list; default: the configured one), seed, budget_usd
    (USD per answer), tools; all others are options of the protocol.
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
        self._args = model_args
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
            raise UsageError("a panel cannot use an Inspect task's tools; configure pnyx's own under [tools]")
        question = _question(input)
        bench = BENCH.get(None) or await _standalone_bench(self._args)
        return _output(self.model_name, await _in(bench, bench.answer(self.arm, question)))

    def max_connections(self) -> int:
        return 8

    def connection_key(self) -> str:
        return self.model_name


@modelapi(name="pnyx-judge")
class JudgeModel(ModelAPI):
    """The judge of the evaluation, for tasks that a model grades: no arm may grade itself."""

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        bench = BENCH.get()
        reply = await _in(bench, bench.ask_judge(_question(input)))
        return ModelOutput.from_content(self.model_name, reply)


async def _in(bench: Bench, work: Coroutine[Any, Any, T]) -> T:
    """Run `work` in the event loop of the bench: Inspect has its own loop in another thread."""
    if bench.batch.loop is asyncio.get_running_loop():
        return await work
    there: Awaitable[T] = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, bench.batch.loop))
    return await there


def _output(model: str, answer: ArmAnswer) -> ModelOutput:
    facts = answer.facts()
    # A failed run may hold a provisional answer, which does not count.
    output = ModelOutput.from_content(model, "" if facts["failure"] else answer.result.answer)
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
    """A chat as one text: a single message unchanged, several messages each after its role."""
    if any(not isinstance(m.content, str) and any(c.type != "text" for c in m.content) for m in messages):
        raise UsageError("a panel reads text only, and this sample has images, sound or files")
    with_text = [message for message in messages if message.text.strip()]
    if len(with_text) == 1 and isinstance(with_text[0], ChatMessageUser):
        return with_text[0].text
    head = [message.text for message in with_text if message.role == "system"]
    turns = [message for message in with_text if message.role != "system"]
    if len(turns) == 1:
        return "\n\n".join([*head, turns[0].text])
    names = {True: "Assistant", False: "User"}
    return "\n\n".join(
        [*head, *(f"{names[isinstance(turn, ChatMessageAssistant)]}: {turn.text}" for turn in turns)]
    )


PANEL_ARGS = ("panel", "seed", "budget_usd", "tools")
"""The model arguments that are not options of the protocol."""
_OPEN: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Task[tuple[Runner, object]]] = WeakKeyDictionary()


def _with(arm: Arm, args: dict[str, Any]) -> Arm:
    options = {**arm.options, **{key: value for key, value in args.items() if key not in PANEL_ARGS}}
    return Arm(name=arm.name, kind=arm.kind, protocol=arm.protocol, options=options)


async def _standalone_bench(args: dict[str, Any]) -> Bench:
    """A bench for an evaluation that `inspect eval` started: each answer is a new run with local settings."""
    loop = asyncio.get_running_loop()
    if loop not in _OPEN:
        _OPEN[loop] = loop.create_task(_open_runner())
    runner, _ = await asyncio.shield(_OPEN[loop])
    options: dict[str, Any] = {key: args[key] for key in ("budget_usd", "tools") if key in args}
    return Bench(
        Batch(runner), panel_of(runner.settings, args.get("panel")), seed=args.get("seed"), options=options
    )


async def _open_runner() -> tuple[Runner, object]:
    settings = load()
    check_protocols(settings, {name: protocols.get(name) for name in settings.protocols})
    # Inspect never closes a model, so the runner stays open until the process ends; the journal is complete.
    context = Runner.open(settings)
    return await context.__aenter__(), context


def panel_of(settings: Settings, panel: str | Sequence[str] | None) -> tuple[str, ...]:
    """The references of `panel`, or of the configured panel, or else of the available models."""
    refs = panel.split(",") if isinstance(panel, str) else panel
    return tuple(refs or settings.panel.seats or default_panel(settings).refs)


def item_task(items: Sequence[Item], name: str) -> Task:
    """The questions as an Inspect task."""
    samples = [
        Sample(
            input=item.prompt,
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
    """A scorer by each question's own grader: exact, choice, numeric or judge."""

    async def score(state: TaskState, target: Target) -> Score:
        item = read_item(str(state.sample_id), target.text, state.metadata)
        facts = (state.output.metadata or {}).get(FACTS, {})

        async def ask(prompt: str) -> str:
            bench = BENCH.get(None) or await _standalone_bench({})
            return await _in(bench, bench.ask_judge(prompt))

        result = await grade(item, state.output.completion, facts.get("final_answer"), ask)
        return Score(
            value=CORRECT if result.correct else INCORRECT, answer=result.answer, explanation=result.why
        )

    return score


@task
def small(seed: int = 0, limit: int | None = None) -> Task:
    """Generated questions of medium difficulty for small models."""
    return item_task(load_set("small", seed=seed, limit=limit), "small")


@task
def traps() -> Task:
    """Questions whose obvious answer is wrong."""
    return item_task(load_set("traps"), "traps")


@task
def hard() -> Task:
    """Hard questions in six categories, with computed targets where possible."""
    return item_task(load_set("hard"), "hard")
