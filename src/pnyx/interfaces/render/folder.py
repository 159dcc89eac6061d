"""A run's artifacts on disk: each file whole at every moment, and nothing of anybody else's touched.

A file is written beside the others and then put in its place in one step, so that a reader sees the
old text or the new one. What cannot be written is kept and tried again with the next event: a full
disk delays the folder, never the run.
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
    """The artifacts of one run in `root`. past: events to begin with. problem: why files are missing."""

    def __init__(self, root: Path, redact: Redact = str, past: Iterable[Event] = ()) -> None:
        self.root = root
        self.problem: OSError | None = None
        self._artifacts = Artifacts(redact)
        self._pending: set[str] = set()
        self._ours = False
        for event in past:
            self._pending |= self._artifacts.add(event)

    def claim(self, run_id: str | None) -> None:
        """Make the folder, or take one that is empty or holds the artifacts of `run_id`.

        run_id: None for a run that is still to begin. Raises `UsageError` for any other folder, and
        for one that cannot be written.
        """
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            others = [name for name in os.listdir(self.root) if name != TEMPORARY]
            held = _run_in(self.root / STATE) if others else None
            if others and (held is None or held != run_id):
                whose = f"the artifacts of run {held}" if held else "something else"
                raise UsageError(f"{self.root} holds {whose}; name a folder that is empty or new")
            self._ours = bool(others)
            self._write("").unlink()
        except OSError as exc:
            raise UsageError(f"cannot write {self.root}: {exc.strerror or exc}") from exc

    def add(self, event: Event) -> None:
        """Take in an event, and write what it changed."""
        if isinstance(event, Token):
            return
        # As it will be read from storage, where there are no tuples, so that an export gives the same files.
        stored = from_json(json.loads(json.dumps(to_json(event))))
        self._pending |= self._artifacts.add(stored)
        self.flush()

    def flush(self) -> None:
        """Write all that is not written yet; never raises, see `problem`."""
        self.problem = None
        # The state comes last, after what it tells of; in a new folder first, since it says whose it is.
        for path in sorted(self._pending, key=lambda path: ((path == STATE) == self._ours, path)):
            try:
                self._put(path, self._artifacts.text(path))
            except OSError as exc:
                self.problem = exc
            else:
                self._pending.remove(path)
                self._ours = True

    def _put(self, path: str, text: str) -> None:
        for parent in reversed(PurePosixPath(path).parents[:-1]):
            (self.root / parent).mkdir(mode=0o700, exist_ok=True)
        os.replace(self._write(text), self.root / path)

    def _write(self, text: str) -> Path:
        """A new file with `text`, not yet in its place; one that a killed process left goes."""
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
    """The run whose state this is, None where it is nobody's."""
    try:
        run_id = json.loads(state.read_bytes())["run_id"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    return run_id if isinstance(run_id, str) else None
