"""What `pnyx ask` and `pnyx resume` do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ....errors import UsageError
from ....run.handle import RunHandle
from ....run.resolve import resolve
from ....run.responses import read_responses
from ...open_settings import open_settings
from ...service import RunService
from ..options import to_request
from ..terminal.follow import follow
from ..terminal.output import Output
from .artifacts import kept

__all__ = ["MOST_BYTES", "as_text", "ask", "read_question", "resume"]

MOST_BYTES = 4 << 20
"""Of a question on stdin; the largest windows hold about as much."""


def ask(
    output: Output,
    question: str | None,
    artifacts: Path | None,
    responses: Path | None,
    require_consensus: bool,
    dry_run: bool,
    **options: Any,
) -> int:
    settings = open_settings()
    existing = () if responses is None else read_responses(responses)
    request = to_request(read_question(question, output), responses=existing, **options)
    spec = resolve(request, settings)
    if dry_run:
        # Only this needs it.
        from .dry_run import print_plan

        print_plan(output, spec)
        return 0

    async def begin(service: RunService) -> RunHandle:
        return await service.start(spec)

    with kept(settings, output, artifacts) as watch:
        return follow(settings, begin, output, require_consensus=require_consensus, watch=watch)


def resume(
    output: Output,
    run_id: str,
    budget: float | None,
    deadline: float | None,
    fork: bool,
    artifacts: Path | None,
    require_consensus: bool,
) -> int:
    settings = open_settings()

    async def begin(service: RunService) -> RunHandle:
        return await service.resume(run_id, budget_usd=budget, deadline_s=deadline, fork=fork)

    with kept(settings, output, artifacts, None if fork else run_id) as watch:
        return follow(settings, begin, output, require_consensus=require_consensus, watch=watch)


def read_question(given: str | None, output: Output) -> str:
    """The question, from the command line, stdin or the person at it. Raises `UsageError`."""
    if given is not None and given != "-":
        return given
    if given is None and sys.stdin is not None and sys.stdin.isatty():
        if output.no_input:
            raise UsageError('there is no question; give one as an argument, or "-" and text on stdin')
        output.err.write(output.err.paint("Question: ", "bold"))
        raw = sys.stdin.buffer.readline(MOST_BYTES + 1)
    else:
        raw = b"" if sys.stdin is None else sys.stdin.buffer.read(MOST_BYTES + 1)
    return as_text(raw).strip("\r\n")


def as_text(raw: bytes) -> str:
    """A question that came as bytes, CRLF as LF. Raises `UsageError` for what is too long or no text."""
    if len(raw) > MOST_BYTES:
        raise UsageError(f"the question on stdin is longer than {MOST_BYTES >> 20} MiB")
    try:
        question = raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as exc:
        raise UsageError(f"the question on stdin is not UTF-8 (byte {exc.start})") from exc
    if "\0" in question:
        raise UsageError("the question on stdin holds NUL, so it is not text")
    return question
