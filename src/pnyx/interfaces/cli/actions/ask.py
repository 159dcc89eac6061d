"""The actions of `pnyx ask` and `pnyx resume`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

from ....core.events import RunFinished
from ....errors import UsageError
from ....run.handle import RunHandle
from ....run.options.resolve import resolve
from ....run.options.responses import read_responses
from ...process.open_settings import open_settings
from ...records.existing_database import existing_database
from ...service.run_service import RunService
from ...views.files import summary_words
from ..files import FileFlags, files_in, note_files, piped, read_flags
from ..options import to_request
from ..terminal.follow import follow
from ..terminal.input_text import MOST_BYTES, as_text
from ..terminal.output import Output
from .artifacts import artifact_writer

__all__ = ["ask", "read_question", "resume"]


def ask(
    output: Output,
    question: str | None,
    artifacts: Path | None,
    responses: Path | None,
    flags: FileFlags,
    require_consensus: bool,
    dry_run: bool,
    **options: Any,
) -> int:
    settings = open_settings()
    existing = () if responses is None else read_responses(responses)
    flags, question = flags.with_question(question)
    text = read_question(question, output)
    if not text.strip():
        raise UsageError('there is no question; give one as an argument, or "-" and text on stdin')
    beside = piped(output, flags) if question not in (None, "-") else ()
    _note_named(question or "", flags, output)
    files = read_flags(settings, output, flags, beside)
    request = to_request(text, responses=existing, files=files, **options)
    spec = resolve(request, settings)
    if dry_run:
        # Imported for dry runs only.
        from .dry_run import print_plan

        print_plan(output, settings, spec)
        return 0

    note_files(output, spec)

    async def start(service: RunService) -> RunHandle:
        return await service.start(spec)

    with artifact_writer(settings, output, artifacts) as watch:
        return follow(settings, start, output, require_consensus=require_consensus, watch=watch)


def _note_named(question: str, flags: FileFlags, output: Output) -> None:
    """Say that the panel reads only the name of a file in a question, and how to give it the text.

    Raises `UsageError` if there is nothing else in the question, since that would be paid for nothing.
    """
    for name in map(shlex.quote, named := files_in(question)):
        if question.strip().removeprefix("@") in named:
            raise UsageError(
                f'{name} is a file; ask about it with: --file {name} "QUESTION" '
                f"(or its text is the question: pnyx ask - < {name})"
            )
        if not (flags.paths or flags.folders):
            note = f"note: of {name} the panel reads only the name; --file {name} gives it the text"
            output.note(note, "yellow")


def resume(
    output: Output,
    run_id: str,
    budget: float | None,
    deadline: float | None,
    fork: bool,
    artifacts: Path | None,
    require_consensus: bool,
) -> int:
    async def start(service: RunService) -> RunHandle:
        handle = await service.resume(run_id, budget_usd=budget, deadline_s=deadline, fork=fork)
        if handle.past and isinstance(handle.past[-1], RunFinished):
            output.note("the run had ended: nothing was sent, and nothing paid", "dim")
        if handle.spec.files:
            output.note(summary_words(handle.spec.file_rows), "dim")
        return handle

    with (
        existing_database(open_settings()) as settings,
        artifact_writer(settings, output, artifacts, None if fork else run_id) as watch,
    ):
        return follow(settings, start, output, require_consensus=require_consensus, watch=watch, create=False)


def read_question(argument: str | None, output: Output) -> str:
    """Return the question from the argument, from stdin, or typed at a prompt. Raises `UsageError`."""
    if argument is not None and argument != "-":
        return argument
    if argument is None and sys.stdin is not None and sys.stdin.isatty():
        if output.no_input:
            raise UsageError('no question: pass it as an argument, or pass "-" and write it to stdin')
        # Only a terminal requires line editing, which Windows does not have.
        from ..terminal.line_input import typed

        return typed(output, "Question: ").strip("\r\n")
    raw = b"" if sys.stdin is None else sys.stdin.buffer.read(MOST_BYTES + 1)
    return as_text(raw).strip("\r\n")
