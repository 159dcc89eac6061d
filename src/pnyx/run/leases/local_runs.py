"""The runs of this process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ..handle import RunHandle

__all__ = ["LocalRuns"]


class LocalRuns(dict[str, RunHandle]):
    """Run id -> handle of every run of this process.

    by_owner: owner -> how many of them. on_ended: called when a run has ended.
    """

    def __init__(self) -> None:
        super().__init__()
        self.by_owner: Counter[str] = Counter()
        self.on_ended: Callable[[], None] | None = None

    def launched(self, handle: RunHandle) -> None:
        """Add a run that starts."""
        self[handle.run_id] = handle
        self.by_owner[handle.spec.owner] += 1

    def ended(self, handle: RunHandle) -> None:
        """Remove a run that has ended."""
        if self.get(handle.run_id) is handle:
            del self[handle.run_id]
        owner = handle.spec.owner
        self.by_owner[owner] -= 1
        if not self.by_owner[owner]:
            del self.by_owner[owner]
        if self.on_ended is not None:
            self.on_ended()
