"""The action of `pnyx panel suggest`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ....config.schema import Settings
from ....core.models import NUSD, Usage, money
from ....errors import PnyxError, UsageError
from ....evaluate.analysis.learning import answered
from ....evaluate.analysis.log import Log
from ....evaluate.replay.recorded import read_recorded
from ....evaluate.replay.suggest import Candidate, Suggestion, common_questions
from ....evaluate.replay.suggest import suggest as find_panel
from ....providers.catalogue import Catalogue
from ....reliability.accuracy import AnsweredQuestion
from ....reliability.feedback import distinct, questions
from ...access.keys import LOCAL
from ...process.open_settings import open_settings
from ...records.runs import RunRecords
from ...render.terminal import columns
from ...views.transcript import quantity
from ..records import with_records
from ..terminal.output import Stream, streams
from ..terminal.plain import paragraph

__all__ = ["suggest"]

TYPICAL = Usage(input_tokens=400, output_tokens=400)
"""The tokens of an answer whose cost was not recorded."""


def suggest(
    source: Path | None,
    models: Sequence[str],
    where: Sequence[str],
    most: int,
    seed: int,
    as_json: bool,
) -> int:
    output, settings = streams("json" if as_json else "text"), open_settings()
    if where and source is None:
        raise UsageError("--where needs recorded answers: pass them with --from FILE")
    known, costs = _stored(settings) if source is None else _read(source, models, where)
    kept, panel = common_questions(known, models)
    prices = {m: _price(settings, m) if costs.get(m) is None else costs[m] for m in panel}
    try:
        found = find_panel(kept, panel, prices, most=most, seed=seed)
    except UsageError as exc:
        advice = (
            "Judge more runs with `pnyx feedback ID`, or pass recorded answers with --from FILE"
            if source is None
            else "Record more, or name fewer models with -m"
        )
        raise UsageError(f"{exc}. {advice}") from exc
    if as_json:
        output.json(_document(found))
    else:
        estimated = any(costs.get(m) is None and prices[m] is not None for m in panel)
        output.out.lines(_lines(found, output.out, estimated))
    return 0


def _stored(settings: Settings) -> tuple[list[AnsweredQuestion], dict[str, float | None]]:
    """The judged answers of the store, each question once; and the mean cost of a call by model.

    None if one has no price.
    """

    async def read(stored: RunRecords) -> tuple[list[AnsweredQuestion], dict[str, float | None]]:
        sums: dict[str, tuple[int, float, int]] = {}
        for one in await stored.spending(""):
            calls, usd, unpriced = sums.get(one.model, (0, 0.0, 0))
            sums[one.model] = (calls + one.calls, usd + one.cost_usd, unpriced + one.unpriced)
        costs = {m: None if unpriced or not n else usd / n for m, (n, usd, unpriced) in sums.items()}
        return questions(distinct(await stored.judgements(LOCAL, with_questions=True))), costs

    return with_records(settings, read)


def _read(
    source: Path, models: Sequence[str], where: Sequence[str]
) -> tuple[list[AnsweredQuestion], dict[str, float | None]]:
    """The answers in a file, and the mean cost of each model's answers if it has them."""
    if wrong := [pair for pair in where if "=" not in pair]:
        raise UsageError(f"--where requires COLUMN=VALUE, not {wrong[0]!r}")
    if not _is_log(source):
        return read_recorded(source, list(models), dict(pair.split("=", 1) for pair in where)), {}
    if where:
        raise UsageError(f"{source} is the log of an evaluation, which --where does not filter")
    log = Log.read(source)
    costs: dict[str, float | None] = {}
    for model in log.models:
        paid = [log.by_arm[model][id].cost_usd for id in log.ids]
        known = [usd for usd in paid if usd is not None]
        costs[model] = sum(known) / len(known) if known and len(known) == len(paid) else None
    return list(answered(log)), costs


def _is_log(source: Path) -> bool:
    """Whether the first line is that of the log of an evaluation."""
    try:
        with source.open("rb") as file:
            first = json.loads(file.readline())
    except (OSError, ValueError):
        return False  # `read_recorded` reads it, or says what is wrong
    return isinstance(first, dict) and "pnyx_eval" in first


def _price(settings: Settings, model: str) -> float | None:
    """USD for a `TYPICAL` answer; None if the model or its price is unknown."""
    try:
        price = Catalogue(settings).describe(model).price
    except PnyxError:
        return None  # a recording may name models in its own way
    return None if price is None else price.cost(TYPICAL) / NUSD


def _document(found: Suggestion) -> dict[str, Any]:
    """The suggestion as JSON values. Shares are fractions of 1, costs USD per question; unknown is null."""
    return {
        "questions": {"chosen_on": found.chosen_on, "reported_on": found.reported_on},
        "models": list(found.models),
        "single": asdict(found.single),
        "suggested": asdict(found.suggested),
        "others": [asdict(one) for one in found.others],
        "seats": list(found.suggested.models),
    }


def _lines(found: Suggestion, out: Stream, estimated: bool) -> Iterator[str]:
    of = f"{quantity(len(found.models), 'model')}, {found.chosen_on + found.reported_on:,} questions"
    yield from paragraph(
        out, f"{of}: {found.chosen_on:,} to choose panels, {found.reported_on:,} to report on them"
    )
    yield ""
    rows = [["", "right", "95 %", "USD", "models"]]
    rows.append(_row("single", found.single))
    if found.suggested is not found.single:
        rows.append(_row("suggest", found.suggested))
    rows += [_row("other", one) for one in found.others]
    if not any(one.cost_usd is not None for one in (found.single, found.suggested, *found.others)):
        rows = [[*row[:3], row[4]] for row in rows]
    yield from columns(rows, right=(1,) if len(rows[0]) == 4 else (1, 3), width=out.width)
    yield ""
    for line in _notes(found, estimated):
        yield from paragraph(out, line)
    yield ""
    yield "[panel]"
    seats = [json.dumps(model, ensure_ascii=False) for model in found.suggested.models]
    # One seat a line: the lines can be copied from a narrow terminal too.
    yield from ("seats = [", *(f"  {seat}," for seat in seats), "]")


def _row(name: str, one: Candidate) -> list[str]:
    low, high = f"{100 * one.right.low:.1f}", f"{100 * one.right.high:.1f}"
    cost = "unknown" if one.cost_usd is None else money(one.cost_usd)
    return [name, f"{100 * one.right.mean:.1f} %", f"{low}-{high}", cost, ", ".join(one.models)]


def _notes(found: Suggestion, estimated: bool) -> Iterator[str]:
    best = found.suggested
    if best.gain is None:
        yield (
            "No panel was better than the best single model by more than chance. Ask it alone, or judge more "
            "questions."
        )
    else:
        gain = [f"{100 * x:+.1f}" for x in (best.gain.mean, best.gain.low, best.gain.high)]
        shown = "" if best.gain.low > 0 else ", so a gain is not shown"
        yield (
            f"Against the best single model the suggested panel gains {gain[0]} points "
            f"[{gain[1]}, {gain[2]}]{shown}."
        )
    if best.wrong_together is not None:
        yield f"Where one of its models is wrong, another is too in {best.wrong_together:.0%} of the cases."
    if best.cost_usd is None:
        yield 'The cost is unknown, so fewer models count as cheaper. Set prices in [models."REF"].'
    elif estimated:
        yield (
            f"USD: for one question, {TYPICAL.input_tokens} tokens in and {TYPICAL.output_tokens} out "
            "for each model whose cost was not recorded."
        )
    else:
        yield "USD: for one question, by the recorded cost of each model."
