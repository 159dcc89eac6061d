"""Self-consistency: which model is sampled, and how often, at the cost of the panel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from ...errors import UsageError
from ...run.batch import Batch
from ...run.result import Result
from ...store.records import runs as store
from ..analysis.arms import SINGLE, arms, total_cost
from ..analysis.log import Log, Row
from ..owners import OWNER
from .arm_names import MOST_SAMPLES, SELF_CONSISTENCY

__all__ = ["earlier_samples", "sampling"]

Samples: TypeAlias = tuple[str, int]
"""A model, and the number of its samples."""


async def earlier_samples(batch: Batch) -> dict[str, list[Samples]]:
    """The sampling runs that earlier tries of the evaluation started, by question, oldest first."""
    found: dict[str, list[Samples]] = {}
    query = partial(store.specs, owner=OWNER, protocol=SELF_CONSISTENCY.protocol)
    for spec in await batch.runner.database.read(query):
        seats, options = spec["seats"], spec["options"]
        if spec["batch"] == batch.name and len(seats) == 1 and options["adaptive"] is False:
            found.setdefault(spec["question"], []).append((seats[0]["model"], options["samples"]))
    return found


def sampling(
    pool: Mapping[str, Mapping[str, Result]], log: Log, earlier: Mapping[str, Sequence[Samples]]
) -> Callable[[str], Samples]:
    """A function from a question to its samples: of the model that was best on the other folds.

    Their number is the panel's cost over the model's. pool: question -> the panel's answers, by model.
    earlier: see `earlier_samples`; they take precedence. A host that has recovered since may have changed the
    panel's cost and the best model, and new samples would be paid a second time.
    """
    best = next(column for column in arms(log) if column.name == SINGLE).rows
    ids = {row.run_id: row.id for row in log.rows}
    times = {model: min(max(round(_ratio(log, model)), 1), MOST_SAMPLES) for model in log.models}

    def samples(question: str) -> Samples:
        answers = pool.get(question, {}).values()
        row = next((best[id] for one in answers if (id := ids.get(one.run_id)) in best), None)
        if row is None:
            raise UsageError("not every model of the panel has answered this question; run it again")
        planned, known = (row.arm, times[row.arm]), earlier.get(question, ())
        return known[-1] if known and planned not in known else planned

    return samples


def _ratio(log: Log, model: str) -> float:
    """The panel's cost over that of `model`: in USD, or in tokens if it is free or a price is unknown.

    In calls if it used no tokens either. Counts the questions that all models have answered, if any.
    """
    complete = [id for id in log.ids if all(log.by_arm[name][id].error is None for name in log.models)]
    rows = {name: [log.by_arm[name][id] for id in complete or log.ids] for name in log.models}
    panel = [row for each in rows.values() for row in each]
    for measure in (total_cost, _tokens):
        whole, own = measure(panel), measure(rows[model])
        if whole is not None and own:
            return whole / own
    return float(len(log.models))


def _tokens(rows: Iterable[Row]) -> float:
    return float(sum(row.input_tokens + row.output_tokens for row in rows))
