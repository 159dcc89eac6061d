"""The artifacts of a run on disk. Every file is complete at any time, and no file of others is touched.

A file is written to a temporary name and then renamed, so that a reader sees the old or the new text. A file
that cannot be written is tried again with the next event: a full disk delays the folder, never the run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from ...core.events import Event, Token, from_json, to_json
from ...errors import UsageError
from .folder_files import STATE, Artifacts
from .markdown import Redact

__all__ = ["Folder"]

TEMPORARY = ".pnyx.tmp"


class Folder:
    """The artifacts of one run in `root`. past: earlier events. problem: why files are missing."""

    def __init__(self, root: Path, redact: Redact = str, past: Iterable[Event] = ()) -> None:
        self.root = root
        self.problem: OSError | None = None
        self._artifacts = Artifacts(redact)
        self._pending: set[str] = set()
        self._owned = False
        for event in past:
            self._pending |= self._artifacts.add(event)

    def claim(self, run_id: str | None) -> None:
        """Create the folder, or use one that is empty or contains the artifacts of `run_id`.

        run_id: None for a run that has not started. Raises `UsageError` for any other folder, and for one
        that cannot be written.
        """
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            others = [name for name in os.listdir(self.root) if name != TEMPORARY]
            owner = _run_in(self.root / STATE) if others else None
            if others and (owner is None or owner != run_id):
                content = f"the artifacts of run {owner}" if owner else "other files"
                raise UsageError(f"{self.root} contains {content}; choose a new or an empty folder")
            self._owned = bool(others)
            self._write("").unlink()
        except OSError as exc:
            raise UsageError(f"cannot write {self.root}: {exc.strerror or exc}") from exc

    def add(self, event: Event) -> None:
        """Add an event, and write the files that it changes."""
        if isinstance(event, Token):
            return
        # The event as it is read from storage, without tuples, so that an export writes the same files.
        stored = from_json(json.loads(json.dumps(to_json(event))))
        self._pending |= self._artifacts.add(stored)
        self.flush()

    def flush(self) -> None:
        """Write all pending files. Never raises; see `problem`."""
        self.problem = None
        # The state is last, after the files it refers to; in a new folder first, because it marks the owner.
        for path in sorted(self._pending, key=lambda path: ((path == STATE) == self._owned, path)):
            try:
                self._put(path, self._artifacts.text(path))
            except OSError as exc:
                self.problem = exc
            else:
                self._pending.remove(path)
                self._owned = True

    def _put(self, path: str, text: str) -> None:
        for parent in reversed(PurePosixPath(path).parents[:-1]):
            (self.root / parent).mkdir(mode=0o700, exist_ok=True)
        os.replace(self._write(text), self.root / path)

    def _write(self, text: str) -> Path:
        """Write `text` to the temporary file, replacing one that a killed process left; return its path."""
        path = self.root / TEMPORARY
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except OSError:
            path.unlink(missing_ok=True)
            raise
        return path


def _run_in(state: Path) -> str | None:
    """The run id in this state file; None if it is not one."""
    try:
        run_id = json.loads(state.read_bytes())["run_id"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    return run_id if isinstance(run_id, str) else None
