"""The log of an evaluation: the answer of each arm to each question. The report needs nothing else.

JSON Lines: the first line describes the comparison, each other line is one answer. The format is in
docs/evaluation.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from ...core.models import MOST
from ...errors import UsageError

__all__ = ["Arm", "Kind", "Log", "Row"]

VERSION = 1
_EXACT = ConfigDict(extra="forbid")
Kind: TypeAlias = Literal["single", "samples", "protocol"]
Count: TypeAlias = Annotated[int, Field(ge=0, le=10**15)]
Amount: TypeAlias = Annotated[float, Field(ge=0, le=MOST)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True, kw_only=True)
class Arm:
    """Something that answers every question.

    kind: "single", one model, asked once, whose name is the arm's; "samples", the best model, sampled as
    often as the panel's cost allows (the row's `detail.model` names it); "protocol", a run with `protocol`
    and `options`.
    """

    name: str
    kind: Kind
    protocol: str
    options: Mapping[str, Any] = field(default_factory=dict)
    __pydantic_config__ = _EXACT


@dataclass(frozen=True, kw_only=True)
class Row:
    """The answer of an arm to a question, and its cost.

    answer: the short answer, normalised; None if there was none or it could not be read. correct: by the
    grader; always False with an `error` (why nothing could be graded). confidence: in [0, 1], by `rule`.
    steps: whether the leading answer at the start of each round was right, and then the decision; None where
    unknown; empty if the grader has only seen the decision. vote_only: whether the answer that led before the
    seats read each other was right; None if there was no such vote, or if the grader has not seen it.
    cost_usd: None if a price is unknown. Cost, calls, tokens and seconds are those of the arm on its own:
    answers from the pool count in every arm that uses them. seconds: wall time of the run; models in parallel
    count once.
    """

    arm: str
    id: str
    category: str | None = None
    options: Annotated[int, Field(ge=2)] | None = None
    target: str = ""
    answer: str | None = None
    correct: bool = False
    error: str | None = None
    confidence: Share | None = None
    rule: str | None = None
    steps: tuple[bool | None, ...] = ()
    vote_only: bool | None = None
    calls: Count = 0
    input_tokens: Count = 0
    cached_tokens: Count = 0
    output_tokens: Count = 0
    cost_usd: Amount | None = 0.0
    seconds: Amount = 0.0
    run_id: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    __pydantic_config__ = _EXACT

    def __post_init__(self) -> None:
        if self.correct and self.error is not None:
            raise ValueError("an answer with an error cannot be correct")


@dataclass(frozen=True, kw_only=True)
class Log:
    """A comparison and its answers.

    models: those of the panel; each has its own arm. planned: the number of questions per arm; None if
    unknown, as for an Inspect task before its first answer.
    """

    dataset: str
    models: tuple[str, ...]
    arms: tuple[Arm, ...]
    rows: tuple[Row, ...] = ()
    seed: int = 0
    planned: int | None = None
    started: str = ""
    pnyx: str = ""
    __pydantic_config__ = _EXACT

    @cached_property
    def by_arm(self) -> dict[str, dict[str, Row]]:
        """arm -> question id -> row."""
        out: dict[str, dict[str, Row]] = {arm.name: {} for arm in self.arms}
        for row in self.rows:
            out[row.arm][row.id] = row
        return out

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The compared questions: those that every model of the panel was asked, in the order of the log."""
        common = [self.by_arm[model] for model in self.models]
        return tuple(id for id in common[0] if all(id in rows for rows in common)) if common else ()

    def write(self, path: Path) -> None:
        """Write the log as JSON Lines. Raises `UsageError` if the file cannot be written."""
        head = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("rows", "arms")}
        first = {"pnyx_eval": VERSION, **head, "arms": [asdict(arm) for arm in self.arms]}
        lines = [json.dumps(value) for value in (first, *map(asdict, self.rows))]
        try:
            path.write_text("\n".join(lines) + "\n", "ascii")
        except OSError as exc:
            raise UsageError(f"{path} cannot be written: {exc.strerror}") from exc

    @classmethod
    def read(cls, path: Path) -> Log:
        """Read a log. Raises `UsageError` with the number of the first invalid line."""
        try:
            lines = path.read_text("utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as exc:
            raise UsageError(f"cannot read the log {path}: {exc}") from exc
        return cls.parse(lines, str(path))

    @classmethod
    def parse(cls, lines: Iterable[str], name: str) -> Log:
        """Read the lines of a log. name: what messages call it. Raises `UsageError` as `read`."""
        return _log(name, [(n, line) for n, line in enumerate(lines, 1) if line.strip()])


def _log(path: str, lines: Iterable[tuple[int, str]]) -> Log:
    log: Log | None = None
    rows = []
    for n, line in lines:
        try:
            value = json.loads(line, parse_constant=_reject_constant)
            if not isinstance(value, dict):
                raise ValueError("a line must be a JSON object")
            if log is None:
                if value.pop("pnyx_eval", VERSION) != VERSION:
                    raise UsageError(f"{path} has a format that this version of pnyx does not read")
                log = _HEAD.validate_json(json.dumps(value), strict=True)
                names = {arm.name for arm in log.arms}
            else:
                rows.append(_ROW.validate_json(line, strict=True))
                if rows[-1].arm not in names:
                    raise ValueError(f"the first line has no arm {rows[-1].arm!r}")
        except ValidationError as exc:
            wrong = exc.errors()[0]
            problem = ": ".join(filter(None, (".".join(map(str, wrong["loc"])), wrong["msg"])))
            raise UsageError(f"{path}, line {n}: not a line of an evaluation log: {problem}") from exc
        except (ValueError, RecursionError) as exc:
            raise UsageError(f"{path}, line {n}: not a line of an evaluation log: {exc}") from exc
    if log is None:
        raise UsageError(f"{path} is empty; write a log with `pnyx eval DATASET --log FILE`")
    return replace(log, rows=tuple(rows))


def _reject_constant(constant: str) -> object:
    raise ValueError(f"{constant} is not a number")


_HEAD, _ROW = TypeAdapter(Log), TypeAdapter(Row)
