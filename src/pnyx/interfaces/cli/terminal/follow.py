"""A run on the command line: show its progress, handle signals, print its result."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ....config.file_lock import lock_file
from ....config.schema import Settings
from ....core.decision import FINAL, UNDECIDED
from ....core.events import Event, RunFinished, Token, to_json
from ....core.models import Seat, money
from ....errors import Halted, Interrupted, OutOfBudget, UsageError
from ....providers.embedded.weights_table import KNOWN
from ....providers.installed import address, key_variables
from ....run.batch import Batch
from ....run.handle import RunHandle
from ....run.result import Result, exit_code
from ....run.spec import Spec
from ...process.stop_signals import stop_signals
from ...render.terminal import ClosedPipe
from ...requests.option_names import with_flags
from ...service.run_service import RunService
from ...views.outcome import headline, refuses_key, stop_message
from ...views.plan import plan, price_words, why_unknown
from ..records import note_new_database
from .keyboard import Keyboard
from .output import Output
from .plain import Progress, answer_lines, end_lines

__all__ = [
    "OnSignal",
    "exclusive",
    "follow",
    "follow_run",
    "halt_on_signals",
    "note_embedded",
    "report_halt",
]

GRACE_S = 10.0
"""How long calls in flight may continue after the first signal, in seconds."""
EMBEDDED = "note: these are tiny embedded models. They show how pnyx works; do not rely on their answers."
REAL_MODELS = """\
Set one API key to use real models:
    export OPENAI_API_KEY=...         (or ANTHROPIC_API_KEY, GEMINI_API_KEY, MISTRAL_API_KEY ...)
or choose the panel in pnyx.toml, under [panel]:
    seats = ["openai:MODEL", "anthropic:MODEL", "ollama:MODEL"]"""
CHECK = "Check hosts, keys and models with: pnyx doctor"
FINISHING = "waiting for the calls in flight; press Ctrl-C again to stop now"
Start = Callable[[RunService], Awaitable[RunHandle]]
Watch = Callable[[Event], object]
AnswerText = Callable[[Result], str]
OnSignal = Callable[[int], object]


def follow(
    settings: Settings,
    start: Start,
    output: Output,
    *,
    require_consensus: bool = False,
    watch: Watch = lambda event: None,
    answer_text: AnswerText | None = None,
    create: bool = True,
) -> int:
    """Start a run, show its progress, print its result and return the exit code.

    watch: called with every event of the run. answer_text: what is printed of a result instead of its answer.
    create: as for `Database.open`.
    """
    try:
        result = asyncio.run(_follow(settings, start, output, watch, answer_text, create))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    return exit_code(result, require_consensus)


async def _follow(
    settings: Settings,
    start: Start,
    output: Output,
    watch: Watch,
    answer_text: AnswerText | None,
    create: bool,
) -> Result:
    note_new_database(settings, output)
    async with RunService.open(settings, create=create) as service:
        handle = await follow_run(service, start, output, watch=watch, answer_text=answer_text)
        if not output.out.broken:
            note_embedded(output, settings, handle.spec.seats)
        return await handle.result()


async def follow_run(
    service: RunService,
    start: Start,
    output: Output,
    *,
    watch: Watch = lambda event: None,
    on_signal: OnSignal | None = None,
    answer_text: AnswerText | None = None,
) -> RunHandle:
    """Start a run, show its progress, print its result and return its handle.

    on_signal: called with every signal, and left as the only handler after the run; without one, the
    default handlers of the system are restored.
    """
    async with _progress(output) as progress:
        with _Stop(progress, on_signal) as stop:
            handle = await start(service)
            output.out.kept = f"; the run is paused: pnyx resume {handle.run_id}"
            if _wants_text(output):
                handle.stream_text()  # before its first call, which may be sent while the price is read
            progress.cap_usd = handle.spec.budget_usd
            for note in handle.notes:
                progress.note(f"note: {note}")
            if not handle.past:
                await _note_price(service, handle, output)
            stop.target(handle)
            try:
                await _show(handle, progress, watch)
            except ClosedPipe:
                # The reader has closed the pipe: stop spending on the answer.
                stop.halt()
                async for event in handle.events():
                    watch(event)
            result = await handle.result()
    if not output.out.broken:
        _print(output, result, progress, answer_text, _silent_hosts(service.settings, result, progress))
    return handle


async def _note_price(service: RunService, handle: RunHandle, output: Output) -> None:
    """Say what the run is expected to cost, and what at most, before its first call."""
    spec = handle.spec
    bounds = plan(spec, await service.cost_factor(spec))
    if bounds.cost_usd == 0:
        return
    cap = "" if spec.budget_usd is None else f"; {_cap_words(spec, money(spec.budget_usd))}"
    if bounds.cost_usd is not None or bounds.expected_usd is not None:
        output.note(f"expected cost: {price_words(bounds)}{cap}", "dim")
    elif why := why_unknown(spec, bounds):
        output.note(f"expected cost unknown: {why}{cap}", "dim")


def _cap_words(spec: Spec, cap: str) -> str:
    if any(seat.price is None for seat in spec.callable_seats):
        return f"calls without a price do not count against its budget of {cap}"
    return f"it pauses before it costs {cap}"


async def _show(handle: RunHandle, progress: Progress, watch: Watch) -> None:
    output = progress.output
    last_shown = (handle.past[-1].seq or 0) if handle.past else 0
    lines = output.form == "jsonl"
    async for event in handle.events(tokens=_wants_text(output)):
        watch(event)
        if isinstance(event, RunFinished) and event.status in FINAL:
            output.out.kept = f"; the run is stored: pnyx show {handle.run_id}"
        if lines and (output.verbose or not isinstance(event, Token)):
            output.json_line(to_json(event))
        progress.add(event, shown=event.seq is not None and event.seq <= last_shown)


def _wants_text(output: Output) -> bool:
    return output.live or (output.form == "jsonl" and output.verbose)


def _silent_hosts(settings: Settings, result: Result, progress: Progress) -> dict[str, str]:
    """Provider -> where it is and where its key comes from, for seats without any reply.

    Of a run that has not failed, those that do not accept the key: no other run would have them either.
    """
    names: dict[str, str] = {}
    for drop in result.dropped:
        name = drop["model"].partition(":")[0]
        seat = progress.view.seats[drop["seat"]]
        refused = refuses_key(seat.failure, drop["reason"])
        if seat.replied or not (refused or result.status == "failed"):
            continue
        if url := address(settings, name):
            key = _key_words(settings, name) if refused else ""
            names.setdefault(name, f"{url} (its base_url){key}")
    return names


def _key_words(settings: Settings, name: str) -> str:
    variables = key_variables(settings.provider(name))
    if variables:
        return f", and its key comes from ${' or $'.join(variables)}"
    return f", and gets no key: api_key_env of [providers.{name}] names the variable of one"


def _print(
    output: Output,
    result: Result,
    progress: Progress,
    answer_text: AnswerText | None,
    hosts: Mapping[str, str],
) -> None:
    view = progress.view
    shown = result.answer if answer_text is None else answer_text(result)
    document = result.to_json()
    if output.form == "json":
        output.json(document)
    elif output.form == "text" and result.answer:
        output.note()
        output.note(headline(document), "bold", "cyan")
        output.out.lines(answer_lines(output.out, shown) if shown else ())
        output.note()
    if result.status in UNDECIDED:
        output.error(with_flags(stop_message(document, () if output.quiet else progress.explained)))
    if not output.quiet:
        output.err.lines(end_lines(output.err, document, view.tools))
        where = [f"{name} is at {place}." for name, place in hosts.items()]
        for line in (*where[:-1], *(f"{last} {CHECK}" for last in where[-1:])):
            output.note(line)
        output.note(f"run {result.run_id} · pnyx show {result.run_id}", "dim")


def note_embedded(output: Output, settings: Settings, seats: Iterable[Seat]) -> None:
    """If all seats are the tiny embedded models, say so; how to use real ones, if nobody has chosen these."""
    if all(settings.provider(seat.provider).kind == "embedded" and seat.name in KNOWN for seat in seats):
        chosen = settings.panel.seats or settings.panels
        output.note("\n" + (EMBEDDED if chosen else f"{EMBEDDED}\n{REAL_MODELS}"))


def _progress(output: Output) -> Progress:
    if not output.live:
        return Progress(output)
    # Only the live view requires rich.
    from .live import LiveProgress

    return LiveProgress(output)


@contextmanager
def exclusive(folder: Path, what: str) -> Iterator[None]:
    """Lock `folder`, because two processes cannot work on one batch. Raises `UsageError` if it is locked.

    what: batch or evaluation, for the message.
    """

    def refuse() -> None:
        raise UsageError(f"this {what} is already running; wait until it ends, then run this command again")

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise UsageError(f"cannot create {folder}: {exc.strerror}") from exc
    with lock_file(folder / "lock", refuse):
        yield


def report_halt(output: Output, why: Halted) -> int:
    """Report that a batch stopped before its end, and how to continue it; return the exit code."""
    more = "" if isinstance(why, OutOfBudget) else ". Run the same command again to continue"
    output.error(f"stopped: {why}{more}")
    return why.exit_code


@contextmanager
def halt_on_signals(batch: Batch, output: Output) -> Iterator[None]:
    """Stop `batch` on a signal: the first lets calls in flight finish, the second does not.

    Until then, a terminal with a line of progress does not echo what is typed.
    """
    loop, numbers = asyncio.get_running_loop(), stop_signals()
    keyboard = Keyboard(output.err) if output.live else None
    killed = False

    def on_signal() -> None:
        nonlocal killed
        if batch.halted is not None:
            killed = True
            batch.kill()
            return
        output.note(f"\n{FINISHING}", "yellow")
        batch.halt(Interrupted("interrupted"))

    for number in numbers:
        loop.add_signal_handler(number, on_signal)
    try:
        if keyboard is not None:
            keyboard.take()
        yield
    finally:
        if keyboard is not None:
            keyboard.give_back()
        _end_handling(numbers, ignore_one=not killed)


def _end_handling(numbers: Iterable[int], *, ignore_one: bool) -> None:
    """Restore the system's handlers; ignore_one: only with the next signal, which does nothing else.

    When the work is done, a signal has nothing to stop but a command that ends anyway.
    """
    loop = asyncio.get_running_loop()
    system: dict[int, Any] = {}

    def ignore(number: int, frame: object) -> None:
        for number, handler in system.items():
            signal.signal(number, handler)

    for number in numbers:
        loop.remove_signal_handler(number)
        system[number] = signal.getsignal(number)
        if ignore_one:  # not by the loop, which restores the system's handler when it closes
            signal.signal(number, ignore)


class _Stop:
    """Stops a run on a signal.

    The first signal lets calls in flight finish, for `GRACE_S`; the second stops at once. After that only
    `on_signal` handles signals, or the system's default handlers do. The first
    signal after the end of the run does nothing, unless `on_signal` handles it.
    """

    def __init__(self, progress: Progress, on_signal: OnSignal | None) -> None:
        self._progress = progress
        self._on_signal = on_signal
        self._loop = asyncio.get_running_loop()
        self._main = asyncio.current_task()
        self._handle: RunHandle | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._signals = 0
        self._numbers = stop_signals()

    def __enter__(self) -> _Stop:
        for number in self._numbers:
            self._loop.add_signal_handler(number, self._handle_signal, number)
        return self

    def __exit__(self, *_: object) -> None:
        if self._on_signal is None:
            _end_handling(self._numbers, ignore_one=self._signals < 2)
        else:
            self._release()
        if self._timer is not None:
            self._timer.cancel()

    def target(self, handle: RunHandle) -> None:
        """Let signals stop `handle`. One that arrived before the run had started stops it now."""
        if handle.past and isinstance(handle.past[-1], RunFinished):
            return  # a finished run is only printed: there is nothing to stop
        self._handle = handle
        if self._signals:
            self.halt()

    def halt(self) -> None:
        """Send no more calls, and wait at most `GRACE_S` for those in flight."""
        if self._handle is not None:
            self._handle.interrupt()
            self._timer = self._loop.call_later(GRACE_S, self._kill, self._handle)

    def _kill(self, handle: RunHandle) -> None:
        self._progress.note(f"stopping now: the calls in flight took longer than {GRACE_S:g} s")
        handle.kill()

    def _handle_signal(self, number: int) -> None:
        if self._on_signal is not None:
            self._on_signal(number)
        self._signals += 1
        if self._signals == 1:
            self._progress.note(FINISHING)
            self.halt()
            return
        self._release()
        if self._handle is not None:
            self._handle.kill()
        elif self._main is not None:
            self._main.cancel()

    def _release(self) -> None:
        for number in self._numbers:
            if self._on_signal is None:
                self._loop.remove_signal_handler(number)
            else:
                self._loop.add_signal_handler(number, self._on_signal, number)
