"""Every error pnyx raises on purpose, with its exit code and HTTP status.

PnyxError                         1  500
├── UsageError                    2  400   the request is wrong
│   ├── Forbidden                 2  403   the key may not use this; the message names the setting
│   ├── ConfigError               2  400   a settings file or variable is wrong
│   │   ├── MissingExtra          2  400   an optional part of pnyx is not installed
│   │   ├── NoTables              2  400   the database of a server is empty
│   │   └── SeveralProblems       2  400   several of these at once, a line for each
│   ├── FileProblem               2  400   a file of the question cannot be read, or does not suit the panel
│   ├── NotFound                  2  404   no such run, model, protocol, seat
│   ├── LinkEnded                 2  410   a link to a run has expired or was revoked
│   ├── Taken                     2  409   the id or name already exists
│   │   └── Running               2  409   another process runs this run, or is starting it
│   └── PromptError               2  500   a prompt file or one of its slots is missing or unexpected
├── ScriptError                   1  500   a protocol broke the rules of its interface
│   └── IllegalPhase              1  500   a phase transition that is not allowed
├── SeatAbsent                    3  502   a seat did not answer (protocols may handle it)
├── NoQuorum                      3  502   too few seats answered (protocols may handle it)
├── NoSources                     1  502   the search for grounding failed or returned no sources
├── NotInForm                     1  502   the answer could not be written in the requested form
├── Diverged                      1  409   a resumed run no longer matches its journal
├── Fenced                        1  409   another process took over this run
├── Halted                        4  409   the run stopped and can be resumed
│   ├── OutOfBudget               4  402
│   ├── DeadlinePassed            4  504
│   └── Interrupted             130  499
│       └── Starved             130  499   the process has too many open files
├── Full                          1  503   the server has reached its limit of running runs
├── OverLimit                     1  429   a key has reached one of its limits; the message names it
├── StoreError                    1  503   the database cannot be used; the message names it
├── Unreadable                    1  409   a stored run is damaged, or was written by a newer version
└── ProviderError                 1  502   one attempt of a call failed; see `kind`
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

__all__ = [
    "ConfigError",
    "DeadlinePassed",
    "Diverged",
    "Fenced",
    "FileProblem",
    "Forbidden",
    "Full",
    "Halted",
    "IllegalPhase",
    "Interrupted",
    "LinkEnded",
    "MissingExtra",
    "NoQuorum",
    "NoSources",
    "NoTables",
    "NotFound",
    "NotInForm",
    "OutOfBudget",
    "OverLimit",
    "PnyxError",
    "Problems",
    "PromptError",
    "ProviderError",
    "Running",
    "ScriptError",
    "SeatAbsent",
    "Starved",
    "StoreError",
    "Taken",
    "Unreadable",
    "UsageError",
]


class PnyxError(Exception):
    """Base class; the message says what happened and what to do."""

    exit_code = 1
    http_status = 500

    def __reduce__(self) -> tuple[object, ...]:
        # The default calls the class with the message alone, which breaks a pool of processes.
        return PnyxError.__new__, (type(self), *self.args), self.__dict__ or None


class UsageError(PnyxError):
    """The request or an argument of a function cannot be used."""

    exit_code = 2
    http_status = 400


class ConfigError(UsageError):
    pass


class NoTables(ConfigError):
    """The database of a server is empty, and is not to be changed."""


class SeveralProblems(ConfigError):
    """Several errors as one. problems: their messages."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(listed("several things are wrong", problems))
        self.problems = tuple(problems)


class Problems:
    """Collects errors of independent parts, so that who corrects one does not meet the next.

    Use as `with problems:` around each part, and call `check` at the end.
    """

    def __init__(self) -> None:
        self._errors: list[UsageError] = []

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, exc: BaseException | None, traceback: object) -> bool:
        if isinstance(exc, UsageError):
            self._errors.append(exc)
            return True
        return False

    def __bool__(self) -> bool:
        return bool(self._errors)

    def check(self) -> None:
        """Raise what was collected, if anything: a single error as it is, or `SeveralProblems`."""
        lines = dict.fromkeys(
            line
            for error in self._errors
            for line in (error.problems if isinstance(error, SeveralProblems) else (str(error),))
        )
        if len(lines) > 1:
            raise SeveralProblems(tuple(lines))
        if self._errors:
            raise self._errors[0]


def listed(what: str, problems: Sequence[str]) -> str:
    """A single problem as it is, or `what` with one line for each."""
    return problems[0] if len(problems) == 1 else "\n  - ".join([f"{what}:", *problems])


class Forbidden(UsageError):
    http_status = 403


class MissingExtra(ConfigError):
    """extra: the optional part of pnyx that is not installed, as in `pnyx[EXTRA]`."""

    def __init__(self, extra: str, message: str) -> None:
        super().__init__(message)
        self.extra = extra


class NotFound(UsageError):
    http_status = 404


class LinkEnded(UsageError):
    """A link to a run has expired or was revoked."""

    http_status = 410


class FileProblem(UsageError):
    """A file of the question cannot be read, does not fit, or is an image and no model reads images."""


class Taken(UsageError):
    http_status = 409


class Running(Taken):
    """run_id: the id of the running run."""

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
    """A seat did not answer. seat: its label. reason: why, "" if the message says it."""

    exit_code = 3
    http_status = 502
    stop_reason = "no_quorum"

    def __init__(self, message: str, *, seat: str = "", reason: str = "") -> None:
        super().__init__(message)
        self.seat, self.reason = seat, reason or message

    @classmethod
    def of(cls, seat: str, reason: str) -> Self:
        return cls(f"{seat}: {reason}", seat=seat, reason=reason)


class NoQuorum(PnyxError):
    """Fewer seats answered than the step or the protocol needs."""

    exit_code = 3
    http_status = 502
    stop_reason = "no_quorum"


class NoSources(PnyxError):
    http_status = 502
    stop_reason = "no_sources"


class NotInForm(PnyxError):
    """The answer could not be written in the requested form."""

    http_status = 502
    stop_reason = "not_in_form"


class Diverged(PnyxError):
    http_status = 409
    stop_reason = "diverged"


class Fenced(PnyxError):
    http_status = 409


class Halted(PnyxError):
    """The run stops; its journal is kept, and `pnyx resume` continues it."""

    exit_code = 4
    http_status = 409
    stop_reason = "halted"


class OutOfBudget(Halted):
    """because: what made a longer reply necessary, for which there is no room; "" for any other call."""

    because = ""
    http_status = 402
    stop_reason = "budget"

    def explained(self, because: str) -> OutOfBudget:
        """Set why, and return the error itself."""
        self.because = because
        return self


class DeadlinePassed(Halted):
    http_status = 504
    stop_reason = "deadline"


class Interrupted(Halted):
    exit_code = 130
    http_status = 499
    stop_reason = "interrupted"


class Starved(Interrupted):
    """The process has too many open files for the run; it can continue elsewhere, or later."""

    def __init__(self, run_id: str) -> None:
        super().__init__(
            "the process that carried it out had too many open files (ulimit -n); continue it with: "
            f"pnyx resume {run_id}"
        )


class WorkersLost(Halted):
    """So many workers ended while they carried out the run that no worker starts it again."""

    exit_code = 1
    http_status = 500
    stop_reason = "workers_lost"


class Full(PnyxError):
    http_status = 503


class OverLimit(PnyxError):
    """A key has reached one of its limits. retry_after_s: seconds after which another try may succeed."""

    http_status = 429

    def __init__(self, message: str, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class StoreError(PnyxError):
    """The database cannot be used. disk_full: whether its disk has no room left.

    public: the message for clients of a server, where the other one names the place of the database.
    """

    http_status = 503

    def __init__(self, message: str, *, disk_full: bool = False, public: str = "") -> None:
        super().__init__(message)
        self.disk_full, self.public = disk_full, public


class Unreadable(PnyxError):
    http_status = 409


class ProviderError(PnyxError):
    """One attempt of a call failed.

    kind: one of `KINDS`.
    retry_after: seconds to wait, as requested by the host, or None.
    billed: False if the host certainly charged nothing (it refused, or was never reached);
        True if it may have charged, so that the reservation is charged.
    retries: at most so many further requests make sense; None: as many as the settings allow.
    fits: of a prompt that is "too_long", the share that fits by the numbers that the host names, or None.
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
        self,
        kind: str,
        message: str,
        *,
        retry_after: float | None = None,
        billed: bool = False,
        retries: int | None = None,
        fits: float | None = None,
    ) -> None:
        if kind not in self.KINDS:
            raise ValueError(f"unknown kind of provider error: {kind!r}")
        super().__init__(message)
        self.kind = kind
        self.retry_after = retry_after
        self.billed = billed
        self.retries = retries
        self.fits = fits

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed when sent again."""
        return self.KINDS[self.kind]
