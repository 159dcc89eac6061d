"""The files of a question on the command line: what the flags name, read, and shown before the run."""

from __future__ import annotations

import asyncio
import os
import re
import select
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...config.schema import Settings
from ...core.context.files import File, Source
from ...errors import UsageError
from ...files.diff import is_revision, read_diff
from ...files.folder import list_folder
from ...files.read import Reading, read_files
from ...run.spec import Spec
from ..views.files import summary_words, total_words
from .terminal.output import Output
from .terminal.plain import paragraph

__all__ = ["FileFlags", "files_in", "note_files", "piped", "read_flags"]

STDIN = "stdin"
"""The name of what is piped."""
NOTE_S = 2.0
"""Seconds without a byte on stdin after which a line says what is waited for."""
PATIENCE_S = 60.0
"""Further seconds after which that is an error."""


@dataclass(frozen=True, slots=True)
class FileFlags:
    """What the flags of a command name. diff: the revision; "" for the last commit; None: no diff."""

    paths: Sequence[Path] = ()
    folders: Sequence[Path] = ()
    globs: Sequence[str] = ()
    diff: str | None = None
    urls: Sequence[str] = ()

    def with_question(self, question: str | None) -> tuple[FileFlags, str | None]:
        """The flags and the question, where `--diff "Is this right?"` took the question for a revision."""
        if question is None and self.diff and not is_revision(self.diff, Path()):
            return replace(self, diff=""), self.diff
        return self, question


def read_flags(
    settings: Settings, output: Output, flags: FileFlags, more: Sequence[Source] = ()
) -> tuple[File, ...]:
    """Read what the flags name, and `more` before it; print notes to stderr. Raises `UsageError`."""
    if not any((flags.paths, flags.folders, flags.globs, flags.urls, more, flags.diff is not None)):
        return ()
    read = asyncio.run(read_all(settings, flags, more))
    for note in read.notes:
        output.err.lines(paragraph(output.err, f"note: {note}", "yellow"))
    return read.files


async def read_all(settings: Settings, flags: FileFlags, more: Sequence[Source] = ()) -> Reading:
    """Read what the flags name, and `more` before it. Raises `UsageError`."""
    limits, notes, listed = settings.context, list[str](), set[str]()
    sources = [*more, *(_path(one) for one in flags.paths)]
    if flags.globs and not flags.folders:
        raise UsageError("--glob chooses files of a folder: name it with --dir")
    for folder in flags.folders:
        listing = await asyncio.to_thread(list_folder, folder, flags.globs, limits)
        sources += listing.sources
        listed |= {str(one.path) for one in listing.sources}
        notes += listing.notes
    if flags.diff is not None:
        diff = await asyncio.to_thread(read_diff, flags.diff or None, Path())
        notes += diff.notes
        if diff.source is None:
            raise UsageError("; ".join(("there are no changes to show with --diff", *diff.notes)))
        sources.append(diff.source)
    sources += [Source(url=one) for one in flags.urls]
    read = await read_files(sources, limits, paths=True, listed=listed)
    if sources and not read.files:
        raise UsageError("; ".join(("there are no files to read", *read.notes)))
    return Reading(read.files, (*notes, *read.notes))


def _path(path: Path) -> Source:
    if str(path) != "-":
        return Source(path=str(path))
    data = b"" if sys.stdin is None else sys.stdin.buffer.read()
    if not data.strip():
        raise UsageError("there is nothing on stdin: name a file with --file, or write a text to stdin")
    return Source(name=STDIN, data=data)


def piped(output: Output, flags: FileFlags) -> tuple[Source, ...]:
    """What is on stdin beside a question that is an argument: a pipe or a file; nothing for a terminal."""
    if output.no_input or sys.stdin is None or any(str(one) == "-" for one in flags.paths):
        return ()
    try:
        descriptor = sys.stdin.fileno()
        kind = os.fstat(descriptor).st_mode
    except (OSError, ValueError):
        descriptor, kind = -1, stat.S_IFREG
    if not (stat.S_ISFIFO(kind) or stat.S_ISREG(kind)):
        return ()
    if descriptor >= 0 and not select.select([descriptor], [], [], NOTE_S)[0]:
        output.note("waiting for standard input; --no-input or </dev/null leaves it alone", "dim")
        if not select.select([descriptor], [], [], PATIENCE_S)[0]:
            # A program that starts this one may leave a pipe open for ever.
            raise UsageError(
                f"nothing came on standard input within {PATIENCE_S:g} s; leave it alone with --no-input or "
                "</dev/null, or wait for it with --file -"
            )
    data = sys.stdin.buffer.read()
    return (Source(name=STDIN, data=data),) if data.strip() else ()


def files_in(words: str) -> tuple[str, ...]:
    """The words that name a file here, as other programs take files: `notes.md`, `@notes.md`."""
    # Without the marks of a sentence around them. A word without a dot or a slash is mostly just a word.
    named = (word.strip("\"'`()[]<>,;:?!").removeprefix("@").rstrip(".") for word in words.split())
    return tuple(dict.fromkeys(one for one in named if re.search(r"[./]", one) and os.path.isfile(one)))


def note_files(output: Output, spec: Spec) -> None:
    """Print the files of a run that is about to start, with their tokens; its expected cost follows."""
    if spec.files and not output.quiet:
        output.err.lines(paragraph(output.err, summary_words(spec.file_rows), "dim"))
        output.err.lines(paragraph(output.err, total_words(spec), "dim"))
