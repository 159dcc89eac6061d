"""The action of `pnyx eval`: an evaluation, the report of an earlier one, or votes on recorded answers."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ....config.paths import data_dir
from ....config.schema import Settings
from ....core.models import NUSD
from ....errors import OutOfBudget, UsageError
from ....evaluate.analysis.learning import lessons
from ....evaluate.analysis.log import Arm, Log
from ....evaluate.execution.arm_names import (
    SELF_CONSISTENCY,
    parse_arms,
    single_arm,
)
from ....evaluate.items import Item
from ....evaluate.questions import find_items
from ....evaluate.stored import LOG as STORED_LOG
from ....extras import need
from ....providers.catalogue import parse_seats
from ....providers.default_panel import default_panel
from ...process.open_settings import open_settings
from ...render.terminal import clip, flat
from ...service.run_service import RunService
from ...views.transcript import paid, quantity
from ..terminal.follow import exclusive, halt_on_signals, report_halt
from ..terminal.output import Output, streams
from ..terminal.progress import Progress
from .eval_dry_run import Evaluation, dry_run_evaluation, planned_run

if TYPE_CHECKING:
    from ....evaluate.execution.bench import ArmAnswer

__all__ = ["evaluate"]

DEFAULT_ARM = "voting"
"""The protocol that is compared in addition to the configured one."""
MOST_FAILURES, FAILURE_CHARS = 5, 300
"""Why questions ended in an error: the reasons that are shown, and the characters of each."""


def evaluate(
    dataset: str | None, as_json: bool, quiet: bool, replay: Path | None, answers: Path | None, **options: Any
) -> int:
    output = streams("json" if as_json else "text", quiet=quiet)
    if sum(one is not None for one in (dataset, replay, answers)) != 1:
        raise UsageError("pass one of DATASET, --replay FILE and --answers FILE; see `pnyx eval --help`")
    _check_options("answers" if answers else "replay" if replay else "dataset")
    _check_output_files([Path(one) for one in (dataset, replay, answers) if one], options)
    if answers is not None:
        return _replay_answers(output, answers, **options)
    if replay is not None:
        return _report(output, Log.read(replay), options["html"])
    assert dataset is not None
    return _measure(output, dataset, **options)


_ANSWERS_ONLY = frozenset(("where", "splits", "labels"))
_ACCEPTED = {
    "answers": _ANSWERS_ONLY | {"answers", "models", "limit", "seed", "as_json", "quiet"},
    "replay": frozenset(("replay", "html", "as_json", "quiet")),
}
"""The options of the modes that call no model. An evaluation accepts all but `_ANSWERS_ONLY`."""


def _check_options(mode: str) -> None:
    """Raise `UsageError` for options on the command line that have no effect in this mode."""
    context = click.get_current_context()
    options = {
        one.name: one.opts[0]
        for one in context.command.params
        if one.name and context.get_parameter_source(one.name) is ParameterSource.COMMANDLINE
    }
    refused = [flag for name, flag in options.items() if not _is_accepted(name, mode)]
    if refused:
        what = "an evaluation of models" if mode == "dataset" else f"--{mode}"
        raise UsageError(f"{what} does not accept {', '.join(refused)}")


def _is_accepted(name: str, mode: str) -> bool:
    return name in _ACCEPTED[mode] if mode in _ACCEPTED else name not in _ANSWERS_ONLY


def _replay_answers(
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
    # Imported for this mode only.
    from ....evaluate.replay.recorded import read_recorded
    from ....evaluate.replay.replay import document, render, replay

    if wrong := [pair for pair in where if "=" not in pair]:
        raise UsageError(f"--where requires COLUMN=VALUE, not {wrong[0]!r}")
    rows = dict(pair.split("=", 1) for pair in where)
    questions = read_recorded(answers, list(models), rows)[:limit]
    result = replay(questions, splits=splits, seed=seed, labels=labels)
    if output.form == "json":
        output.json(document(result))
    else:
        output.out.lines(render(result).split("\n"))
    return 0


def _report(output: Output, log: Log, html: Path | None) -> int:
    # Imported for modes with a report only.
    from ....evaluate.report.document import document
    from ....evaluate.report.text import WIDTH, render

    report = document(log)
    for text in _failures(log):
        output.note(text)
    if html is not None:
        # Only the page requires the plots.
        from ....evaluate.report.page import page

        _write(html, page(report))
        output.note(f"report written to {flat(str(html))}")
    if output.form == "json":
        output.json(report)
    else:
        output.out.lines(render(report, output.out.width or WIDTH).split("\n"))
    return 5 if any(row.error for row in log.rows) else 0


def _failures(log: Log) -> Iterator[str]:
    """Yield why questions ended in an error, each reason of an arm once: the report only counts them."""
    counts = Counter((row.arm, row.error) for row in log.rows if row.error)
    for (arm, error), count in counts.most_common(MOST_FAILURES):
        reason = clip(error or "", FAILURE_CHARS)
        yield f"{flat(arm)}: {quantity(count, 'question')} ended in an error: {reason}"


def _check_output_files(inputs: Iterable[Path], options: Mapping[str, Any]) -> None:
    """Check, before anything is paid, that output files can be written and overwrite none of the others.

    Raises `UsageError`.
    """
    used = {path.resolve() for path in inputs}
    for flag in ("log", "html"):
        if (path := options[flag]) is None:
            continue
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise UsageError(f"cannot write {path}: its folder is missing or read-only")
        if path.resolve() in used:
            raise UsageError(f"--{flag} would overwrite {path}, which this command also uses; choose another")
        used.add(path.resolve())


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as exc:
        raise UsageError(f"cannot write {path}: {exc.strerror}") from exc


@dataclass(frozen=True, slots=True)
class _Measurement:
    """What is measured. items: None if only Inspect reads the dataset. arms: beside each model of the panel.

    judge: the model that grades answers which cannot be compared. folder: named as the batch of its runs.
    """

    settings: Settings
    dataset: str
    items: Sequence[Item] | None
    limit: int | None
    panel: Sequence[str]
    arms: Sequence[Arm]
    judge: str | None
    seed: int
    folder: Path


def _measure(
    output: Output,
    dataset: str,
    *,
    models: Sequence[str],
    arms: Sequence[str],
    baselines: Sequence[str],
    samples: bool,
    seed: int,
    limit: int | None,
    budget: float | None,
    judge: str | None,
    dry_run: bool,
    concurrency: int,
    log: Path | None,
    html: Path | None,
    learn: bool,
    **_: Any,
) -> int:
    settings = open_settings({} if budget is None else {"budget": {"batch_usd": budget}})
    panel = parse_seats(models or settings.panel.seats) or tuple(dict.fromkeys(default_panel(settings).refs))
    if len(panel) < 2 or len(set(panel)) < len(panel):
        raise UsageError("an evaluation requires two or more different models; name each once with -m")
    names = arms or dict.fromkeys((DEFAULT_ARM, settings.run.protocol))
    alone = parse_seats(dict.fromkeys(baselines), settings)
    if joined := [ref for ref in alone if ref in panel]:
        raise UsageError(f"{joined[0]} is on the panel: name it with -m or with --baseline, not with both")
    compared = [*map(single_arm, alone), *([SELF_CONSISTENCY] if samples else []), *parse_arms(names)]
    items = find_items(dataset, seed=seed, limit=limit)
    if dry_run:
        grader = single_arm(judge or panel[0])
        evaluation = Evaluation(settings, panel, [*map(single_arm, panel), *compared], grader)
        return dry_run_evaluation(output, evaluation, dataset, items, limit)
    # The full path, so that each file has one name however its path is written.
    source = str(Path(dataset).resolve()) if Path(dataset).is_file() else dataset
    name = f"eval-{sha256(json.dumps([source, panel, seed]).encode()).hexdigest()[:8]}"
    folder = data_dir() / "eval" / name
    work = _Measurement(settings, dataset, items, limit, panel, compared, judge, seed, folder)
    with exclusive(folder, "evaluation"):
        return asyncio.run(_run(output, work, concurrency, log, html, learn))


async def _run(
    output: Output, work: _Measurement, concurrency: int, log: Path | None, html: Path | None, learn: bool
) -> int:
    """Measure, write the report, and return the exit code. log, html: further files to write."""
    need("eval", "an evaluation")
    # Inspect is an optional extra that takes seconds to import.
    from ....evaluate.execution.bench import Bench
    from ....evaluate.execution.run import evaluate

    name, graders = work.folder.name, [single_arm(work.judge)] if work.judge else []
    async with RunService.open(work.settings) as service:
        for arm in (*map(single_arm, work.panel), *work.arms, *graders):
            # Fail here, before anything is paid, rather than at each question.
            service.check_providers(replace(planned_run(work.settings, work.panel, arm, "?"), batch=name))
        progress = Progress(output, work.limit if work.items is None else len(work.items))

        def observe(arm: Arm, answer: ArmAnswer) -> None:
            progress.add(arm.name, answer.result.usage["cost_usd"])

        batch = service.batch(name, current=True)
        bench = Bench(batch, work.panel, work.seed, work.judge, observe=observe)
        with halt_on_signals(batch, output):
            answers = await evaluate(
                bench,
                work.dataset,
                work.items,
                work.arms,
                limit=work.limit,
                concurrency=concurrency,
                folder=work.folder,
            )
        progress.close()
        _store(output, answers, work.folder)
        if log is not None:
            answers.write(log)
        if learn and batch.halted is None and not bench.waiting:
            await service.record_outcomes(dict(lessons(answers)))
        account = await service.account(f"batch:{name}")
    spent = paid(account.spent_nusd / NUSD, batch.unpriced)
    output.note(f"{name}: {spent} in total; to see each answer: inspect view --log-dir {work.folder}")
    code = _report(output, answers, html) if answers.ids else 1
    if batch.halted is not None:
        return report_halt(output, batch.halted)
    if bench.waiting:
        waiting = quantity(len(bench.waiting), "answer")
        more = "Raise it and run the same command again"
        output.error(f"{waiting} would cost more than budget.run_usd allows for a run. {more}")
        return OutOfBudget.exit_code
    return code


def _store(output: Output, answers: Log, folder: Path) -> None:
    """Keep the log, with which the page shows the evaluation."""
    try:
        answers.write(folder / STORED_LOG)
    except UsageError as exc:
        # The answers are paid, and the report does not need the file.
        output.error(f"the page will not list this evaluation: {exc}")
