"""The action of `pnyx demo`: a vote of samples of one embedded model, and a recorded vote of hosted models.

What is measured about the question stands beside it in `demo/question.toml`; `benchmarks/demo.py` writes it.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ....config.database_url import parse_database_url
from ....config.schema import Settings
from ....core.answers.replies.extract import final_answer
from ....core.answers.same.equivalence import same_answer
from ....core.answers.same.grouping import find_group, group_answers
from ....core.events import CallFinished, CallStarted, Event, Token
from ....core.voting.tally import plurality
from ....errors import MissingExtra, ProviderError
from ....extras import need
from ....providers.registry import Providers
from ....run.options.request import RunRequest
from ....run.options.resolve import resolve
from ....run.result import Result, exit_code
from ...process.open_settings import open_settings
from ...render.terminal import columns, flat
from ...service.run_service import RunService
from ...views.outcome import usage_line
from ...views.transcript import seconds
from ..terminal.output import Output
from ..terminal.plain import answer_lines, paragraph
from .listing import pull_model

__all__ = ["CONTEXT", "DemoQuestion", "ask", "demo", "read_question", "run_request"]

FOLDER = Path(__file__).parents[1] / "demo"
CONTEXT = 2048
"""Tokens of one sample, prompt and reply together: far more than the question needs, and little memory."""
SLOTS = 3
"""Samples written at once. Later ones find the question in the cache of their slot."""
DEGRADED = 5
BAR = "█"
PIPED_S, TERMINAL_S = 5.0, 0.2
"""Seconds between two lines of progress in a file, and between two changes of the line on a terminal."""
REAL_QUESTION = "Should a two-person startup self-host PostgreSQL?"


@dataclass(frozen=True, kw_only=True)
class DemoQuestion:
    """The question, its answer with a way to check it, and how often samples and votes were right.

    model: the embedded model. samples: how many answers are asked for. runs: how many runs were measured.
    """

    question: str
    answer: str
    check: str
    model: str
    samples: int
    measured: Mapping[str, int]

    def is_right(self, answer: str | None) -> bool:
        return answer is not None and same_answer(answer, self.answer, self.question)


def read_question() -> DemoQuestion:
    """The question of the demo, from its data file."""
    return DemoQuestion(**tomllib.loads((FOLDER / "question.toml").read_text()))


def run_request(question: str, model: str, samples: int, seed: int | None = None) -> RunRequest:
    """The request of the demo: every seat of one embedded model answers once, and the answers are counted."""
    return RunRequest(
        question=question,
        protocol="sample",
        models=(f"embedded:{model}*{samples}",),
        options={"samples": samples, "adaptive": False},
        seed=seed,
    )


def demo(output: Output, seed: int | None) -> int:
    """Run the demo and return its exit code: 5 if the embedded model could not be had."""
    demo = read_question()
    code = DEGRADED
    # Before half a gigabyte is downloaded for nothing.
    _settings()
    try:
        need("embedded", "the first part of the demo")
        pull_model(output, demo.model)
    except (MissingExtra, ProviderError) as exc:
        output.error(f"{exc}\nThe first part of the demo is skipped.")
    else:
        code = asyncio.run(ask(output, demo, seed))
    _replay(output)
    _next_steps(output)
    return code


async def ask(
    output: Output, demo: DemoQuestion, seed: int | None, providers: Providers | None = None
) -> int:
    """Ask the question, print the vote and return the exit code. providers: default, the embedded one."""
    _title(output, f"1. One small model, asked {demo.samples} times")
    out = output.out
    out.lines(paragraph(out, f"Question: {demo.question}", "bold"))
    out.lines(paragraph(out, f"The right answer is {demo.answer}: {demo.check}.", "dim"))
    settings = _settings()
    async with RunService.open(settings, providers=providers) as service:
        request = run_request(demo.question, demo.model, demo.samples, seed)
        handle = await service.start(resolve(request, settings))
        counter = _Counter(output, demo)
        async for event in handle.events(tokens=True):
            counter.add(event)
        result = await handle.result()
        database = service.database_name
    if result.detail.get("votes") is None:
        output.error(str(result.detail.get("message") or f"the run ended as {result.status}"))
        return exit_code(result)
    _show_result(output, demo, result, database)
    return exit_code(result)


def _settings() -> Settings:
    """The settings of the user with those of the embedded model. Raises `ConfigError`."""
    embedded = {"kind": "embedded", "slots": SLOTS, "context": CONTEXT}
    return open_settings({"providers": {"embedded": embedded}})


class _Counter:
    """Shows how far the samples are: each as it is complete, and the tokens until then."""

    def __init__(self, output: Output, demo: DemoQuestion) -> None:
        self._output, self._demo = output, demo
        self._began = self._shown = time.monotonic()
        self._tokens = self._complete = self._sent = 0
        self._open_line = False

    def add(self, event: Event) -> None:
        if isinstance(event, CallStarted):
            self._sent += 1
            if self._sent == 1:
                self._output.note("loading the model; the first sample takes a while", "dim")
        elif isinstance(event, Token):
            self._tokens += 1
            self._progress()
        elif isinstance(event, CallFinished):
            self._complete += 1
            self._sample(event)

    def _progress(self) -> None:
        width = self._output.err.width
        now = time.monotonic()
        if self._output.quiet or now - self._shown < (TERMINAL_S if width else PIPED_S):
            return
        self._shown = now
        text = (
            f"{self._complete} of {self._demo.samples} samples complete, {self._tokens} tokens, "
            f"{seconds(now - self._began)}"
        )
        if width:
            self._output.err.write(f"\r{text[: width - 1]:{width - 1}}")
            self._open_line = True
        else:
            self._output.note(text, "dim")

    def _sample(self, event: CallFinished) -> None:
        if self._open_line:
            self._output.err.write(f"\r{'':{(self._output.err.width or 1) - 1}}\r")
            self._open_line = False
        cut = event.finish_reason == "length"
        answer = None if cut else final_answer(event.text, self._demo.question)
        verdict = "right" if self._demo.is_right(answer) else "wrong"
        found = "cut off at its limit of tokens: not counted" if cut else "no answer could be read"
        outcome = found if answer is None else f"{flat(answer)[:60]} ({verdict})"
        self._output.note(f"  sample {self._complete}: {outcome}, {event.output_tokens} tokens")


def _show_result(output: Output, demo: DemoQuestion, result: Result, database: str) -> None:
    out = output.out
    votes = [vote["answer"] for vote in result.detail["votes"]]
    _vote_table(output, votes, demo)
    right = sum(map(demo.is_right, votes))
    panel_right = demo.is_right(result.final_answer)
    out.lines(
        paragraph(
            out,
            f"The panel answers {flat(result.final_answer or 'nothing')}: "
            f"{'right' if panel_right else 'wrong'}. Of its samples, {right} of {len(votes)} are right.",
            "bold",
            "green" if panel_right else "red",
        )
    )
    measured = demo.measured
    out.lines(
        paragraph(
            out,
            f"How often is that so? In {measured['runs']} measured runs, one sample was right in "
            f"{measured['samples_right']} of {measured['runs'] * demo.samples} cases, the vote in "
            f"{measured['panel_right']} of {measured['runs']} (benchmarks/README.md).",
        )
    )
    out.line()
    out.line("A sample with this answer, in full:", "bold")
    out.lines(answer_lines(out, result.answer))
    out.line()
    out.lines(paragraph(out, usage_line(result.to_json()), "dim"))
    out.lines(paragraph(out, f"Saved as run {result.run_id} in {_from_here(database)}. See all of it here:"))
    out.line(f"    {_command('show', result.run_id)}")
    out.line("or in the browser:")
    out.line(f"    {_command('serve')}")


def _vote_table(output: Output, votes: Sequence[str | None], demo: DemoQuestion | None) -> None:
    out = output.out
    counts = plurality(votes).counts
    silent = votes.count(None)
    rows = [
        (flat(answer)[:40], f"{int(n)} of {len(votes)}", BAR * int(n), _mark(answer, demo))
        for answer, n in counts.items()
    ]
    if silent:
        rows.append(("(no answer)", f"{silent} of {len(votes)}", BAR * silent, ""))
    out.line()
    out.line("Vote", "bold")
    out.lines(f"  {line}" for line in columns(rows, right=(1,)))


def _mark(answer: str, demo: DemoQuestion | None) -> str:
    return "right" if demo is not None and demo.is_right(answer) else ""


def _replay(output: Output) -> None:
    recording = json.loads((FOLDER / "recording.json").read_text())
    question, right = recording["question"], recording["answer"]
    _title(output, "2. A recording: five hosted models, one vote")
    out = output.out
    out.lines(
        paragraph(
            out,
            f"RECORDING. {recording['about']} Nothing is sent to a model now: pnyx reads the recorded "
            f"answers and counts them. Source: {recording['source']}.",
            "yellow",
        )
    )
    out.line()
    out.lines(paragraph(out, f"Question: {question}", "bold"))
    answers = []
    for reply in recording["replies"]:
        answer = final_answer(reply["text"], question)
        answers.append(answer)
        out.line()
        out.line(f"{reply['model']} (recorded)", "bold")
        out.lines(answer_lines(out, "\n".join(_prose(reply["text"]))))
        out.line(f"Answer as read: {flat(answer or 'none')}", "cyan")
    groups = group_answers(answers, question)
    votes = [find_group(answer, groups, question) for answer in answers]
    demo = DemoQuestion(question=question, answer=right, check="", model="", samples=len(votes), measured={})
    _vote_table(output, votes, demo)
    leader = plurality(votes).winner
    wrong = sum(not demo.is_right(vote) for vote in votes)
    out.lines(
        paragraph(
            out,
            f"The vote is for {flat(leader or 'none')}; the test set's answer is {right}. "
            f"{wrong} of {len(votes)} models would have been wrong alone.",
            "bold",
        )
    )


def _prose(text: str) -> Iterator[str]:
    """The reasoning of a recorded reply, which is a JSON object, or the reply itself if it is none."""
    bare = text.strip().removeprefix("```json").removesuffix("```")
    try:
        document = json.loads(bare)
    except ValueError:
        yield text
        return
    yield str(document["reasoning"]).strip()


def _next_steps(output: Output) -> None:
    _title(output, "3. With a real model")
    out = output.out
    out.line(f"    OPENAI_API_KEY=... {_command('ask', REAL_QUESTION, database=False)}")
    out.lines(
        paragraph(
            out,
            "A debate of three seats; --budget 1 keeps it under $1. With keys of several makers "
            "(ANTHROPIC_API_KEY, GEMINI_API_KEY, MISTRAL_API_KEY), each has a seat.",
        )
    )


def _title(output: Output, text: str) -> None:
    output.out.line()
    output.out.line(text, "bold", "cyan")


def _command(*arguments: str, database: bool = True) -> str:
    """The command line that a person types here for `pnyx` with these arguments."""
    program = Path(sys.argv[0])
    on_path = shutil.which("pnyx")
    if program.stem != "pnyx":
        start = f"{shlex.quote(sys.executable)} -P -m pnyx"
    elif on_path and Path(on_path).samefile(program):
        start = "pnyx"
    else:
        start = shlex.quote(os.path.relpath(program))
    url = os.environ.get("PNYX_DATABASE") if database else None
    words = [*([f"PNYX_DATABASE={shlex.quote(_from_here(url))}"] if url else []), start]
    return " ".join([*words, *map(shlex.quote, arguments)])


def _from_here(database: str) -> str:
    """The location of a database as it is typed here: a terminal wraps a long one, which is hard to copy."""
    where = parse_database_url(database)
    if isinstance(where, Path) and where.is_relative_to(Path.cwd()):
        return str(where.relative_to(Path.cwd()))
    return database
