"""The action of `pnyx verify`."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from ....core.events import Event, RunFinished
from ....core.text import Material
from ....errors import UsageError
from ....prompts import load
from ....run.handle import RunHandle
from ....run.resolve import resolve
from ....run.result import Result
from ...open_settings import open_settings
from ...service import RunService
from ...views.verdict import PASS, REPORTS, SCHEMA, as_text
from ..options import to_request
from ..terminal.follow import follow
from ..terminal.output import Output
from .ask import MOST_BYTES
from .ask import as_text as decoded

__all__ = ["verify"]

QUESTION = load("verify/question")
NOT_PASSED = 3


def verify(
    output: Output,
    files: tuple[Path, ...],
    rubric: Path,
    require: str | None,
    format: str | None,
    out: Path | None,
    **options: Any,
) -> int:
    if out is not None and format is None:
        raise UsageError("--out needs --format sarif or --format junit")
    settings = open_settings()
    question = QUESTION(rubric=_read(rubric)).render().text
    request = replace(to_request(question, **options), context=_material(files), answer_schema=SCHEMA)
    spec = resolve(request, settings)
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


def _material(files: tuple[Path, ...]) -> tuple[Material, ...]:
    """Return what is checked, each text under the name of its file. Raises `UsageError` if there is none."""
    if not files:
        files = (Path("-"),)
    found = tuple(Material("standard input" if str(f) == "-" else str(f), _read(f)) for f in files)
    if not any(one.text.strip() for one in found):
        raise UsageError("there is nothing to check: name a file with --file, or write a text to stdin")
    return found


def _read(path: Path) -> str:
    """Return the text of a file, or of stdin for "-". Raises `UsageError`."""
    if str(path) == "-":
        return decoded(sys.stdin.buffer.read(MOST_BYTES + 1) if sys.stdin is not None else b"")
    try:
        raw = path.read_bytes()
    except OSError as exc:
        raise UsageError(f"{path}: {exc.strerror}") from None
    if len(raw) > MOST_BYTES:
        raise UsageError(f"{path} is longer than {MOST_BYTES >> 20} MiB")
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n").replace("\0", "\ufffd")
    except UnicodeDecodeError as exc:
        raise UsageError(f"{path} is not UTF-8 (byte {exc.start})") from None


def _verdict(result: Result) -> dict[str, Any] | None:
    """The verdict of a run that came to one."""
    if not result.answer or result.status in ("failed", "paused", "cancelled"):
        return None
    verdict: dict[str, Any] = json.loads(result.answer)
    return verdict


def _text(result: Result) -> str:
    verdict = _verdict(result)
    return as_text(verdict) if verdict is not None else result.answer or ""
