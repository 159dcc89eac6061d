"""Retries of clients: a request that is sent again joins the run that the first attempt began.

Clients retry what took too long or broke off, and each attempt would pay for a whole panel. A repeated
request joins an earlier run if it is the same text of the same owner on the same path, within `WINDOW_S`, and
either its header says that it is a retry, or the earlier answer never arrived in full, or that run has failed
within the last `FAILED_S`: some clients retry every failure of a server, and do not say so. A question that
is asked again on purpose, after its answer, is asked again. The names of runs are stored: a retry also finds
a run that was begun before the server was killed.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from hashlib import sha256

from starlette.requests import Request

from ....core.caching.lru import LRU
from ....run.run_rows import id_for_name

__all__ = ["KEY", "Retries"]

WINDOW_S = 600
FAILED_S = 30
"""Seconds for which the same request gets the same failure. Clients wait 2 to 8 seconds between attempts."""
MOST = 10_000
"""Requests that are remembered."""
KEY = "idempotency-key"
"""The header in which a client names its run."""
RETRY_COUNT = "x-stainless-retry-count"
"""The header in which the clients of OpenAI and Anthropic count their attempts, from 0."""


@dataclass(slots=True)
class _Seen:
    """A request. name, run_id: of its run. at: when it began, in monotonic seconds. number: of its runs.

    delivered: whether the answer was sent in full. failed_at: when a failure was, in monotonic seconds.
    """

    name: str
    run_id: str
    at: float
    number: int
    delivered: bool = False
    failed_at: float = -FAILED_S

    def is_joined(self, is_retry: bool, now: float) -> bool:
        """Whether a request that is the same joins this one's run."""
        if now - self.at >= WINDOW_S:
            return False
        return is_retry or not self.delivered or now - self.failed_at < FAILED_S


class Retries:
    """The requests of the last minutes."""

    def __init__(self) -> None:
        self._seen = LRU[str, _Seen](MOST)
        self._runs = LRU[str, _Seen](MOST)

    def name(self, owner: str, request: Request, body: bytes) -> str:
        """The name of the run for a request: that of an earlier one if this is the same request again."""
        if key := request.headers.get(KEY):
            return f"http/{request.url.path}/{key[:200]}"
        same = b"\0".join((owner.encode(), request.url.path.encode(), _canonical(body)))
        digest = sha256(same).hexdigest()[:32]
        seen, now = self._seen.get(digest), time.monotonic()
        is_retry = request.headers.get(RETRY_COUNT, "0") != "0"
        if seen is not None and seen.is_joined(is_retry, now):
            return seen.name
        number = seen.number + 1 if seen is not None else 1
        # The clock's window is part of the name, so that a request of another day is another run.
        name = f"again/{digest}/{int(time.time() // WINDOW_S)}/{number}"
        added = _Seen(name, id_for_name(owner, name), now, number)
        self._seen[digest] = self._runs[added.run_id] = added
        return name

    def forget(self, run_id: str) -> None:
        """Let the next attempt begin a new run: this one was cancelled."""
        if seen := self._runs.get(run_id):
            seen.at = -WINDOW_S

    def delivered(self, run_id: str, failed: bool = False) -> None:
        """Note that the answer of a run has been sent in full, or that it `failed` for good."""
        if seen := self._runs.get(run_id):
            if failed and not seen.delivered:
                seen.failed_at = time.monotonic()
            seen.delivered = True


def _canonical(body: bytes) -> bytes:
    """The body of a request, the same for each attempt: some clients write its fields in another order."""
    try:
        document = json.loads(body)
        if isinstance(document, dict):
            # What a client notes of itself, such as the attempt.
            document.pop("client_metadata", None)
        return json.dumps(document, sort_keys=True).encode()
    except (ValueError, RecursionError):
        return body
