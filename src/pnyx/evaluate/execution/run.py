"""Run an evaluation: every arm answers every question through Inspect, and the answers become a log."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import inspect_ai
from inspect_ai import Task
from inspect_ai._eval import context as inspect_context
from inspect_ai.event import ModelEvent
from inspect_ai.log import EvalLog, EvalSample
from inspect_ai.model import get_model
from inspect_ai.scorer import value_to_float

from ..._version import __version__
from ...core.answers.same.equivalence import normalise
from ...errors import Interrupted, OutOfBudget, PnyxError, UsageError
from ..analysis.log import Arm, Log, Row
from ..grading.grade import is_right
from ..items import Item
from .arm_names import single_arm
from .bench import Bench
from .inspect_plugin import BENCH, FACTS, item_task, read_item
from .sampling import earlier_samples, sampling

__all__ = ["evaluate"]

# Inspect would read a `.env` of the working directory, or of one above it, into the environment of this
# process: a folder that somebody else made could name a proxy for the calls to hosts.
inspect_context.init_dotenv = lambda: None  # type: ignore[attr-defined]


async def evaluate(
    bench: Bench,
    dataset: str,
    items: Sequence[Item] | None,
    arms: Sequence[Arm],
    *,
    limit: int | None = None,
    concurrency: int = 8,
    folder: Path,
) -> Log:
    """Ask every model of the panel alone, then every arm. Return the log, partial if the batch was halted.

    items: the questions; None if `dataset` names a task installed with Inspect. arms: protocols, and
    optionally `SELF_CONSISTENCY`. folder: for Inspect's own logs, which `inspect view` shows.
    Raises `UsageError` if Inspect cannot run the task.
    """
    singles = [single_arm(model) for model in bench.panel]
    all_arms = (*singles, *arms)
    bench.arms = {arm.name: arm for arm in all_arms}
    log = Log(
        dataset=dataset,
        models=tuple(bench.panel),
        arms=all_arms,
        seed=bench.seed or 0,
        planned=None if items is None else len(items),
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        pnyx=__version__,
    )
    rows: list[Row] = []
    for arm in all_arms:
        if bench.batch.halted is not None:
            break
        partial_log = replace(log, rows=tuple(rows))
        if bench.waiting and arm.kind != "single" and not partial_log.ids:
            break
        if arm.kind == "samples":
            # The cost of the panel is unknown while some of its answers wait for a larger cap.
            if bench.waiting:
                continue
            bench.samples = sampling(bench.pool, partial_log, await earlier_samples(bench.batch))
        task = dataset if items is None else item_task(items, dataset)
        rows += await asyncio.to_thread(_answer_all, bench, arm, task, limit, concurrency, folder)
    return replace(log, rows=tuple(rows))


def _answer_all(
    bench: Bench, arm: Arm, task: Task | str, limit: int | None, concurrency: int, folder: Path
) -> list[Row]:
    """The arm's answers. Inspect's log is read in this thread too: it would re-enter a running event loop."""
    log = _inspect(bench, arm, task, limit, concurrency, folder)
    return list(_rows(arm, log, own_grader=isinstance(task, Task)))


def _inspect(
    bench: Bench, arm: Arm, task: Task | str, limit: int | None, concurrency: int, folder: Path
) -> EvalLog:
    """Run a task in Inspect. Call it in a thread: it starts an event loop, and would take the signals."""
    BENCH.set(bench)
    try:
        logs = inspect_ai.eval(
            task,
            model=get_model(f"pnyx/{arm.name}", memoize=False),
            # One judge grades all arms. Otherwise each arm would grade itself.
            model_roles={"grader": get_model("pnyx-judge/judge", memoize=False)},
            display="none",
            log_dir=str(folder),
            log_level="error",
            log_realtime=False,
            limit=limit,
            # A repeated question has the same run, so further epochs would add nothing.
            epochs=1,
            fail_on_error=False,
            max_samples=concurrency,
            max_connections=concurrency,
            acp_server=False,
            ctl_server=False,
            score_display=False,
        )
    except PnyxError:
        raise
    except Exception as exc:
        name = task if isinstance(task, str) else task.name
        raise UsageError(f"Inspect cannot run the task {name}: {exc}") from exc
    if len(logs) > 1:
        raise UsageError(f"{task} has {len(logs)} tasks; name the one to evaluate: {task}@NAME")
    if not logs or logs[0].samples is None:
        problem = logs[0].error.message if logs and logs[0].error else "its log has no samples"
        raise UsageError(f"Inspect could not evaluate {arm.name}: {problem}")
    return logs[0]


def _rows(arm: Arm, log: EvalLog, own_grader: bool) -> Iterator[Row]:
    for sample in log.samples or ():
        if sample.error is None or not _is_open(sample):
            yield _row(arm, sample, _item(sample, own_grader), own_grader)


def _is_open(sample: EvalSample) -> bool:
    """Whether the run was interrupted or out of budget; it is then neither an answer nor a failure."""
    # Inspect stores the `repr` of the error. Only its start is reliable: a message may quote a host.
    message = sample.error.message if sample.error else ""
    return message.startswith(tuple(f"{kind.__name__}(" for kind in (OutOfBudget, Interrupted)))


def _item(sample: EvalSample, own_grader: bool) -> Item:
    target = sample.target if isinstance(sample.target, str) else next(iter(sample.target), "")
    if own_grader:
        return read_item(str(sample.id), target, sample.metadata)
    question = sample.input if isinstance(sample.input, str) else "\n\n".join(m.text for m in sample.input)
    category = sample.metadata.get("category") or sample.metadata.get("subject")
    item = Item(
        id=str(sample.id),
        question=question.strip() or "?",
        target=target.strip() or "?",
        category=None if category is None else str(category),
    )
    # Choices that `Item` rejects do not matter here: the task grades its own questions.
    with suppress(UsageError):
        return replace(item, choices=tuple(sample.choices or ()))
    return item


def _row(arm: Arm, sample: EvalSample, item: Item, own_grader: bool) -> Row:
    answers = _facts(sample)
    facts = answers[-1] if answers else {}
    score = next(iter((sample.scores or {}).values()), None)
    # None from our grader means unread. Other graders need not report the answer that they graded.
    answer = score.answer if score and (own_grader or score.answer) else facts.get("final_answer")
    # Earlier answers are comparable with the decision only if code graded both.
    by_code = own_grader and item.effective_grader != "judge"
    leading = facts.get("standing", ()) if by_code else ()
    vote = facts.get("vote_only") if by_code else None
    error = sample.error.message if sample.error else facts.get("failure")
    correct = error is None and score is not None and value_to_float()(score.value) > 0.5
    return Row(
        arm=arm.name,
        id=item.id,
        category=item.category,
        options=len(item.choices) or None,
        target=normalise(item.target),
        answer=answer and normalise(answer),
        correct=correct,
        error=error,
        confidence=facts.get("confidence"),
        rule=facts.get("rule"),
        # The last one is the decision, which the grader has already graded.
        steps=(*(short and is_right(item, short) for short in leading[:-1]), correct) if leading else (),
        vote_only=None if vote is None else is_right(item, vote),
        **({name: _sum(one[name] for one in answers) for name in USAGE} if answers else {}),
        run_id=facts.get("run_id"),
        detail={
            **facts.get("detail", {}),
            **({"grade": score.explanation} if score and score.explanation else {}),
        },
    )


def _facts(sample: EvalSample) -> list[Mapping[str, Any]]:
    """The facts of each answer of the arm: a task may ask several times, and grades the last answer."""
    outputs = [event.output for event in sample.events if isinstance(event, ModelEvent)]
    return [output.metadata[FACTS] for output in outputs if output.metadata and FACTS in output.metadata]


def _sum(values: Iterable[Any]) -> Any:
    numbers = list(values)
    return None if None in numbers else sum(numbers)


USAGE = ("calls", "input_tokens", "cached_tokens", "output_tokens", "cost_usd", "seconds")
