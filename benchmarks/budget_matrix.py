"""Every protocol under caps of twice, 1.2 times and half of what it costs, on panels and hosts of many kinds.

    .venv/bin/python -m benchmarks.budget_matrix [--protocol NAME] [--case NAME]

Each cell runs once without a cap, and once under each cap; a run that pauses is resumed with the budget that
its message names. Cells that are not as docs/budgets.md says are printed, then a table with a row a case.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import tempfile
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha512
from itertools import count, product
from pathlib import Path
from typing import Any
from zlib import crc32

import pnyx
from pnyx.config.schema import Settings
from pnyx.core.context.files import File
from pnyx.core.models import NUSD, Price, Seat, Usage
from pnyx.core.tool_calls import ToolCall, ToolSpec
from pnyx.protocols import get
from pnyx.providers.base import Call, Completion, Provider
from pnyx.providers.hosted.provider import open_hosted
from pnyx.providers.registry import Providers
from pnyx.run.calls.limits import Limits
from pnyx.run.result import Result
from pnyx.run.runner import Runner
from pnyx.run.spec import Spec
from pnyx.run.spending.expectation import expect
from pnyx.tools import Toolbox
from tests.support.counting import CountingHost
from tests.support.sized import BYTES_IN, BYTES_OUT, SEATS, SizedHost, sized_text

NUMBERS = count()
PROTOCOLS = (
    *("aggregate", "auto", "consensus", "council", "decompose", "deliberate"),
    *("escalate", "moa", "sample", "single", "voting"),
)
CAPS = (2.0, 1.2, 0.5)
MOST_RESUMES = 6
QUESTION = "Our team of six keeps four services in one repository. Should we split them into several?"
PROSE = sized_text(round(100_000 / BYTES_OUT), "notes")
SOURCES = sorted(Path(pnyx.__file__).parent.glob("run/**/*.py"))
CHINESE = 1_400 * "工作组建议将四个服务保留在同一个代码仓库中 "
HINDI = 180 * (
    "कार्य समूह की सिफारिश है कि चारों सेवाएँ एक ही भंडार में रहें, क्योंकि दल छोटा है और साझा परिवर्तन हर सप्ताह होते हैं। "
)
ARABIC = 200 * (
    "توصي مجموعة العمل بإبقاء الخدمات الأربع في مستودع واحد "
    "لأن الفريق صغير والتغييرات المشتركة تحدث كل أسبوع. "
)
RUSSIAN = 700 * "Рабочая группа рекомендует оставить четыре сервиса в одном репозитории. "
HASHES = "".join(f'"sha512-{b64encode(sha512(b"%d" % n).digest()).decode()}",\n' for n in range(1_000))
CODE = "".join(source.read_text("utf-8") for source in SOURCES)[:100_000]


@dataclass(frozen=True)
class Case:
    """A panel and its host. ratio: tokens of thinking for one of the text. tool: tokens of a tool's result.

    caching: whether prompts are read from a cache, and written to it. bytes_in: bytes of a prompt that are a
    token. silent: whether the host reports no usage. counts: whether it counts a prompt that is not sent yet.
    dialect: in which it speaks over a socket, and what it is; "": it is an object. fields: of the spec.
    """

    seats: tuple[Seat, ...] = SEATS
    factor: float = 1.0
    ratio: float = 0.0
    tool: int = 0
    caching: bool = False
    bytes_in: float = BYTES_IN
    silent: bool = False
    counts: bool = False
    dialect: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)


def priced(*prices: Price) -> tuple[Seat, ...]:
    return tuple(replace(seat, price=price) for seat, price in zip(SEATS, prices, strict=True))


def with_file(text: str) -> dict[str, Any]:
    return {"files": (File.of_text("notes.md", text.encode(), text),)}


KNOWN = tuple(
    replace(seat, model=f"h:{name}")
    for seat, name in zip(SEATS, ("gpt-5", "gemini-2.5-pro", "deepseek-chat"), strict=True)
)
"""Models whose encoding is known by their names."""
UNKNOWN = {"Arabic": Case(bytes_in=6.0, fields=with_file(ARABIC))}
UNKNOWN |= {"Hindi": Case(bytes_in=7.5, fields=with_file(HINDI))}
UNKNOWN |= {"Russian": Case(bytes_in=7.0, fields=with_file(RUSSIAN))}
"""Texts for models whose names do not tell their encoding."""
DIALECTS = ("anthropic", "google", "openai vllm", "openai llama.cpp")
CACHED = priced(Price(3, 15, 0.3), Price(2, 10, 0.2), Price(0.25, 2, 0.025))
CASES = {
    "plain": Case(),
    "short answers": Case(factor=0.05),
    "long answers": Case(factor=4.0),
    "thinks 2 times the text": Case(ratio=2.0),
    "thinks 5 times the text": Case(ratio=5.0),
    "thinks, with a limit": Case(ratio=5.0, fields={"thinking_tokens": 4000}),
    "a tool's 2,000 tokens": Case(tool=2000, fields={"tools": ("web_search",)}),
    "a tool's 20,000 tokens": Case(tool=20_000, fields={"tools": ("web_search",)}),
    "100 kB of prose": Case(fields=with_file(PROSE)),
    "100 kB of code": Case(fields=with_file(CODE)),
    "100 kB of hashes": Case(bytes_in=1.55, fields=with_file(HASHES)),
    "100 kB of Russian": Case(KNOWN, bytes_in=7.0, fields=with_file(RUSSIAN)),
    "100 kB of Chinese": Case(KNOWN, bytes_in=3.6, fields=with_file(CHINESE)),
    "22,000 characters of Hindi": Case(KNOWN, bytes_in=7.5, fields=with_file(HINDI)),
    "22,000 characters of Arabic": Case(KNOWN, bytes_in=6.0, fields=with_file(ARABIC)),
    "no usage is reported": Case(silent=True),
    "a prompt cache": Case(CACHED, caching=True),
    "a prompt cache, 100 kB": Case(CACHED, caching=True, fields=with_file(PROSE)),
    "dear and cheap models": Case(priced(Price(30, 150), Price(0.1, 0.4), Price(0.05, 0.2))),
    **{f"{name}, unknown encoding": case for name, case in UNKNOWN.items()},
    **{f"{name}, a host that counts": replace(case, counts=True) for name, case in UNKNOWN.items()},
    **{
        f"{name}, {dialect}{', counts' * counts}": replace(UNKNOWN[name], dialect=dialect, counts=counts)
        for name, dialect in product(("Arabic", "Hindi"), DIALECTS)
        for counts in (False, True)
    },
}


class CaseHost(SizedHost):
    """The host of a case."""

    def __init__(self, case: Case) -> None:
        super().__init__(case.factor)
        self.case = case
        self.seen: dict[str, list[str]] = {}

    async def count_tokens(self, call: Call) -> int | None:
        return self.tokens(call) if self.case.counts else None

    def tokens(self, call: Call) -> int:
        size = len("\n".join(message.text for message in call.messages).encode())
        size += len(call.schema.json) if call.schema else 0
        return round(size / self.case.bytes_in) + 8

    async def complete(self, call: Call, on_text: Any = None) -> Completion:
        calls_tool = bool(self.case.tool and call.tools and call.messages[-1].role != "tool")
        text = "" if calls_tool else self.reply(call)
        visible = round(len(text.encode()) / BYTES_OUT) + 20
        spread = 0.7 + 0.6 * (crc32(f"{call.model}{call.prompt}".encode()) % 997) / 997
        thoughts = 0 if call.effort == "none" else round(self.case.ratio * visible * spread)
        thoughts = min(thoughts, call.max_tokens, call.thinking_tokens or call.max_tokens)
        cut = visible + thoughts > call.max_tokens
        if cut:
            visible = call.max_tokens - thoughts
            text, calls_tool = text[: int(visible * BYTES_OUT)], False
        usage = None if self.case.silent else self.usage(call, visible + thoughts, thoughts)
        tool_calls = (ToolCall("1", call.tools[0].name, {"query": "x" * 40}),) if calls_tool else ()
        reason: Any = "length" if cut else "tool" if calls_tool else "stop"
        return Completion(text, usage, reason, tool_calls=tool_calls)

    def usage(self, call: Call, output: int, thoughts: int) -> Usage:
        whole = "\n".join(message.text for message in call.messages)
        tokens, earlier = self.tokens(call), self.seen.setdefault(call.model, [])
        shared = max((_shared(whole, other) for other in earlier), default=0) if self.case.caching else 0
        earlier.append(whole)
        cached = round(shared / self.case.bytes_in) if shared > 4000 else 0
        return Usage(tokens, cached, output, thoughts, tokens - cached if self.case.caching else 0)


def _shared(one: str, other: str) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


class Look:
    """A tool with a long result."""

    spec = ToolSpec(
        "web_search", "Searches.", {"type": "object", "properties": {"query": {"type": "string"}}}
    )

    def __init__(self, tokens: int) -> None:
        self.text = sized_text(tokens, "found")

    async def run(self, arguments: Any) -> str:
        return self.text


def spec(protocol: str, case: Case, cap: float | None) -> Spec:
    options, limits = get(protocol).resolve_options({}), Limits(60.0, 4096, 0)
    fields: dict[str, Any] = {"seed": 1, "salt": "1", "today": "2026-11-25", "budget_usd": cap, **case.fields}
    return Spec(
        question=QUESTION, protocol=protocol, seats=case.seats, limits=limits, options=options, **fields
    )


@asynccontextmanager
async def served(case: Case) -> AsyncIterator[Provider]:
    """The host of a case as a provider."""
    if not case.dialect:
        yield CaseHost(case)
        return
    dialect, _, server = case.dialect.partition(" ")
    async with CountingHost(server, case.bytes_in) as host:
        if not case.counts:
            host.answers = lambda path, document: (404, b"{}")
        provider = open_hosted(dialect, base_url=getattr(host, dialect))
        yield provider
        await provider.close()


async def run(folder: Path, protocol: str, case: Case, cap: float | None) -> list[Result]:
    """The result under a cap and, as long as the run pauses, those of resumes with the budgets it names."""
    lab = {"kind": "openai", "base_url": "http://127.0.0.1:9/v1", "concurrency": 512}
    database = str(folder / f"{next(NUMBERS)}.db")
    settings = Settings.model_validate({"providers": {"h": lab}, "storage": {"url": database}})
    async with (
        served(case) as host,
        Runner.open(settings, Providers(settings, extra={"h": host})) as runner,
    ):
        if case.tool:
            runner.resources.toolbox = Toolbox({"web_search": Look(case.tool)})
        handle = await runner.start(spec(protocol, case, cap))
        found = [await handle.result()]
        while found[-1].status == "paused" and len(found) <= MOST_RESUMES:
            budget = float(re.findall(r"--budget ([\d.]+)", found[-1].detail["message"])[-1])
            found.append(await (await runner.resume(handle.run_id, budget_usd=budget)).result())
    return found


async def cell(folder: Path, protocol: str, case: Case) -> tuple[list[str], dict[str, int]]:
    """What is not as it should be, and what is counted of the cell."""
    (free,) = await run(folder, protocol, case, None)
    cost = float(free.usage["cost_usd"])
    expected, wrong = expect(spec(protocol, case, None)), list[str]()
    share = expected.cost / NUSD / cost if expected else 0.0
    counted = {"cells": 1, "expected within a factor of 2": int(0.5 <= share <= 2.0)}
    for times in CAPS:
        first, *resumed = await run(folder, protocol, case, times * cost)
        counted[f"resumes after {times:g}"] = len(resumed)
        counted[f"finished under {times:g} times"] = int(first.status not in ("paused", "failed"))
        if first.usage["cost_usd"] > times * cost * (1 + 1e-9):
            wrong.append(f"above the cap of {times:g} times")
        if times == CAPS[0] and resumed:
            wrong.append(f"paused under {times:g} times: {first.detail.get('message')}")
        last = resumed[-1] if resumed else first
        if (last.status, last.answer) != (free.status, free.answer):
            wrong.append(f"another end after {times:g} times: {last.status}, {last.stop_reason}")
        twice = last.usage["cost_usd"] / cost - 1
        counted[f"% paid again after {times:g}"] = round(100 * twice)
    return wrong, counted


async def measure(folder: Path, protocols: list[str], cases: list[str]) -> None:
    sums: dict[str, dict[str, int]] = {}
    for name in cases:
        total = sums.setdefault(name, {})
        for protocol in protocols:
            wrong, counted = await cell(folder, protocol, CASES[name])
            for key, value in counted.items():
                total[key] = total.get(key, 0) + value
            for problem in wrong:
                print(f"{protocol}, {name}: {problem}", flush=True)
    print(f"{'':27}", "  ".join(next(iter(sums.values()))))
    for name, total in sums.items():
        shown = [value // total["cells"] if key[0] == "%" else value for key, value in total.items()]
        print(f"{name:27}", "  ".join(f"{n:>{len(key)}}" for key, n in zip(total, shown, strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--protocol", action="append", choices=PROTOCOLS)
    parser.add_argument("--case", action="append", choices=list(CASES))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder), args.protocol or list(PROTOCOLS), args.case or list(CASES)))


if __name__ == "__main__":
    main()
