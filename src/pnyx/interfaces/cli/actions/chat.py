"""What `pnyx chat` does: one open runner, and a question or a command a line."""

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
from ....config.paths import data_dir
from ....config.schema import Settings
from ....core.models import money
from ....errors import Interrupted, NotFound, PnyxError, UsageError
from ....run.handle import RunHandle
from ....run.request import RunRequest
from ....run.resolve import resolve
from ....run.run_rows import new_id
from ....run.spec import Spec
from ...keys import LOCAL
from ...open_settings import open_settings
from ...render.conversation import as_page, cost, earlier
from ...render.terminal import clip, columns
from ...service import RunService
from ...views.records import Record
from ...views.transcript import quantity
from ..options import AMOUNT, to_request
from ..terminal.follow import SIGNALS, attend, note_embedded
from ..terminal.line_input import Lines
from ..terminal.output import Output
from .runs import clip_end, show

__all__ = ["chat"]

RECALLED = 10
"""Turns that are listed when a conversation is gone on with."""


def chat(output: Output, *, resume: str | None, **flags: Any) -> int:
    """Serve lines until there are no more; the exit code. flags: options of `RunRequest`."""
    try:
        return asyncio.run(_chat(open_settings(), output, to_request("?", **flags), resume))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def _chat(settings: Settings, output: Output, choices: RunRequest, resume: str | None) -> int:
    spec = resolve(choices, settings)
    async with RunService.open(settings) as service:
        turns: list[Record] = []
        if resume is not None:
            turns = await service.turns(resume, LOCAL)
        name = str(turns[0].row.conversation) if turns else new_id()
        lines = Lines(output, data_dir() / "history")
        return await Session(settings, output, service, lines, choices, spec, name, turns).serve()


@dataclass
class Session:
    """One conversation at one terminal. choices: how the next question is asked. name: its id."""

    settings: Settings
    output: Output
    service: RunService
    lines: Lines
    choices: RunRequest
    spec: Spec
    name: str
    turns: list[Record]
    code: int = 0
    leaving: bool = field(default=False, init=False)

    async def serve(self) -> int:
        """Take lines until one leaves, there are no more, or a signal ends it; the exit code."""
        with self._hearing():
            self._open()
            while not (self.leaving or self.output.out.broken):
                try:
                    line = await self.lines.next(f"{self.spec.protocol} {len(self.turns) + 1}> ")
                    if line is None:
                        self.leaving = True
                        self.output.err.write("\n" if self.lines.person else "")
                    elif text := line.strip():
                        await self._take(text)
                except PnyxError as exc:
                    self.output.error(str(exc))
            self._close()
        return self.code

    async def _take(self, text: str) -> None:
        if not text.startswith("/"):
            return await self._ask(text)
        if text.startswith("//"):
            return await self._ask(text[1:])
        name, _, rest = text[1:].partition(" ")
        command, given = COMMANDS.get(name), rest.strip()
        if command is None:
            known = ", ".join(f"/{name}" for name in COMMANDS)
            raise UsageError(f"no command /{clip(name, 40)}; there are {known}; // begins a question with /")
        if given and not command.takes:
            raise UsageError(f"/{name} takes nothing after it")
        try:
            await command.run(self, given)
        except click.UsageError as exc:
            raise UsageError(f"/{name} {command.takes}: {exc.message}") from None

    async def _ask(self, question: str) -> None:
        await self._refresh()
        told = earlier(self.turns, self.spec.seats)
        request = replace(self.choices, question=question, context=told)
        spec = resolve(request, self.settings, conversation=self.name)

        async def begin(service: RunService) -> RunHandle:
            return await service.start(spec)

        # A task of its own: two signals before there is a run to end cancel the turn, not the session.
        turn = asyncio.create_task(attend(self.service, begin, self.output, heard=self._heard))
        try:
            await asyncio.wait([turn])
        finally:
            turn.cancel()
        if turn.cancelled():
            raise UsageError("stopped before it had begun")
        try:
            turn.result()
        finally:
            await self._refresh()

    async def _refresh(self) -> None:
        """Read the turns anew: one that was paused may have been gone on with elsewhere."""
        with contextlib.suppress(NotFound):  # nothing was asked yet
            self.turns = await self.service.turns(self.name, LOCAL)

    def _open(self) -> None:
        models = ", ".join(dict.fromkeys(seat.model for seat in self.spec.seats))
        self.output.note(f"{quantity(len(self.spec.seats), 'seat')}: {models} · /help lists commands", "dim")
        note_embedded(self.output, self.settings, self.spec.seats)
        if self.turns:
            self.output.note(f"conversation {self.name} · {self._sum()}", "bold")
        for number, turn in list(enumerate(self.turns, 1))[-RECALLED:]:
            self.output.note(f"  {number}  {turn.result.status}  {clip(turn.result.question, 70)}")

    def _close(self) -> None:
        if self.turns:
            told = f"conversation {self.name} · {self._sum()} · pnyx chat --resume {self.name}"
            self.output.note(told, "dim")

    def _sum(self) -> str:
        return f"{quantity(len(self.turns), 'turn')}, {money(cost(self.turns))}"

    @contextlib.contextmanager
    def _hearing(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self._heard, number)
        try:
            yield
        finally:
            for number in SIGNALS:
                loop.remove_signal_handler(number)

    def _heard(self, number: int) -> None:
        """A signal; it ends a debate by itself. Ctrl-C ends the session only where no person could go on."""
        if number == signal.SIGINT and self.lines.person:
            self.lines.interrupted()
            return
        self.leaving, self.code = True, Interrupted.exit_code
        self.lines.stop()

    def _choose(self, choices: RunRequest) -> None:
        """Ask so from now on, if a run can be made of it. Raises `UsageError`, `ConfigError`, `NotFound`."""
        self.spec = resolve(choices, self.settings)
        self.choices = choices
        told = [self.spec.protocol]
        if choices.preset is not None:
            told.append(choices.preset)
        if "rounds" in choices.protocol_options:
            told.append(quantity(self.spec.options["rounds"], "round"))
        if self.spec.budget_usd is not None:
            told.append(f"at most {money(self.spec.budget_usd)} a question")
        self.output.note(f"from now on: {', '.join(told)}")

    async def protocol(self, given: str) -> None:
        if given:
            return self._choose(replace(self.choices, protocol=given, rounds=None, options={}, preset=None))
        pages = protocols.loaded()
        rows = [("*" if p.name == self.spec.protocol else "", p.name, p.summary) for p in pages]
        err = self.output.err
        err.lines(clip_end(line, err.width) for line in columns(rows))

    async def rounds(self, given: str) -> None:
        self._choose(replace(self.choices, rounds=None, options={"rounds": given}))

    async def quick(self, _: str) -> None:
        self._choose(replace(self.choices, preset="quick", rounds=None, options={}))

    async def deep(self, _: str) -> None:
        self._choose(replace(self.choices, preset="deep", rounds=None, options={}))

    async def budget(self, given: str) -> None:
        if given:
            return self._choose(replace(self.choices, budget_usd=AMOUNT(given)))
        await self._refresh()
        cap = self.spec.budget_usd
        told = "no cap on the next question" if cap is None else f"at most {money(cap)} for the next question"
        self.output.err.line(f"{self._sum()}; {told}")

    async def show(self, given: str) -> None:
        if not self.turns:
            raise UsageError("there is no turn yet")
        ids = {str(number): turn.row.id for number, turn in enumerate(self.turns, 1)}
        run_id = ids.get(given or str(len(ids)))
        if run_id is None:
            raise UsageError(f"/show [N]: N is the number of a turn, 1 to {len(ids)}")
        # It is a command of its own, with an event loop and a connection of its own.
        await asyncio.to_thread(show, run_id, self.output.plain, False)

    async def save(self, given: str) -> None:
        name = given.removesuffix("!").strip()
        if not name:
            raise UsageError("/save FILE, or /save FILE! to write over one")
        await self._refresh()
        if not self.turns:
            raise UsageError("there is no turn yet")
        page = as_page(self.name, self.turns, self.service.redact)
        try:
            _write(name, page, over=name != given)
        except FileExistsError as exc:
            raise UsageError(f"{name} is there already; /save {name}! writes over it") from exc
        except (OSError, RuntimeError) as exc:  # the latter where "~" means no folder
            raise UsageError(f"cannot write {name}: {getattr(exc, 'strerror', None) or exc}") from exc
        self.output.note(f"written to {name}")

    async def help(self, _: str) -> None:
        rows = [(f"/{name} {command.takes}", command.does) for name, command in COMMANDS.items()]
        self.output.err.lines(columns([*rows, ("//…", "a question that begins with /")]))

    async def exit(self, _: str) -> None:
        self.leaving = True


@dataclass(frozen=True, slots=True)
class Command:
    """takes: what comes after its name, for people; empty for nothing."""

    takes: str
    does: str
    run: Callable[[Session, str], Awaitable[None]]


COMMANDS = {
    "protocol": Command(
        "[NAME]", "decide by NAME, with its own options; or list what there is", Session.protocol
    ),
    "rounds": Command("N", "at most N rounds a question", Session.rounds),
    "quick": Command("", "the protocol's options for a fast answer", Session.quick),
    "deep": Command("", "the protocol's options for a thorough answer", Session.deep),
    "budget": Command(
        "[USD]", "pause a question before it costs more; or say what all has cost", Session.budget
    ),
    "show": Command("[N]", "all that was said in the last turn, or in turn N", Session.show),
    "save": Command("FILE[!]", "write the conversation as Markdown; ! writes over a file", Session.save),
    "help": Command("", "this list", Session.help),
    "exit": Command("", "leave; Ctrl-D does too", Session.exit),
}


def _write(name: str, text: str, *, over: bool) -> None:
    """Write a file whole or not at all. Raises `FileExistsError` unless it may be written over."""
    path = Path(name).expanduser()
    if not over and os.path.lexists(path):
        raise FileExistsError(path)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.write_text(text, encoding="utf-8")
        os.replace(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)
