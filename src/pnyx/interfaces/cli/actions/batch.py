"""What `pnyx batch` does."""

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
from ....core.models import NUSD, money
from ....errors import Halted, Interrupted, PnyxError, UsageError
from ....run.batch import Batch, failure
from ....run.request import RunRequest
from ....run.resolve import resolve
from ....run.result import exit_code
from ....run.spec import Spec
from ...open_settings import open_settings
from ...service import RunService
from ...views.transcript import paid, quantity
from ..options import to_request
from ..terminal.follow import alone, obeyed, tell_halt
from ..terminal.output import Output, Stream, streams
from ..terminal.progress import Progress
from .batch_lines import Line, count_lines, read_lines

__all__ = ["batch"]

CHUNK = 1 << 20
WORST = (130, 4, 1, 2, 3, 5, 0)
"""Exit codes of single runs, the one that tells the most about a batch first."""


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
        asked = _Questions(settings, name, to_request("", **options))
        lines = read_lines(questions)
        if dry_run:
            return _dry_run(output, asked, lines)
        open_files.enter_context(alone(data_dir() / "batch" / name, "batch"))
        results = output.out if out is None else open_files.enter_context(_written(out, file))
        work = _Work(output, results, asked, lines, count_lines(questions), require_consensus)
        return asyncio.run(_run(settings, work, concurrency))


@dataclass(frozen=True)
class _Questions:
    """From a line to its run. base: the request as the flags have it, for what a line leaves out."""

    settings: Settings
    name: str
    base: RunRequest

    def spec(self, line: Line) -> Spec:
        if line.body is None:
            raise UsageError(line.problem)
        request = line.body.to_request(replace(self.base, seed=None))
        own = request.seed is not None
        seed = self.base.seed if self.base.seed is not None else self.settings.run.seed
        if not own:
            # The same in each attempt, or a batch that continues would ask again; each line has another.
            drawn = sha256(f"{seed or 0}/{line.mark}".encode()).digest()[:4]
            request = replace(request, seed=int.from_bytes(drawn))
        spec = resolve(request, self.settings, batch=self.name)
        if seed is not None or own:
            return spec
        # Models are passed only a seed that somebody set.
        return replace(spec, limits=replace(spec.limits, seed=None))


@dataclass
class _Work:
    output: Output
    results: Stream
    questions: _Questions
    lines: Iterator[Line]
    total: int
    require_consensus: bool
    codes: set[int] = field(default_factory=set)
    answers: int = 0

    def write(self, line: Line, document: Mapping[str, Any], code: int) -> None:
        self.codes.add(code)
        self.results.write(json.dumps({"id": line.id, "line": line.number, **document}) + "\n")

    def refuse(self, line: Line, why: PnyxError) -> None:
        self.output.error(f"line {line.number}: {why}")
        self.write(line, {"error": str(why)}, 1)


async def _run(settings: Settings, work: _Work, concurrency: int) -> int:
    name = work.questions.name
    async with RunService.open(settings) as service:
        batch = service.batch(name)
        progress = Progress(work.output, work.total)
        turn = asyncio.Lock()
        failed: list[Exception] = []

        async def worker() -> None:
            try:
                while batch.halted is None:
                    async with turn:
                        # Reading may wait for a slow disk, and long lines take their time.
                        line = await asyncio.to_thread(next, work.lines, None)
                    if line is None:
                        return
                    await _answered(batch, work, line, progress)
            except Exception as exc:
                # What the others have in flight is paid for; killed, it would be sent again.
                failed.append(exc)
                batch.halt(Interrupted("interrupted"))

        with obeyed(batch, work.output):
            async with asyncio.TaskGroup() as workers:
                for _ in range(concurrency):
                    workers.create_task(worker())
        progress.close()
        if failed:
            raise failed[0]
        account = await service.account(f"batch:{name}")
    spent = paid(account.spent_nusd / NUSD, batch.unpriced)
    work.output.note(f"{quantity(work.answers, 'answer')}, {spent} in all")
    if batch.halted is not None:
        return tell_halt(work.output, batch.halted)
    return next(code for code in WORST if code in work.codes or code == 0)


async def _answered(batch: Batch, work: _Work, line: Line, progress: Progress) -> None:
    try:
        spec = work.questions.spec(line)
        _, result = await batch.run(spec)
    except Halted:
        return
    except UsageError as exc:
        work.refuse(line, exc)
        progress.add("batch", 0.0)
        return
    code = exit_code(result, work.require_consensus)
    if why := failure(result):
        work.output.error(f"line {line.number}: {why}")
    if batch.halted is None or result.status != "paused":
        work.answers += 1
        work.write(line, result.to_json(), code)
        progress.add("batch", result.usage["cost_usd"])


@contextmanager
def _read(file: Path) -> Iterator[tuple[IO[bytes], str]]:
    """The questions, and the name of the batch: the same for every try at the same file or the same input.

    What its lines and the flags say tells its runs apart.
    """
    if str(file) == "-" and sys.stdin is None:
        raise UsageError("stdin is closed, so there are no questions to read")
    try:
        given = sys.stdin.buffer if str(file) == "-" else file.open("rb")
    except OSError as exc:
        raise UsageError(f"{file} cannot be read: {exc.strerror}") from exc
    if str(file) != "-" and given.seekable():
        place = str(file.resolve()).encode("utf-8", "surrogateescape")
        with given:
            yield given, f"batch-{sha256(place).hexdigest()[:8]}"
        return
    # A pipe has no lasting name, and cannot be counted: it is read to its end, and goes by its content.
    with tempfile.TemporaryFile() as kept:
        digest = sha256()
        while chunk := given.read(CHUNK):
            digest.update(chunk)
            kept.write(chunk)
        kept.seek(0)
        yield kept, f"batch-{digest.hexdigest()[:8]}"


@contextmanager
def _written(out: Path, file: Path) -> Iterator[Stream]:
    """The results, written anew by every try: what was answered before is read from the database."""
    if out.exists() and file.exists() and out.samefile(file):
        raise UsageError(f"{out} holds the questions; results need another --out")
    try:
        opened = out.open("w", encoding="utf-8")
    except OSError as exc:
        raise UsageError(f"{out} cannot be written: {exc.strerror}") from exc
    with opened:
        yield Stream(opened, name=str(out))


def _dry_run(output: Output, questions: _Questions, lines: Iterator[Line]) -> int:
    # Only this needs it.
    from ...views.plan import Plan, plan

    plans: list[Plan] = []
    bad = 0
    for line in lines:
        try:
            plans.append(plan(questions.spec(line)))
        except UsageError as exc:
            bad += 1
            output.error(f"line {line.number}: {exc}")
    output.out.lines(_told(plans))
    return 1 if bad else 0


def _told(plans: Sequence[Any]) -> Iterator[str]:
    yield quantity(len(plans), "question")
    calls = [one.calls for one in plans]
    if None in calls:
        yield "calls   unknown: a protocol does not tell"
    else:
        least, most = (sum(one[end] for one in calls) for end in (0, 1))
        yield f"calls   {least:,}" if least == most else f"calls   {least:,} to {most:,}"
    costs = [one.cost_usd for one in plans]
    cost = None if None in costs else sum(costs)
    yield f"cost    {'unknown' if cost is None else f'at most {money(cost)}' if cost else 'nothing'}"
    yield "nothing was sent, nothing was stored"
