"""The action of `pnyx verify`."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from ....config.schema import Settings
from ....core.context.files import Source
from ....core.events import Event, RunFinished
from ....errors import UsageError
from ....files.read import read_text
from ....prompts import load
from ....run.handle import RunHandle
from ....run.options.resolve import resolve
from ....run.result import Result
from ...process.open_settings import open_settings
from ...service.run_service import RunService
from ...views.verdict import FAIL, PASS, REPORTS, SCHEMA, as_text, contradiction
from ..files import FileFlags, note_files, read_flags
from ..options import to_request
from ..terminal.follow import follow
from ..terminal.output import Output

__all__ = ["verify"]

QUESTION = load("verify/question")
NOT_PASSED = 3


def verify(
    output: Output,
    flags: FileFlags,
    rubric: Path,
    require: str | None,
    format: str | None,
    out: Path | None,
    **options: Any,
) -> int:
    if out is not None and format is None:
        raise UsageError("--out needs --format sarif or --format junit")
    settings = open_settings()
    question = QUESTION(rubric=_rubric(settings, rubric)).render().text
    if flags == FileFlags():
        flags = FileFlags((Path("-"),))
    files = read_flags(settings, output, flags)
    request = replace(to_request(question, **options), files=files, answer_schema=SCHEMA)
    spec = resolve(request, settings)
    note_files(output, spec)
    ends: list[Result] = []

    async def start(service: RunService) -> RunHandle:
        return await service.start(spec)

    def watch(event: Event) -> None:
        if isinstance(event, RunFinished) and event.result:
            ends.append(Result.from_json(event.result))

    # A report on stdout stands alone there.
    to_stdout = format is not None and out is None
    code = follow(settings, start, output, watch=watch, answer_text=lambda r: "" if to_stdout else _text(r))
    verdict = _verdict(ends[-1]) if ends else None
    if verdict is None:
        return code
    if format is not None:
        report = REPORTS[format](verdict, ends[-1].run_id)
        if out is None:
            output.out.write(report)
        else:
            out.write_text(report, "utf-8")
    return NOT_PASSED if require is not None and verdict["verdict"] != PASS else code


def _rubric(settings: Settings, path: Path) -> str:
    """Return the text of the rubric, "-" from stdin. Raises `UsageError`."""
    limits = settings.context
    source = (
        Source(data=sys.stdin.buffer.read()) if str(path) == "-" and sys.stdin else Source(path=str(path))
    )
    return asyncio.run(read_text(source, limits))


def _verdict(result: Result) -> dict[str, Any] | None:
    """The verdict of a run that came to one; "fail" for a "pass" that something contradicts."""
    if not result.answer or result.status in ("failed", "paused", "cancelled"):
        return None
    verdict: dict[str, Any] = json.loads(result.answer)
    if problem := contradiction(verdict, result.final_answer):
        reasons = f"The verdict says pass, but {problem}. {verdict['reasons']}"
        verdict |= {"verdict": FAIL, "reasons": reasons}
    return verdict


def _text(result: Result) -> str:
    verdict = _verdict(result)
    return as_text(verdict) if verdict is not None else result.answer or ""
