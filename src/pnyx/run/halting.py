"""What stops a run: its own limits, its process, or another process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ..errors import Halted

__all__ = ["Halt", "StopRequests"]


class Halt:
    """Whether the run may send further requests. `requested` completes when it may not."""

    def __init__(self) -> None:
        self.reason: Halted | None = None
        self.requested: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def request(self, reason: Halted) -> None:
        """Send no further request. Those in flight are still received and recorded; tools are cut off."""
        if self.reason is None:
            self.reason = reason
            if not self.requested.done():
                self.requested.set_result(None)

    def check(self) -> None:
        """Raise the reason, if there is one."""
        if self.reason is not None:
            # Raised in every branch: the same error would collect the frames of all of them.
            raise self.reason.with_traceback(None)


class StopRequests:
    """Requests of other processes to stop the run: the journal reads them, the run's task obeys them."""

    def __init__(self) -> None:
        self._obey: Callable[[str], None] | None = None
        self._missed: str | None = None

    def subscribe(self, obey: Callable[[str], None]) -> None:
        """Call `obey` with each request from now on, and with one that came before."""
        self._obey = obey
        if self._missed is not None:
            obey(self._missed)

    def request(self, how: str) -> None:
        """how: "cancel", or "pause": stop at once and leave the run to its owner."""
        if self._obey is None:
            self._missed = how
        else:
            self._obey(how)
