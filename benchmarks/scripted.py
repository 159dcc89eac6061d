"""What benchmarks of speed share: settings, replies, and a host that reads the CPU clock of its client."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from pnyx.config.schema import Settings
from tests.support.scripted import Request, ScriptedHost

__all__ = ["MODELS", "Span", "WatchedHost", "cpu_of", "settings", "spans", "words"]

MODELS = ("alpha", "beta", "gamma")
WORDS = "The claim holds for {n} of the cases, and the evidence of case {m} is what decides the matter here. "


def settings(url: str, database: str, concurrency: int = 512) -> Settings:
    """Three models of one host, which speaks OpenAI's API, with prices."""
    lab = {"kind": "openai", "base_url": url, "concurrency": concurrency}
    return Settings.model_validate(
        {
            "providers": {"lab": lab},
            "models": {f"lab:{n}": {"input_price": 1.0, "output_price": 4.0} for n in MODELS},
            "panel": {"seats": tuple(f"lab:{n}" for n in MODELS)},
            "storage": {"url": database},
        }
    )


def words(seed: bytes) -> str:
    """About 200 words that differ from seed to seed, so that no challenge is a repetition."""
    n = crc32(seed)
    return "".join(WORDS.format(n=f"{n}x{i}", m=f"{n * i}y") for i in range(10))


def _reply(request: Request) -> str | None:
    """The text of a reply; None: the host's own, or an instance of the schema that was sent."""
    if "response_format" in request.body or "messages" not in request.body:
        return None
    if request.model == "judge":  # of a peer that asks again if it cannot read this
        return json.dumps(
            {"executive_summary": words(b""), "consensus": [], "divergences": [], "insights": []}
        )
    return words(f"{request.model}{request.text}".encode()) + f"\nFinal answer: the {request.model} way"


def cpu_of(pid: int) -> float:
    """CPU seconds of all threads of a process that is under way."""
    # The clock id of a process, as clock_getcpuclockid(3) returns it on Linux.
    return time.clock_gettime((~pid << 3) | 2)


@dataclass(slots=True)
class Served:
    """One request: when it arrived and was answered, in seconds, and its client's CPU seconds at both."""

    arrived: float
    cpu_arrived: float
    answered: float = 0.0
    cpu_answered: float = 0.0


class WatchedHost(ScriptedHost):
    """Notes the clock and the CPU of the process `pid` at each request and each reply. Linux only."""

    def __init__(self, *, latency: float = 0.0) -> None:
        super().__init__(latency=latency)
        self.pid = 0
        self.served: list[Served] = []
        self._open: dict[int, Served] = {}
        self.on("*", text=_reply)

    def watch(self, pid: int) -> None:
        self.pid, self.served = pid, []

    def admit(self, path: str, raw: bytes, headers: dict[str, str]) -> Any:
        served = Served(time.perf_counter(), cpu_of(self.pid))
        admitted = super().admit(path, raw, headers)
        if admitted is not None:
            self.served.append(served)
            self._open[id(admitted[1])] = served
        return admitted

    def replied(self, request: Request) -> None:
        served = self._open.pop(id(request))
        served.answered, served.cpu_answered = time.perf_counter(), cpu_of(self.pid)


@dataclass(frozen=True, slots=True)
class Span:
    """A debate as its host saw it, in seconds.

    span: from the first request to the last reply. critical: the longest request of each group of requests
    that were open together, summed; a host that answers late does not count. cpu: of the client between the
    replies of a group and the requests of the next. whole_cpu: of the client until its next debate began.
    """

    span: float
    critical: float
    cpu: float
    whole_cpu: float | None

    @property
    def ratio(self) -> float:
        return self.span / self.critical

    @property
    def cpu_ratio(self) -> float:
        """The ratio if the client waited for nothing but its own CPU and replies: that of an idle machine."""
        return 1 + self.cpu / self.critical


def spans(served: Sequence[Served], calls: int) -> list[Span]:
    """The debates of a client that holds one after another, each of `calls` calls."""
    debates = [served[i : i + calls] for i in range(0, len(served), calls)]
    return [
        _span(debate, None if following is None else following[0])
        for debate, following in zip(debates, [*debates[1:], None], strict=True)
    ]


def _span(debate: Sequence[Served], following: Served | None) -> Span:
    groups: list[list[Served]] = []
    end = 0.0
    for one in debate:
        if one.arrived >= end:
            groups.append([])
        groups[-1].append(one)
        end = max(end, one.answered)
    critical = sum(max(one.answered - one.arrived for one in group) for group in groups)
    first, cpu, before = debate[0], 0.0, debate[0].cpu_arrived
    for group in groups:
        cpu += group[-1].cpu_arrived - before
        before = max(one.cpu_answered for one in group)
    whole = None if following is None else following.cpu_arrived - first.cpu_arrived
    return Span(end - first.arrived, critical, cpu, whole)
