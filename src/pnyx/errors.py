"""Every error pnyx raises on purpose, with its exit code and HTTP status.

PnyxError                         1  500
├── UsageError                    2  400   the caller asked for something that cannot be
│   ├── ConfigError               2  400   a settings file or variable is wrong
│   ├── NotFound                  2  404   no such run, model, protocol, seat
│   ├── Taken                     2  409   a run of this id is there already
│   │   └── Running               2  409   the run is under way in another process, or begins just now
│   └── PromptError               2  500   a prompt file or one of its slots is missing or spare
├── ScriptError                   1  500   a protocol did what the interface does not allow
│   └── IllegalPhase              1  500   a transition that the guard table refuses
├── SeatAbsent                    3  502   a seat did not answer (protocols may handle it)
├── NoQuorum                      3  502   too few seats answered (protocols may handle it)
├── NoSources                     1  502   the search that a run is grounded on gave nothing
├── Diverged                      1  409   a resumed run now asks something else
├── Fenced                        1  409   another process took this run over
├── Halted                        4  409   the run stops where it is and can be resumed
│   ├── OutOfBudget               4  402
│   ├── DeadlinePassed            4  504
│   └── Interrupted             130  499
├── Full                          1  503   the server takes no more runs now
├── Cancelled                     1  409   the run was cancelled and is over
├── StoreError                    1  503   the database cannot be used; the message names it
├── Unreadable                    1  409   a stored run is damaged, or was written by a newer version
└── ProviderError                 1  502   one call failed; `kind` says how, see providers/base.py
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "Cancelled",
    "ConfigError",
    "DeadlinePassed",
    "Diverged",
    "Fenced",
    "Full",
    "Halted",
    "IllegalPhase",
    "Interrupted",
    "NoQuorum",
    "NoSources",
    "NotFound",
    "OutOfBudget",
    "PnyxError",
    "PromptError",
    "ProviderError",
    "Running",
    "ScriptError",
    "SeatAbsent",
    "StoreError",
    "Taken",
    "Unreadable",
    "UsageError",
]


class PnyxError(Exception):
    """Root of the tree; the message says what happened and what to do."""

    exit_code = 1
    http_status = 500


class UsageError(PnyxError):
    exit_code = 2
    http_status = 400


class ConfigError(UsageError):
    pass


class NotFound(UsageError):
    http_status = 404


class Taken(UsageError):
    http_status = 409


class Running(Taken):
    """run_id: of the run that is under way."""

    def __init__(self, run_id: str, message: str) -> None:
        super().__init__(message)
        self.run_id = run_id


class PromptError(UsageError):
    http_status = 500


class ScriptError(PnyxError):
    pass


class IllegalPhase(ScriptError):
    pass


class SeatAbsent(PnyxError):
    exit_code = 3
    http_status = 502
    stop_reason = "no_quorum"


class NoQuorum(PnyxError):
    exit_code = 3
    http_status = 502
    stop_reason = "no_quorum"


class NoSources(PnyxError):
    http_status = 502
    stop_reason = "no_sources"


class Diverged(PnyxError):
    http_status = 409
    stop_reason = "diverged"


class Fenced(PnyxError):
    http_status = 409


class Halted(PnyxError):
    """The run stops where it is; what is recorded stays, and `pnyx resume` goes on from there."""

    exit_code = 4
    http_status = 409
    stop_reason = "halted"


class OutOfBudget(Halted):
    http_status = 402
    stop_reason = "budget"


class DeadlinePassed(Halted):
    http_status = 504
    stop_reason = "deadline"


class Interrupted(Halted):
    exit_code = 130
    http_status = 499
    stop_reason = "interrupted"


class Full(PnyxError):
    http_status = 503


class Cancelled(PnyxError):
    http_status = 409


class StoreError(PnyxError):
    http_status = 503


class Unreadable(PnyxError):
    http_status = 409


class ProviderError(PnyxError):
    """One attempt at one call failed.

    kind: what happened, one of `KINDS`.
    retry_after: seconds the host asked to wait, or None.
    billed: False when the host certainly charged nothing (it refused, or was never reached);
        True when it may have charged, so the reservation stands.
    """

    http_status = 502
    KINDS: ClassVar[dict[str, bool]] = {
        "rate_limited": True,
        "overloaded": True,
        "unreachable": True,
        "timeout": True,
        "truncated": True,
        "malformed": True,
        "overtaken": False,
        "too_long": False,
        "auth": False,
        "not_found": False,
        "refused": False,
        "unavailable": False,
    }

    def __init__(
        self, kind: str, message: str, *, retry_after: float | None = None, billed: bool = False
    ) -> None:
        if kind not in self.KINDS:
            raise ValueError(f"unknown kind of provider error: {kind!r}")
        super().__init__(message)
        self.kind = kind
        self.retry_after = retry_after
        self.billed = billed

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed when sent again."""
        return self.KINDS[self.kind]
