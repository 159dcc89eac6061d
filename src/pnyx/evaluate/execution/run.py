"""An evaluation: every arm asked every question through Inspect, and the log of what came of it."""

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
from inspect_ai.event import ModelEvent
from inspect_ai.log import EvalLog, EvalSample
from inspect_ai.model import get_model
from inspect_ai.scorer import value_to_float

from ..._version import __version__
from ...core.answers.equivalence import normalise
from ...errors import Interrupted, OutOfBudget, PnyxError, UsageError
from ..analysis.log import Arm, Log, Row
from ..grading.grade import right
from ..items import Item
from .arm_names import single_arm
from .bench import Bench
from .inspect_plugin import BENCH, FACTS, item_task, read_item
from .sampling import begun, sampling

__all__ = ["evaluate"]


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
    """Ask every model of the panel alone, then every arm; what was answered until it was halted.

    items: the questions; None: `dataset` names a task that is installed with Inspect. arms: protocols, and
    `SELF_CONSISTENCY` or not. folder: for Inspect's own logs, which `inspect view` shows.
    Raises `UsageError` for a task that Inspect cannot run.
    """
    singles = [single_arm(model) for model in bench.panel]
    everyone = (*singles, *arms)
    bench.arms = {arm.name: arm for arm in everyone}
    log = Log(
        dataset=dataset,
        models=tuple(bench.panel),
        arms=everyone,
        seed=bench.seed or 0,
        planned=None if items is None else len(items),
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        pnyx=__version__,
    )
    rows: list[Row] = []
    for arm in everyone:
        if bench.batch.halted is not None:
            break
        so_far = replace(log, rows=tuple(rows))
        if bench.waiting and arm.kind != "single" and not so_far.ids:
            break
        if arm.kind == "samples":
            # What the panel costs is not known where answers wait to be paid for.
            if bench.waiting:
                continue
            bench.samples = sampling(bench.pool, so_far, await begun(bench.batch))
        task = dataset if items is None else item_task(items, dataset)
        rows += await asyncio.to_thread(_asked, bench, arm, task, limit, concurrency, folder)
    return replace(log, rows=tuple(rows))


def _asked(
    bench: Bench, arm: Arm, task: Task | str, limit: int | None, concurrency: int, folder: Path
) -> list[Row]:
    """The arm's answers. Read in the thread too: where a loop runs, Inspect's logs would re-enter it."""
    found = _inspect(bench, arm, task, limit, concurrency, folder)
    return list(_rows(arm, found, ours=isinstance(task, Task)))


def _inspect(
    bench: Bench, arm: Arm, task: Task | str, limit: int | None, concurrency: int, folder: Path
) -> EvalLog:
    """Inspect's part: in a thread, as it brings a loop of its own and would have the terminal and signals."""
    BENCH.set(bench)
    try:
        logs = inspect_ai.eval(
            task,
            model=get_model(f"pnyx/{arm.name}", memoize=False),
            # Graded by the arm itself, arms would differ in their graders too.
            model_roles={"grader": get_model("pnyx-judge/judge", memoize=False)},
            display="none",
            log_dir=str(folder),
            log_level="error",
            log_realtime=False,
            limit=limit,
            # What is asked again is the same run: repetitions would say nothing new.
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
        raise UsageError(f"Inspect cannot run {task if isinstance(task, str) else task.name}: {exc}") from exc
    if len(logs) > 1:
        raise UsageError(f"{task} has {len(logs)} tasks; name the one to evaluate: {task}@NAME")
    if not logs or logs[0].samples is None:
        told = logs[0].error.message if logs and logs[0].error else "it left no samples"
        raise UsageError(f"Inspect could not evaluate {arm.name}: {told}")
    return logs[0]


def _rows(arm: Arm, found: EvalLog, ours: bool) -> Iterator[Row]:
    for sample in found.samples or ():
        if sample.error is None or not _halted(sample):
            yield _row(arm, sample, _item(sample, ours), ours)


def _halted(sample: EvalSample) -> bool:
    """Whether the question was left open, for the evaluation or for want of money: no answer, no failure."""
    # Inspect tells the error as `repr` does. Only its beginning is ours: a message may hold what a host said.
    told = sample.error.message if sample.error else ""
    return told.startswith(tuple(f"{kind.__name__}(" for kind in (OutOfBudget, Interrupted)))


def _item(sample: EvalSample, ours: bool) -> Item:
    target = sample.target if isinstance(sample.target, str) else next(iter(sample.target), "")
    if ours:
        return read_item(str(sample.id), target, sample.metadata)
    asked = sample.input if isinstance(sample.input, str) else "\n\n".join(m.text for m in sample.input)
    category = sample.metadata.get("category") or sample.metadata.get("subject")
    item = Item(
        id=str(sample.id),
        question=asked.strip() or "?",
        target=target.strip() or "?",
        category=None if category is None else str(category),
    )
    # What the task has for choices and targets is its own affair: the task grades, not we.
    with suppress(UsageError):
        return replace(item, choices=tuple(sample.choices or ()))
    return item


def _row(arm: Arm, sample: EvalSample, item: Item, ours: bool) -> Row:
    answers = _facts(sample)
    facts = answers[-1] if answers else {}
    score = next(iter((sample.scores or {}).values()), None)
    # What our grader could not read is told as unread; others need not say what they graded.
    answer = score.answer if score and (ours or score.answer) else facts.get("final_answer")
    # Earlier answers can be held against the decision only where code graded it too.
    standing = facts.get("standing", ()) if ours and item.graded_by != "judge" else ()
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
        # The last is the decision, which the grader has judged.
        steps=(*(short and right(item, short) for short in standing[:-1]), correct) if standing else (),
        **({name: _sum(one[name] for one in answers) for name in USAGE} if answers else {}),
        run_id=facts.get("run_id"),
        detail={
            **facts.get("detail", {}),
            **({"grade": score.explanation} if score and score.explanation else {}),
        },
    )


def _facts(sample: EvalSample) -> list[Mapping[str, Any]]:
    """What came of each answer of the arm: a task may ask several times, and grades the last."""
    outputs = [event.output for event in sample.events if isinstance(event, ModelEvent)]
    return [output.metadata[FACTS] for output in outputs if output.metadata and FACTS in output.metadata]


def _sum(values: Iterable[Any]) -> Any:
    found = list(values)
    return None if None in found else sum(found)


USAGE = ("calls", "input_tokens", "cached_tokens", "output_tokens", "cost_usd", "seconds")
