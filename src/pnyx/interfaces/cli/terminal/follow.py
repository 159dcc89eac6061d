"""Following a run from the command line: its progress, its signals, its result."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ....config.file_lock import lock_file
from ....config.schema import Settings
from ....core.decision import UNDECIDED
from ....core.events import Event, RunFinished, Token, to_json
from ....core.models import Seat
from ....errors import Halted, Interrupted, OutOfBudget, UsageError
from ....providers.embedded.weights_table import KNOWN
from ....run.batch import Batch
from ....run.handle import RunHandle
from ....run.result import Result, exit_code
from ...render.terminal import ClosedPipe
from ...service import RunService
from ...views.outcome import headline, why
from ...views.transcript import Transcript
from .output import Output
from .plain import Progress, answer_lines, end_lines

__all__ = ["SIGNALS", "Heard", "alone", "attend", "follow", "note_embedded", "obeyed", "tell_halt"]

SIGNALS = (signal.SIGINT, signal.SIGTERM)
GRACE_S = 10.0
"""How long calls in flight may go on after a first Ctrl-C or a SIGTERM."""
EMBEDDED = """\
note: these are tiny embedded models: they show the machinery, and their answers are worth little.
For real ones, either of these lines will do, the second in pnyx.toml under [panel]:
    export ANTHROPIC_API_KEY=...      (or OPENAI_API_KEY, GEMINI_API_KEY, MISTRAL_API_KEY ...)
    seats = ["openai:MODEL", "anthropic:MODEL", "ollama:MODEL"]"""
Begin = Callable[[RunService], Awaitable[RunHandle]]
Watch = Callable[[Event], object]
Heard = Callable[[int], object]


def follow(
    settings: Settings,
    begin: Begin,
    output: Output,
    *,
    require_consensus: bool = False,
    watch: Watch = lambda event: None,
) -> int:
    """Begin a run, show it until it ends, print its result; the exit code. watch: gets its events too."""
    try:
        result = asyncio.run(_follow(settings, begin, output, watch))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    return exit_code(result, require_consensus)


async def _follow(settings: Settings, begin: Begin, output: Output, watch: Watch) -> Result:
    async with RunService.open(settings) as service:
        handle = await attend(service, begin, output, watch=watch)
        if not output.out.broken:
            note_embedded(output, settings, handle.spec.seats)
        return await handle.result()


async def attend(
    service: RunService,
    begin: Begin,
    output: Output,
    *,
    watch: Watch = lambda event: None,
    heard: Heard | None = None,
) -> RunHandle:
    """Begin a run, show it until it ends, and print its result; its handle.

    heard: is told of every signal too, and alone hears those that come after the run; without one the
    system's own handling comes back.
    """
    async with _progress(output) as progress:
        with _Stop(progress, heard) as stop:
            handle = await begin(service)
            for note in handle.notes:
                progress.note(f"note: {note}")
            stop.aim(handle)
            try:
                await _show(handle, progress, watch)
            except ClosedPipe:
                # Nobody waits for the answer any more, so nothing more is paid for it.
                stop.halt()
                async for event in handle.events():
                    watch(event)
            result = await handle.result()
    if not output.out.broken:
        _print(output, result, progress.view)
    return handle


async def _show(handle: RunHandle, progress: Progress, watch: Watch) -> None:
    output = progress.output
    told = (handle.past[-1].seq or 0) if handle.past else 0
    lines = output.form == "jsonl"
    async for event in handle.events(tokens=output.live or (lines and output.verbose)):
        watch(event)
        if lines and (output.verbose or not isinstance(event, Token)):
            output.json_line(to_json(event))
        progress.add(event, told=event.seq is not None and event.seq <= told)


def _print(output: Output, result: Result, view: Transcript) -> None:
    document = result.to_json()
    if output.form == "json":
        output.json(document)
    elif output.form == "text" and result.answer:
        output.note()
        output.note(headline(document), "bold", "cyan")
        output.out.lines(answer_lines(output.out, result.answer))
        output.note()
    if result.status in UNDECIDED:
        output.error(why(document))
    if not output.quiet:
        output.err.lines(end_lines(output.err, document, view.tools))
        output.note(f"run {result.run_id} · pnyx show {result.run_id}", "dim")


def note_embedded(output: Output, settings: Settings, seats: Iterable[Seat]) -> None:
    """Say what answers are worth, and how to have better ones, where every model is a known embedded one."""
    if all(settings.provider(seat.provider).kind == "embedded" and seat.name in KNOWN for seat in seats):
        output.note("\n" + EMBEDDED)


def _progress(output: Output) -> Progress:
    if not output.live:
        return Progress(output)
    # Drawing takes rich, which plain lines can do without.
    from .live import LiveProgress

    return LiveProgress(output)


@contextmanager
def alone(folder: Path, what: str) -> Iterator[None]:
    """Hold `folder`: two processes at one batch would stumble over each other's runs."""

    def refuse() -> None:
        raise UsageError(f"this {what} is running already; the same command goes on once it has ended")

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise UsageError(f"{folder} cannot be made: {exc.strerror}") from exc
    with lock_file(folder / "lock", refuse):
        yield


def tell_halt(output: Output, why: Halted) -> int:
    """Report that a batch stopped before its end, and how to continue it; return the exit code."""
    more = "" if isinstance(why, OutOfBudget) else ". Run the same command again to continue"
    output.error(f"stopped: {why}{more}")
    return why.exit_code


@contextmanager
def obeyed(batch: Batch, output: Output) -> Iterator[None]:
    """SIGINT and SIGTERM while a batch goes on: the first lets what is in flight end, the second does not."""
    loop = asyncio.get_running_loop()

    def signalled() -> None:
        if batch.halted is not None:
            batch.kill()
            return
        output.note("\nfinishing the calls in flight; Ctrl-C again stops at once", "yellow")
        batch.halt(Interrupted("interrupted"))

    for number in SIGNALS:
        loop.add_signal_handler(number, signalled)
    try:
        yield
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)


class _Stop:
    """SIGINT and SIGTERM while a run goes on.

    The first one lets calls in flight finish, for `GRACE_S`; the second stops at once; after that
    `heard` has them to itself, or the system's own handling holds again.
    """

    def __init__(self, progress: Progress, heard: Heard | None) -> None:
        self._progress = progress
        self._heard = heard
        self._loop = asyncio.get_running_loop()
        self._main = asyncio.current_task()
        self._handle: RunHandle | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._asked = 0

    def __enter__(self) -> _Stop:
        for number in SIGNALS:
            self._loop.add_signal_handler(number, self._signalled, number)
        return self

    def __exit__(self, *_: object) -> None:
        self._release()
        if self._timer is not None:
            self._timer.cancel()

    def aim(self, handle: RunHandle) -> None:
        """From now on signals mean `handle`; one that came while it began is obeyed now."""
        if handle.past and isinstance(handle.past[-1], RunFinished):
            return  # only shown again: there is nothing to stop
        self._handle = handle
        if self._asked:
            self.halt()

    def halt(self) -> None:
        """Send nothing more, and wait for what is in flight no longer than `GRACE_S`."""
        if self._handle is not None:
            self._handle.interrupt()
            self._timer = self._loop.call_later(GRACE_S, self._give_up, self._handle)

    def _give_up(self, handle: RunHandle) -> None:
        self._progress.note(f"not waiting any longer: the calls in flight took over {GRACE_S:g} s")
        handle.kill()

    def _signalled(self, number: int) -> None:
        if self._heard is not None:
            self._heard(number)
        self._asked += 1
        if self._asked == 1:
            self._progress.note("finishing the calls in flight; Ctrl-C again stops at once")
            self.halt()
            return
        self._release()
        if self._handle is not None:
            self._handle.kill()
        elif self._main is not None:
            self._main.cancel()

    def _release(self) -> None:
        for number in SIGNALS:
            if self._heard is None:
                self._loop.remove_signal_handler(number)
            else:
                self._loop.add_signal_handler(number, self._heard, number)
