"""`pnyx eval --dry-run`: the calls and the cost of every arm; nothing is sent or stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from ....config.schema import Settings
from ....core.context.reply_sizes import ANSWER
from ....core.decision import Given
from ....core.models import money, total_usd
from ....core.text import estimate_tokens
from ....evaluate.analysis.log import Arm
from ....evaluate.execution.arm_names import MOST_SAMPLES, SELF_CONSISTENCY, request_fields, takes_responses
from ....evaluate.items import Item
from ....run.options.request import RunRequest
from ....run.options.resolve import resolve
from ....run.spec import Spec
from ...records.runs import RunRecords
from ...render.terminal import columns, flat
from ...views.plan import CONDITION, plan
from ...views.transcript import quantity
from ..records import with_earlier_runs
from ..terminal.output import Output
from .dry_run import expected_plan

__all__ = ["Evaluation", "dry_run_evaluation", "planned_run"]

TYPICAL = 500
"""Assumed length of a question that is not known yet, in characters."""
CHARS = 4
"""Of a token of a usual answer."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What an evaluation asks of each question. arms: those of the panel's models, and the others."""

    settings: Settings
    panel: Sequence[str]
    arms: Sequence[Arm]
    judge: Arm

    async def row(
        self, stored: RunRecords | None, arm: Arm, longest: str, usual: str, times: int
    ) -> dict[str, Any]:
        """The calls and cost of `times` runs of an arm, at most and expected. longest, usual: questions."""
        samples = arm.kind == "samples"
        most = plan(planned_run(self.settings, self.panel, arm, longest, MOST_SAMPLES if samples else 1))
        usual_plan = await expected_plan(stored, planned_run(self.settings, self.panel, arm, usual))
        expected = usual_plan.expected_usd
        calls = most.calls and [1 if samples else most.calls[0], most.calls[1]]
        return {
            "calls": calls and [times * n for n in calls],
            "cost_usd": None if most.cost_usd is None else times * most.cost_usd,
            "expected_usd": None if expected is None else times * expected,
        }

    async def rows(
        self, stored: RunRecords | None, questions: Sequence[str], judged: int
    ) -> dict[str, dict[str, Any]]:
        """The row of each arm, and that of the judge. judged: how many questions a model grades.

        The most is that of the longest question for all, the expected cost that of their mean length.
        """
        longest = max(questions, key=estimate_tokens)
        usual = "?" * ceil(sum(len(one.encode()) for one in questions) / len(questions))
        rows = {arm.name: await self.row(stored, arm, longest, usual, len(questions)) for arm in self.arms}
        if samples := rows.get(SELF_CONSISTENCY.name):
            # As many samples are drawn as cost what the panel does.
            samples["expected_usd"] = total_usd(rows[model]["expected_usd"] for model in self.panel)
        if judged:
            longest += "?" * 2 * self.settings.run.max_output_tokens
            usual += "?" * 2 * CHARS * ANSWER.usual  # of the two answers that are compared
            # The judge reads every answer in both orders.
            times = 2 * judged * len(self.arms)
            rows["judge"] = await self.row(stored, self.judge, longest, usual, times)
        return rows


def dry_run_evaluation(
    output: Output, evaluation: Evaluation, dataset: str, items: Sequence[Item] | None, limit: int | None
) -> int:
    """Print bounds for every arm. The questions of an Inspect task are unknown: `limit` or 1 is assumed."""
    questions = [item.prompt for item in items] if items else ["?" * TYPICAL] * (limit or 1)
    judged = sum(item.effective_grader == "judge" for item in items or ())
    rows = with_earlier_runs(evaluation.settings, lambda stored: evaluation.rows(stored, questions, judged))
    if output.form == "json":
        task = dataset if items is None else None
        expected = {name: row.pop("expected_usd") for name, row in rows.items()}
        document = {"dry_run": True, "task": task, "questions": len(questions), "at_most": rows}
        output.json(document | {"at_most_if": CONDITION, "expected_usd": expected})
        return 0
    if items is None:
        task = f"{flat(dataset)} is used as an Inspect task, whose questions are not counted here"
        output.out.line(f"{task}; bounds for {quantity(len(questions), 'short question')}:")
    else:
        output.out.line(quantity(len(questions), "question"))
    table = [["arm", "calls", "USD at most", "expected"]]
    for name, row in rows.items():
        calls = [f"{n:,}" for n in dict.fromkeys(row["calls"] or ())]
        costs = [money(row["cost_usd"]), money(row["expected_usd"])]
        table.append([flat(name), " to ".join(calls) or "unknown", *costs])
    output.out.lines(columns(table, right=(1, 2, 3)))
    output.out.line(f"the most holds {CONDITION}; nothing was sent or stored")
    return 0


def planned_run(settings: Settings, panel: Sequence[str], arm: Arm, question: str, times: int = 1) -> Spec:
    """The run of an arm, as far as it is known before the panel answers."""
    responses = [Given("?")] * len(panel) if takes_responses(arm) else ()
    fields = request_fields(arm, panel, times=times, responses=responses)
    return resolve(RunRequest(question=question, **fields), settings)
