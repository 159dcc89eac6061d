"""The action of `pnyx eval`: an evaluation, the replay of a log or of recorded answers, and the report."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ....config.paths import data_dir
from ....config.schema import Settings
from ....core.decision import Given
from ....core.models import NUSD, money
from ....core.text import estimate_tokens
from ....errors import OutOfBudget, UsageError
from ....evaluate.analysis.learning import lessons
from ....evaluate.analysis.log import Arm, Log
from ....evaluate.execution.arm_names import (
    MOST_SAMPLES,
    SELF_CONSISTENCY,
    parse_arms,
    request_fields,
    single_arm,
    takes_responses,
)
from ....evaluate.items import Item
from ....evaluate.questions import find_items
from ....providers.catalogue import default_panel, parse_seats
from ....run.request import RunRequest
from ....run.resolve import resolve
from ....run.spec import Spec
from ...open_settings import open_settings
from ...render.terminal import columns, flat
from ...service import RunService
from ...views.plan import Plan, plan
from ...views.transcript import paid, quantity
from ..terminal.follow import alone, obeyed, tell_halt
from ..terminal.output import Output, streams
from ..terminal.progress import Progress

if TYPE_CHECKING:
    from ....evaluate.execution.bench import ArmAnswer

__all__ = ["evaluate"]

DEFAULT_ARM = "voting"
"""The protocol that is compared in addition to the configured one."""
TYPICAL = 500
"""Characters that a dry run assumes for a question of an Inspect task."""


def evaluate(
    dataset: str | None, as_json: bool, quiet: bool, replay: Path | None, answers: Path | None, **given: Any
) -> int:
    output = streams("json" if as_json else "text", quiet=quiet)
    if sum(one is not None for one in (dataset, replay, answers)) != 1:
        raise UsageError("give one of DATASET, --replay FILE and --answers FILE; see `pnyx eval --help`")
    _check_options("answers" if answers else "replay" if replay else "dataset")
    _check_places([Path(one) for one in (dataset, replay, answers) if one], given)
    if answers is not None:
        return _recorded(output, answers, **given)
    if replay is not None:
        return _report(output, Log.read(replay), given["html"])
    assert dataset is not None
    return _measure(output, dataset, **given)


_OF_RECORDED = frozenset(("where", "splits", "labels"))
_KNOWN = {
    "answers": _OF_RECORDED | {"answers", "models", "limit", "seed", "as_json", "quiet"},
    "replay": frozenset(("replay", "html", "as_json", "quiet")),
}
"""The options that each replay accepts. An evaluation accepts all options except `_OF_RECORDED`."""


def _check_options(mode: str) -> None:
    """Raise `UsageError` for options without effect in this mode."""
    context = click.get_current_context()
    given = {
        one.name: one.opts[0]
        for one in context.command.params
        if one.name and context.get_parameter_source(one.name) is ParameterSource.COMMANDLINE
    }
    refused = [flag for name, flag in given.items() if not _belongs(name, mode)]
    if refused:
        where = "an evaluation of models" if mode == "dataset" else f"--{mode}"
        raise UsageError(f"{where} does not accept {', '.join(refused)}; leave it out")


def _belongs(name: str, mode: str) -> bool:
    return name in _KNOWN[mode] if mode in _KNOWN else name not in _OF_RECORDED


def _recorded(
    output: Output,
    answers: Path,
    *,
    models: Sequence[str],
    where: Sequence[str],
    limit: int | None,
    splits: int,
    seed: int,
    labels: int | None,
    **_: Any,
) -> int:
    # Imported late: only this mode needs it.
    from ....evaluate.replay.recorded import read_recorded
    from ....evaluate.replay.replay import document, render, replay

    if wrong := [pair for pair in where if "=" not in pair]:
        raise UsageError(f"--where must be COLUMN=VALUE, not {wrong[0]!r}")
    rows = dict(pair.split("=", 1) for pair in where)
    questions = read_recorded(answers, list(models), rows)[:limit]
    result = replay(questions, splits=splits, seed=seed, labels=labels)
    if output.form == "json":
        output.json(document(result))
    else:
        output.out.lines(render(result).split("\n"))
    return 0


def _report(output: Output, log: Log, html: Path | None) -> int:
    # Imported late: a replay of recorded answers does not need it.
    from ....evaluate.report.document import document
    from ....evaluate.report.text import render

    report = document(log)
    if html is not None:
        # Imported late: only --html needs the plots.
        from ....evaluate.report.page import page

        _write(html, page(report))
        output.note(f"report written to {flat(str(html))}")
    if output.form == "json":
        output.json(report)
    else:
        output.out.lines(render(report).split("\n"))
    return 5 if any(row.error for row in log.rows) else 0


def _check_places(read: Iterable[Path], given: Mapping[str, Any]) -> None:
    """Raise `UsageError` if an output file is not writable, or would overwrite another output or an input."""
    taken = {path.resolve() for path in read}
    for flag in ("log", "html"):
        if (path := given[flag]) is None:
            continue
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise UsageError(f"{path} cannot be written: its folder is missing or not writable")
        if path.resolve() in taken:
            raise UsageError(
                f"--{flag} would overwrite {path}, which this command also uses; choose another file"
            )
        taken.add(path.resolve())


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as exc:
        raise UsageError(f"{path} cannot be written: {exc.strerror}") from exc


def _measure(
    output: Output,
    dataset: str,
    *,
    models: Sequence[str],
    arms: Sequence[str],
    samples: bool,
    seed: int,
    limit: int | None,
    budget: float | None,
    dry_run: bool,
    **given: Any,
) -> int:
    settings = open_settings({} if budget is None else {"budget": {"batch_usd": budget}})
    panel = parse_seats(models or settings.panel.seats) or tuple(dict.fromkeys(default_panel(settings).refs))
    if len(panel) < 2 or len(set(panel)) < len(panel):
        raise UsageError("an evaluation needs two or more different models; name each once with -m")
    names = arms or dict.fromkeys((DEFAULT_ARM, settings.run.protocol))
    compared = [*([SELF_CONSISTENCY] if samples else []), *parse_arms(names)]
    items = find_items(dataset, seed=seed, limit=limit)
    if dry_run:
        return _dry_run(output, settings, dataset, panel, compared, items, limit, given["judge"])
    # The name depends on the absolute path of a file, not on how it is written.
    source = str(Path(dataset).resolve()) if Path(dataset).is_file() else dataset
    name = f"eval-{sha256(json.dumps([source, panel, seed]).encode()).hexdigest()[:8]}"
    folder = data_dir() / "eval" / name
    with alone(folder, "evaluation"):
        return asyncio.run(
            _run(output, settings, dataset, panel, compared, items, folder, seed=seed, limit=limit, **given)
        )


async def _run(
    output: Output,
    settings: Settings,
    dataset: str,
    panel: Sequence[str],
    arms: Sequence[Arm],
    items: Sequence[Item] | None,
    folder: Path,
    *,
    seed: int,
    limit: int | None,
    concurrency: int,
    judge: str | None,
    log: Path | None,
    html: Path | None,
    learn: bool,
    **_: Any,
) -> int:
    try:
        # Inspect is an optional extra, and takes seconds to load.
        from ....evaluate.execution.bench import Bench
        from ....evaluate.execution.run import evaluate
    except ImportError as exc:
        raise UsageError(f"evaluations need an extra: pip install 'pnyx[eval]' ({exc})") from exc

    name, graders = folder.name, [single_arm(judge)] if judge else []
    async with RunService.open(settings) as service:
        for arm in (*map(single_arm, panel), *arms, *graders):
            # Fail here, before any call is paid, and not at each question.
            service.check_providers(replace(_planned(settings, panel, arm, "?"), batch=name))
        progress = Progress(output, limit if items is None else len(items))

        def observe(arm: Arm, answer: ArmAnswer) -> None:
            progress.add(arm.name, answer.result.usage["cost_usd"])

        batch = service.batch(name, current=True)
        bench = Bench(batch, panel, seed, judge, observe=observe)
        with obeyed(batch, output):
            found = await evaluate(
                bench, dataset, items, arms, limit=limit, concurrency=concurrency, folder=folder
            )
        progress.close()
        if log is not None:
            found.write(log)
        if learn and batch.halted is None and not bench.waiting:
            await service.record_outcomes(dict(lessons(found)))
        account = await service.account(f"batch:{name}")
    spent = paid(account.spent_nusd / NUSD, batch.unpriced)
    output.note(f"{name}: {spent} in all; see every answer with: inspect view --log-dir {folder}")
    code = _report(output, found, html) if found.ids else 1
    if batch.halted is not None:
        return tell_halt(output, batch.halted)
    if bench.waiting:
        answers = quantity(len(bench.waiting), "answer")
        more = "continue with the same command and a larger budget.run_usd"
        output.error(f"{answers} would cost more than budget.run_usd allows a run; {more}")
        return OutOfBudget.exit_code
    return code


def _dry_run(
    output: Output,
    settings: Settings,
    dataset: str,
    panel: Sequence[str],
    arms: Sequence[Arm],
    items: Sequence[Item] | None,
    limit: int | None,
    judge: str | None,
) -> int:
    """Print bounds for every arm: of all questions, or of `limit` or one question of an Inspect task."""
    questions = [item.prompt for item in items] if items else ["?" * TYPICAL] * (limit or 1)
    longest = max(questions, key=estimate_tokens)
    all_arms = [*map(single_arm, panel), *arms]
    rows = {arm.name: _bound(_arm_bounds(settings, panel, arm, longest), len(questions)) for arm in all_arms}
    if judged := sum(item.effective_grader == "judge" for item in items or ()):
        answer = "?" * 2 * settings.run.max_output_tokens
        judge_plan = plan(_planned(settings, panel, single_arm(judge or panel[0]), longest + answer))
        # Every answer is graded in both orders.
        rows["judge"] = _bound(judge_plan, 2 * judged * len(all_arms))
    if output.form == "json":
        task = dataset if items is None else None
        output.json({"dry_run": True, "task": task, "questions": len(questions), "at_most": rows})
        return 0
    if items is None:
        note = f"{flat(dataset)} counts as an Inspect task, whose questions are unknown here"
        output.out.line(f"{note}; for {quantity(len(questions), 'short question')}:")
    else:
        output.out.line(quantity(len(questions), "question"))
    table = [["arm", "calls", "USD at most"]]
    for name, row in rows.items():
        calls = [f"{n:,}" for n in dict.fromkeys(row["calls"] or ())]
        table.append([flat(name), " to ".join(calls) or "unknown", money(row["cost_usd"])])
    output.out.lines(columns(table, right=(1, 2)))
    output.out.line("nothing was sent, nothing was stored")
    return 0


def _arm_bounds(settings: Settings, panel: Sequence[str], arm: Arm, question: str) -> Plan:
    """Bounds for an arm's answer. The number of samples is only known after the panel has answered."""
    if arm.kind != "samples":
        return plan(_planned(settings, panel, arm, question))
    most = plan(_planned(settings, panel, arm, question, MOST_SAMPLES))
    return replace(most, calls=most.calls and (1, most.calls[1]))


def _bound(one: Plan, times: int) -> dict[str, Any]:
    cost = None if one.cost_usd is None else one.cost_usd * times
    return {"calls": one.calls and [n * times for n in one.calls], "cost_usd": cost}


def _planned(settings: Settings, panel: Sequence[str], arm: Arm, question: str, times: int = 1) -> Spec:
    """The run of an arm, as far as it is known before the panel has answered."""
    responses = [Given("?")] * len(panel) if takes_responses(arm) else ()
    fields = request_fields(arm, panel, times=times, responses=responses)
    return resolve(RunRequest(question=question, **fields), settings)
