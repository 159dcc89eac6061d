"""How a run stops: by its own limits, by its process, or by another process."""

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
        """Send no further request. Replies in flight are still received and recorded; tools are cancelled."""
        if self.reason is None:
            self.reason = reason
            if not self.requested.done():
                self.requested.set_result(None)

    def check(self) -> None:
        """Raise the reason, if there is one."""
        if self.reason is not None:
            # Raised in every branch: without this the error collects the frames of all of them.
            raise self.reason.with_traceback(None)


class StopRequests:
    """Requests of other processes to stop the run: the journal reads them, the run's handle handles them."""

    def __init__(self) -> None:
        self._callback: Callable[[str], None] | None = None
        self._pending: str | None = None

    def subscribe(self, callback: Callable[[str], None]) -> None:
        """Call `callback` with each request from now on, and with an earlier one if there was one."""
        self._callback = callback
        if self._pending is not None:
            callback(self._pending)

    def unsubscribe(self) -> None:
        """Forget the callback: the run has ended, and would be in memory until garbage is collected."""
        self._callback = None

    def request(self, how: str) -> None:
        """Stop the run. how: "cancel" ends it at once; "pause" leaves it for its owner to resume."""
        if self._callback is None:
            self._pending = how
        else:
            self._callback(how)
