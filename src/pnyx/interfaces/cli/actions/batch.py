"""The action of `pnyx batch`."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from ....config.paths import data_dir
from ....config.schema import Settings
from ....core.context.files import File, Source
from ....core.models import NUSD, money, total_usd
from ....errors import Halted, Interrupted, PnyxError, UsageError
from ....files.read import read_files
from ....run.batch import Batch, failure
from ....run.options.request import RunRequest
from ....run.options.resolve import resolve
from ....run.result import exit_code
from ....run.spec import Spec
from ...process.open_settings import open_settings
from ...records.runs import RunRecords
from ...service.run_service import RunService
from ...views.plan import CONDITION, Plan
from ...views.transcript import paid, quantity
from ..options import to_request
from ..records import note_new_database, with_earlier_runs
from ..terminal.follow import exclusive, halt_on_signals, report_halt
from ..terminal.output import Output, Stream, streams
from ..terminal.progress import Progress
from .batch_lines import Line, count_lines, read_lines
from .batch_troubles import Troubles

__all__ = ["batch"]

CHUNK = 1 << 20
WORST = (130, 4, 1, 2, 3, 5, 0)
"""Exit codes of single runs, worst first: a batch exits with the worst of its lines."""


def batch(
    file: Path,
    out: Path | None,
    concurrency: int,
    quiet: bool,
    budget: float | None,
    require_consensus: bool,
    dry_run: bool,
    **options: Any,
) -> int:
    output = streams(quiet=quiet)
    settings = open_settings({"budget": {"batch_usd": budget}})
    with ExitStack() as open_files:
        questions, name = open_files.enter_context(_read(file))
        folder = Path() if str(file) == "-" else file.parent
        requests = _Requests(settings, name, to_request("", **options), folder)
        lines = read_lines(questions)
        if dry_run:
            return _dry_run(output, requests, lines)
        open_files.enter_context(exclusive(data_dir() / "batch" / name, "batch"))
        results = output.out if out is None else open_files.enter_context(_open_results(out, file))
        results.kept = "; the answers are stored: repeat the command to write all of them"
        work = _Work(output, results, requests, lines, count_lines(questions), require_consensus)
        return asyncio.run(_run(settings, work, concurrency))


@dataclass(frozen=True)
class _Requests:
    """Makes the run of each line. base: the options of the command line, for those that a line leaves out.

    folder: that of the batch file, from which relative paths in it start.
    """

    settings: Settings
    name: str
    base: RunRequest
    folder: Path

    async def spec(self, line: Line) -> Spec:
        """Return the spec of a line, with its files read. Raises `UsageError`."""
        if line.body is None:
            raise UsageError(line.problem)
        request = line.body.to_request(replace(self.base, seed=None))
        line_has_seed = request.seed is not None
        seed = self.base.seed if self.base.seed is not None else self.settings.run.seed
        if not line_has_seed:
            # Different for each line, but the same in each attempt: a new seed would be a new run.
            digest = sha256(f"{seed or 0}/{line.mark}".encode()).digest()[:4]
            request = replace(request, seed=int.from_bytes(digest))
        files = [self._located(one) for one in request.files]
        read = await read_files(files, self.settings.context, paths=True)
        spec = resolve(replace(request, files=read.files), self.settings, batch=self.name)
        if seed is not None or line_has_seed:
            return spec
        # Models get only a seed that the user has set.
        return replace(spec, limits=replace(spec.limits, seed=None))

    def _located(self, file: Source | File) -> Source | File:
        """The file with its path from the folder of the batch file, where it is a relative one."""
        if isinstance(file, File) or file.path is None:
            return file
        return replace(file, name=file.name or file.path, path=str(self.folder / file.path))


@dataclass
class _Work:
    output: Output
    results: Stream
    requests: _Requests
    lines: Iterator[Line]
    total: int
    require_consensus: bool
    codes: set[int] = field(default_factory=set)
    answers: int = 0
    troubles: Troubles = field(default_factory=Troubles)

    def write(self, line: Line, document: Mapping[str, Any], code: int) -> None:
        self.codes.add(code)
        self.results.write(json.dumps({"id": line.id, "line": line.number, **document}) + "\n")

    def refuse(self, line: Line, why: PnyxError) -> None:
        self.output.error(f"line {line.number}: {why}")
        self.write(line, {"error": str(why)}, 1)


async def _run(settings: Settings, work: _Work, concurrency: int) -> int:
    name = work.requests.name
    note_new_database(settings, work.output)
    async with RunService.open(settings) as service:
        batch = service.batch(name)
        progress = Progress(work.output, work.total)
        reading = asyncio.Lock()
        failed: list[Exception] = []

        async def worker() -> None:
            try:
                while batch.halted is None:
                    async with reading:
                        # On a thread: a slow disk or a long line must not block the event loop.
                        line = await asyncio.to_thread(next, work.lines, None)
                    if line is None:
                        return
                    await _run_line(batch, work, line, progress)
            except Exception as exc:
                # The calls that other workers have in flight are paid for, so they may finish.
                failed.append(exc)
                batch.halt(Interrupted("interrupted"))

        with halt_on_signals(batch, work.output):
            async with asyncio.TaskGroup() as workers:
                for _ in range(concurrency):
                    workers.create_task(worker())
        progress.close()
        if failed:
            raise failed[0]
        account = await service.account(f"batch:{name}")
    spent = paid(account.spent_nusd / NUSD, batch.unpriced)
    for text in work.troubles.failures():
        work.output.error(text)
    for text in work.troubles.drops():
        work.output.note(text)
    forecast = progress.forecast_usd()
    whole = "" if forecast is None else f"; all {work.total} questions would cost about {money(forecast)}"
    work.output.note(f"{quantity(work.answers, 'answer')}, {spent} in all{whole}")
    if batch.halted is not None:
        return report_halt(work.output, batch.halted)
    return next(code for code in WORST if code in work.codes or code == 0)


async def _run_line(batch: Batch, work: _Work, line: Line, progress: Progress) -> None:
    try:
        spec = await work.requests.spec(line)
        _, result = await batch.run(spec)
    except Halted:
        return
    except UsageError as exc:
        progress.clear()
        work.refuse(line, exc)
        progress.add("batch", 0.0)
        return
    code = exit_code(result, work.require_consensus)
    progress.clear()
    if why := failure(result):
        if work.troubles.is_new(result, why, line.number):
            work.output.error(f"line {line.number}: {why}")
    else:
        work.troubles.add(result)
    if batch.halted is None or result.status != "paused":
        work.answers += why is None
        work.write(line, result.to_json(), code)
        progress.add("batch", result.usage["cost_usd"])


@contextmanager
def _read(file: Path) -> Iterator[tuple[IO[bytes], str]]:
    """The open file of questions, and the name of the batch, which is the same in each attempt at it."""
    if str(file) == "-" and sys.stdin is None:
        raise UsageError("stdin is closed, so there are no questions to read")
    try:
        source = sys.stdin.buffer if str(file) == "-" else file.open("rb")
    except OSError as exc:
        raise UsageError(f"cannot read {file}: {exc.strerror}") from exc
    if str(file) != "-" and source.seekable():
        path = str(file.resolve()).encode("utf-8", "surrogateescape")
        with source:
            yield source, f"batch-{sha256(path).hexdigest()[:8]}"
        return
    # A pipe has no path and cannot be read twice: copy it, and name the batch by its content.
    with tempfile.TemporaryFile() as copy:
        digest = sha256()
        while chunk := source.read(CHUNK):
            digest.update(chunk)
            copy.write(chunk)
        copy.seek(0)
        yield copy, f"batch-{digest.hexdigest()[:8]}"


@contextmanager
def _open_results(out: Path, file: Path) -> Iterator[Stream]:
    """Open the file of results. Every attempt writes all of them: earlier ones come from the database."""
    if out.exists() and file.exists() and out.samefile(file):
        raise UsageError(f"{out} contains the questions; choose another file for --out")
    try:
        results = out.open("w", encoding="utf-8")
    except OSError as exc:
        raise UsageError(f"cannot write {out}: {exc.strerror}") from exc
    with results:
        yield Stream(results, name=str(out))


def _dry_run(output: Output, requests: _Requests, lines: Iterator[Line]) -> int:
    # Imported for dry runs only.
    from .dry_run import expected_plan

    bad = 0

    async def read(stored: RunRecords | None) -> list[Plan]:
        nonlocal bad
        plans = []
        for line in lines:
            try:
                plans.append(await expected_plan(stored, await requests.spec(line)))
            except UsageError as exc:
                bad += 1
                output.error(f"line {line.number}: {exc}")
        return plans

    output.out.lines(_summary(with_earlier_runs(requests.settings, read)))
    return 1 if bad else 0


def _summary(plans: Sequence[Plan]) -> Iterator[str]:
    yield quantity(len(plans), "question")
    calls = [one.calls for one in plans if one.calls is not None]
    if len(calls) < len(plans):
        yield "calls   unknown: a protocol has no bound"
    else:
        least, most = (sum(one[end] for one in calls) for end in (0, 1))
        yield f"calls   {least:,}" if least == most else f"calls   {least:,} to {most:,}"
    cost, expected = total_usd(one.cost_usd for one in plans), total_usd(one.expected_usd for one in plans)
    usual = f", about {money(expected)} is expected" if expected else ""
    yield f"cost    {'unknown' if cost is None else f'at most {money(cost)}{usual}' if cost else 'nothing'}"
    yield f"the most holds {CONDITION}; nothing was sent or stored"
