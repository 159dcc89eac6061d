"""The action of `pnyx chat`: each line of input is a question or a command."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click

from .... import protocols
from ....config.paths import data_dir, expand_path
from ....config.schema import Settings
from ....core.context.files import File, file_rows, unique_names
from ....core.models import money
from ....errors import Interrupted, NotFound, PnyxError, UsageError
from ....run.handle import RunHandle
from ....run.options.request import RunRequest
from ....run.options.resolve import resolve
from ....run.run_rows import new_id
from ....run.spec import Spec
from ....similar import nearest
from ...access.keys import LOCAL
from ...process.open_settings import open_settings
from ...process.stop_signals import stop_signals
from ...records.existing_database import existing_database
from ...render.conversation import as_markdown, cost, earlier_turns, next_turn
from ...render.terminal import clip, columns
from ...requests.option_names import with_flags
from ...service.run_service import RunService
from ...views.files import summary_words
from ...views.outcome import panel_line
from ...views.records import Record
from ...views.transcript import quantity
from ..files import FileFlags, note_files, read_all
from ..options import AMOUNT, to_request
from ..records import note_new_database
from ..terminal.follow import follow_run, note_embedded
from ..terminal.line_input import Lines
from ..terminal.output import Output
from ..terminal.plain import paragraph
from ..terminal.table import clip_end
from .runs import show

__all__ = ["chat"]

RECALLED = 10
"""Turns that are listed when a conversation is continued, and other conversations in a list."""
QUESTION = 70
"""Cells of a question in a list."""
RECENT = 200
"""Runs among which other conversations are looked for."""


def chat(output: Output, *, resume: str | None, **flags: Any) -> int:
    """Hold a conversation until the input ends, and return the exit code. flags: options of `RunRequest`."""
    settings, choices = open_settings(), to_request("?", **flags)
    try:
        with contextlib.nullcontext(settings) if resume is None else existing_database(settings) as chosen:
            return asyncio.run(_chat(chosen, output, choices, resume))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def _chat(settings: Settings, output: Output, choices: RunRequest, resume: str | None) -> int:
    spec = resolve(choices, settings)
    note_new_database(settings, output)
    async with RunService.open(settings, create=resume is None) as service:
        turns: list[Record] = []
        if resume is not None:
            turns = await service.turns(resume, LOCAL)
        name = str(turns[0].row.conversation) if turns else new_id()
        lines = Lines(output, data_dir() / "history")
        return await Session(settings, output, service, lines, choices, spec, name, turns).serve()


@dataclass
class Session:
    """One conversation at one terminal. choices: the options of the next question. name: its id.

    files: that later questions are about.
    """

    settings: Settings
    output: Output
    service: RunService
    lines: Lines
    choices: RunRequest
    spec: Spec
    name: str
    turns: list[Record]
    files: tuple[File, ...] = ()
    code: int = 0
    leaving: bool = field(default=False, init=False)

    async def serve(self) -> int:
        """Handle lines until `/exit`, the end of the input or a signal; return the exit code."""
        with self._signal_handlers():
            self._greet()
            while not (self.leaving or self.output.out.broken):
                try:
                    line = await self.lines.next(f"{self.spec.protocol} {len(self.turns) + 1}> ")
                    if line is None:
                        self.leaving = True
                        self.output.err.write("\n" if self.lines.person else "")
                    elif text := line.strip():
                        await self._handle(text)
                except PnyxError as exc:
                    self.output.error(with_flags(str(exc)))
            self._print_summary()
        return self.code

    async def _handle(self, text: str) -> None:
        if text.lower() in ("exit", "quit", ":q"):  # nobody pays a panel for this question
            return await self.exit("")
        if not text.startswith("/"):
            return await self._ask(text)
        if text.startswith("//"):
            return await self._ask(text[1:])
        name, _, rest = text[1:].partition(" ")
        name = ALIASES.get(name, name)
        command, argument = COMMANDS.get(name), rest.strip()
        if command is None:
            known = nearest(name, COMMANDS).replace("did you mean ", "did you mean /")
            known = known or f"; the commands are {', '.join(f'/{name}' for name in COMMANDS)}."
            raise UsageError(f"unknown command /{clip(name, 40)}{known} To start a question with /, type //")
        if argument and not command.argument:
            raise UsageError(f"/{name} takes no argument")
        try:
            await command.run(self, argument)
        except click.UsageError as exc:
            raise UsageError(f"/{name} {command.argument}: {exc.message}") from None

    async def _ask(self, question: str) -> None:
        await self._refresh()
        earlier = earlier_turns(self.turns, self.spec.seats)
        request = replace(self.choices, question=question, context=earlier, files=self.files)
        spec = resolve(request, self.settings, conversation=self.name)
        if self.turns:
            spec = next_turn(spec, await self.service.find(self.turns[-1].row.id, LOCAL))
        note_files(self.output, spec)

        async def start(service: RunService) -> RunHandle:
            return await service.start(spec)

        # In a task, so that two signals before the run has started cancel the turn, not the session.
        turn = asyncio.create_task(
            follow_run(self.service, start, self.output, on_signal=self._handle_signal)
        )
        try:
            await asyncio.wait([turn])
        finally:
            turn.cancel()
        if turn.cancelled():
            raise UsageError("stopped before the run started")
        try:
            turn.result()
        finally:
            await self._refresh()

    async def _refresh(self) -> None:
        """Read the turns again: a paused one may have been resumed elsewhere."""
        with contextlib.suppress(NotFound):  # there is no turn yet
            self.turns = await self.service.turns(self.name, LOCAL)

    def _greet(self) -> None:
        panel = panel_line(seat.model for seat in self.spec.seats)
        self.output.note(f"{panel} · /help lists commands", "dim")
        note_embedded(self.output, self.settings, self.spec.seats)
        if self.turns:
            self.output.note(f"conversation {self.name} · {self._sum()}", "bold")
        for line in self._turn_lines()[-RECALLED:]:
            self.output.note(f"  {line}")

    def _turn_lines(self) -> list[str]:
        """The turns as a table."""
        return [
            *columns(
                (str(n), turn.result.status, clip(turn.result.question, QUESTION))
                for n, turn in enumerate(self.turns, 1)
            )
        ]

    def _print_summary(self) -> None:
        if self.turns:
            summary = f"conversation {self.name} · {self._sum()} · pnyx chat --resume {self.name}"
            self.output.note(summary, "dim")

    def _sum(self) -> str:
        return f"{quantity(len(self.turns), 'turn')}, {money(cost(self.turns))}"

    @contextlib.contextmanager
    def _signal_handlers(self) -> Iterator[None]:
        loop, numbers = asyncio.get_running_loop(), stop_signals()
        for number in numbers:
            loop.add_signal_handler(number, self._handle_signal, number)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)

    def _handle_signal(self, number: int) -> None:
        """End the session, except on Ctrl-C at a terminal, which stops only the current debate."""
        if number == signal.SIGINT and self.lines.person:
            self.lines.interrupted()
            return
        self.leaving, self.code = True, Interrupted.exit_code
        self.lines.stop()

    def _choose(self, choices: RunRequest) -> None:
        """Use these options for later questions. Raises `UsageError`, `ConfigError` and `NotFound`."""
        self.spec = resolve(choices, self.settings)
        self.choices = choices
        parts = [self.spec.protocol]
        if choices.preset is not None:
            parts.append(choices.preset)
        if "rounds" in choices.protocol_options:
            parts.append(quantity(self.spec.options["rounds"], "round"))
        if self.spec.budget_usd is not None:
            parts.append(f"at most {money(self.spec.budget_usd)} per question")
        self.output.note(f"next questions: {', '.join(parts)}")

    async def protocol(self, name: str) -> None:
        if name:
            return self._choose(replace(self.choices, protocol=name, rounds=None, options={}, preset=None))
        known = protocols.loaded()
        rows = [("*" if p.name == self.spec.protocol else "", p.name, p.summary) for p in known]
        err = self.output.err
        err.lines(clip_end(line, err.width) for line in columns(rows))

    async def panel(self, name: str) -> None:
        if name:
            return self._choose(RunRequest(question="?", panel=name))
        saved = self.settings.panels.items()
        rows = [(name, ", ".join(one.seats), one.protocol or "") for name, one in saved]
        if not rows:
            raise UsageError("no panel is saved: add [panels.NAME] to your settings, or run `pnyx init`")
        err = self.output.err
        err.lines(clip_end(line, err.width) for line in columns(rows))

    async def rounds(self, number: str) -> None:
        self._choose(replace(self.choices, rounds=None, options={"rounds": number}))

    async def quick(self, _: str) -> None:
        self._choose(replace(self.choices, preset="quick", rounds=None, options={}))

    async def deep(self, _: str) -> None:
        self._choose(replace(self.choices, preset="deep", rounds=None, options={}))

    async def budget(self, amount: str) -> None:
        if amount:
            return self._choose(replace(self.choices, budget_usd=AMOUNT(amount)))
        await self._refresh()
        cap = self.spec.budget_usd
        limit = "no budget per question" if cap is None else f"at most {money(cap)} per question"
        self.output.err.line(f"{self._sum()}; {limit}")

    async def file(self, path: str) -> None:
        await self._add(FileFlags((_expand(path),)) if path else None, "/file PATH")

    async def dir(self, argument: str) -> None:
        path, *globs = argument.split() or [""]
        await self._add(FileFlags((), (_expand(path),), globs) if path else None, "/dir PATH")

    async def diff(self, revision: str) -> None:
        await self._add(FileFlags(diff=revision), "/diff")

    async def url(self, address: str) -> None:
        await self._add(FileFlags(urls=(address,)) if address else None, "/url URL")

    async def _add(self, flags: FileFlags | None, form: str) -> None:
        if flags is None:
            raise UsageError(f"say which one: {form}")
        read = await read_all(self.settings, flags)
        for note in read.notes:
            self.output.note(f"note: {note}", "yellow")
        self.files = unique_names((*self.files, *read.files))
        await self.list_files("")

    async def list_files(self, argument: str) -> None:
        if argument not in ("", "clear"):
            raise UsageError("/files lists the files of the next questions; /files clear takes them away")
        self.files = () if argument else self.files
        words = summary_words(file_rows(self.files)) if self.files else "no files"
        self.output.err.lines(paragraph(self.output.err, words))

    async def show(self, number: str) -> None:
        if not self.turns:
            raise UsageError("there is no turn yet")
        ids = {str(n): turn.row.id for n, turn in enumerate(self.turns, 1)}
        run_id = ids.get(number or str(len(ids)))
        if run_id is None:
            raise UsageError(f"/show [N]: N is the number of a turn, 1 to {len(ids)}")
        # On a thread, because `show` runs its own event loop.
        await asyncio.to_thread(show, run_id, verbose=self.output.verbose, plain=self.output.plain)

    async def list_turns(self, _: str) -> None:
        await self._refresh()
        turns = self._turn_lines()
        names = dict[str, str]()
        for record in await self.service.list_runs(limit=RECENT, owner=LOCAL):
            if (name := record.row.conversation) and name != self.name:
                names[name] = record.result.question
        others = [
            (f"pnyx chat --resume {name}", clip(question, QUESTION))
            for name, question in list(names.items())[:RECALLED]
        ]
        if not turns and not others:
            raise UsageError("there is no turn yet, and no other conversation")
        err = self.output.err
        err.lines(clip_end(line, err.width) for line in turns)
        err.lines(columns(others, width=err.width))

    async def save(self, argument: str) -> None:
        name = argument.removesuffix("!").strip()
        if not name:
            raise UsageError("/save requires a file name: /save FILE, or /save FILE! to overwrite a file")
        await self._refresh()
        if not self.turns:
            raise UsageError("there is no turn yet")
        text = as_markdown(self.name, self.turns, self.service.redact)
        try:
            _write(name, text, overwrite=name != argument)
        except FileExistsError as exc:
            raise UsageError(f"{name} already exists; overwrite it with: /save {name}!") from exc
        except OSError as exc:
            raise UsageError(f"cannot write {name}: {exc.strerror or exc}") from exc
        self.output.note(f"saved to {name}")

    async def help(self, _: str) -> None:
        rows = [(f"/{name} {command.argument}", command.help) for name, command in COMMANDS.items()]
        rows.append(("//…", "ask a question that starts with /"))
        self.output.err.lines(columns(rows, width=self.output.err.width))

    async def exit(self, _: str) -> None:
        self.leaving = True


@dataclass(frozen=True, slots=True)
class Command:
    """argument: its argument as shown in help; empty if it has none."""

    argument: str
    help: str
    run: Callable[[Session, str], Awaitable[None]]


COMMANDS = {
    "protocol": Command(
        "[NAME]", "use protocol NAME with its default options; or list the protocols", Session.protocol
    ),
    "panel": Command("[NAME]", "use the saved panel NAME; or list the saved panels", Session.panel),
    "rounds": Command("N", "use at most N rounds per question", Session.rounds),
    "quick": Command("", "use the protocol's options for a fast answer", Session.quick),
    "deep": Command("", "use the protocol's options for a thorough answer", Session.deep),
    "budget": Command(
        "[USD]", "pause a question before it costs more; or show the cost so far", Session.budget
    ),
    "file": Command("PATH", "give a file to the next questions", Session.file),
    "dir": Command("PATH [PATTERN…]", "give the files of a folder to the next questions", Session.dir),
    "diff": Command("[REV]", "give the uncommitted changes, or those since REV", Session.diff),
    "url": Command("URL", "give a page of the web to the next questions", Session.url),
    "files": Command("[clear]", "list the files of the next questions; or drop them", Session.list_files),
    "show": Command("[N]", "print the full transcript of turn N, or of the last turn", Session.show),
    "list": Command("", "list the turns, and other conversations to resume", Session.list_turns),
    "save": Command("FILE[!]", "save the conversation as Markdown; ! overwrites a file", Session.save),
    "help": Command("", "list these commands", Session.help),
    "exit": Command("", "end the conversation, like Ctrl-D", Session.exit),
}

ALIASES = {"?": "help", "cost": "budget", "history": "list", "q": "exit", "quit": "exit"}
"""Names that commands have in other programs -> their names here."""


def _expand(path: str) -> Path:
    try:
        return expand_path(path)
    except ValueError as exc:
        raise UsageError(f"{clip(path, 80)} {exc}") from None


def _write(name: str, text: str, *, overwrite: bool) -> None:
    """Write a file completely or not at all. Raises `FileExistsError` unless `overwrite`."""
    path = _expand(name)
    if not overwrite and os.path.lexists(path):
        raise FileExistsError(path)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.write_text(text, encoding="utf-8")
        os.replace(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)
