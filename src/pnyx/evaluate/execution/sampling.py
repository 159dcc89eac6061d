"""Self-consistency: which model is asked again and again, and how often, for what a panel costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from ...errors import UsageError
from ...run.batch import Batch
from ...run.result import Result
from ...store import runs as store
from ..analysis.arms import SINGLE, arms, total_cost
from ..analysis.learning import OWNER
from ..analysis.log import Log, Row
from .arm_names import MOST_SAMPLES, SELF_CONSISTENCY

__all__ = ["begun", "sampling"]

Sampled: TypeAlias = tuple[str, int]
"""A model, and how often it is asked."""


async def begun(batch: Batch) -> dict[str, list[Sampled]]:
    """What earlier tries of the evaluation have begun: by question, oldest first."""
    found: dict[str, list[Sampled]] = {}
    query = partial(store.specs, owner=OWNER, protocol=SELF_CONSISTENCY.protocol)
    for spec in await batch.runner.database.read(query):
        seats, options = spec["seats"], spec["options"]
        if spec["batch"] == batch.name and len(seats) == 1 and options["adaptive"] is False:
            found.setdefault(spec["question"], []).append((seats[0]["model"], options["samples"]))
    return found


def sampling(
    pool: Mapping[str, Mapping[str, Result]], log: Log, begun: Mapping[str, Sequence[Sampled]]
) -> Callable[[str], Sampled]:
    """What to ask for a question: of the model that was best on the other folds, for the panel's cost.

    pool: question -> the panel's answers, by model. begun: see there. What was begun stands: a host that has
    come back since may have changed the panel's cost, and who is best, and the same would be paid again.
    """
    best = next(column for column in arms(log) if column.name == SINGLE).rows
    ids = {row.run_id: row.id for row in log.rows}
    times = {model: min(max(round(_ratio(log, model)), 1), MOST_SAMPLES) for model in log.models}

    def asked(question: str) -> Sampled:
        answers = pool.get(question, {}).values()
        row = next((best[id] for one in answers if (id := ids.get(one.run_id)) in best), None)
        if row is None:
            raise UsageError("not every model of the panel has answered this question")
        wanted, known = (row.arm, times[row.arm]), begun.get(question, ())
        return known[-1] if known and wanted not in known else wanted

    return asked


def _ratio(log: Log, model: str) -> float:
    """What the panel cost over what `model` did: in USD; in tokens where it is free or a price is unknown.

    In calls where it used no tokens either. Of questions that everybody has answered, where there are any.
    """
    whole_ones = [id for id in log.ids if all(log.by_arm[name][id].error is None for name in log.models)]
    rows = {name: [log.by_arm[name][id] for id in whole_ones or log.ids] for name in log.models}
    panel = [row for each in rows.values() for row in each]
    for measure in (total_cost, _tokens):
        whole, own = measure(panel), measure(rows[model])
        if whole is not None and own:
            return whole / own
    return float(len(log.models))


def _tokens(rows: Iterable[Row]) -> float:
    return float(sum(row.input_tokens + row.output_tokens for row in rows))
