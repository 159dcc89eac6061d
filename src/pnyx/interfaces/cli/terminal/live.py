"""The live view: the state of every seat, redrawn during a run and removed at its end."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.control import Control
from rich.live import Live
from rich.segment import ControlType, Segment
from rich.text import Text

from ....core.models import money
from ...render.terminal import clip, columns, flat
from ...views.tallies import votes_text
from ...views.transcript import SeatState, quantity, seat_name, seconds
from .keyboard import Keyboard
from .output import MOST_COLUMNS, Output
from .plain import Progress

__all__ = ["LiveProgress", "rewraps"]

FRAME_S = 0.125
NARROW = 90
"""Columns below which the table of seats leaves out the provider and the tokens, to keep the cost."""
SHORT_NAME = 22
BAR, MOST_ANSWERS = 20, 5
"""Columns of the longest bar, and rows, of the table of votes."""
STATES = {
    "waiting": ("·", "dim"),
    "asked": ("…", "cyan"),
    "writing": (">", "cyan"),
    "answered": ("✓", "green"),
    "silent": ("-", "yellow"),
    "retrying": ("↻", "yellow"),
    "dropped": ("✗", "red"),
}
CUT, WRAP = (Segment(code, control=[(ControlType.HOME,)]) for code in ("\x1b[?7l", "\x1b[?7h"))
"""Codes after which a terminal cuts off longer lines, or wraps them as usual; rich has no name for them."""


class LiveProgress(Progress):
    """Prints finished replies above a table with a line for each seat."""

    def __init__(self, output: Output) -> None:
        super().__init__(output)
        self._console = Console(
            file=output.err.file,
            markup=False,
            highlight=False,
            emoji=False,
            force_terminal=True,
            color_system="standard" if output.err.painted else None,
        )
        self._drawn = View()
        self._live = self._new_view()
        self._width = self._console.size.width
        self._keyboard = Keyboard(output.err, self._hide, self._show)
        self._began = time.monotonic()
        self._ticker: asyncio.Task[None] | None = None

    async def __aenter__(self) -> LiveProgress:
        self._keyboard.take()
        self._show()
        self._ticker = asyncio.create_task(self._tick())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._ticker is not None:
            self._ticker.cancel()
            with suppress(asyncio.CancelledError):
                await self._ticker
        self._fit()
        self._draw(View(), refresh=False)
        self._hide()
        self._keyboard.give_back()

    def _hide(self) -> None:
        """Remove the view, and show the cursor."""
        self._fit()
        self._live.stop()

    def _show(self) -> None:
        """Draw the view below all other text, unless a shell runs this process in the background."""
        if not self._live.is_started and self._keyboard.in_front:
            self._keyboard.silence()
            self._live = self._new_view()
            self._live.start()

    def _new_view(self) -> Live:
        return Live(console=self._console, auto_refresh=False, transient=True)

    def say(self, *lines: str) -> None:
        # Printing redraws the view below, which must then be up to date.
        self._fit()
        self._draw(View(self.frame()), refresh=False)
        self._console.print(Text.from_ansi("\n".join(lines)), soft_wrap=True)

    async def _tick(self) -> None:
        while True:
            self._show()  # the shell may have brought it to the front
            self._fit()
            self._draw(View(self.frame()), refresh=self._live.is_started)
            await asyncio.sleep(FRAME_S)

    def _draw(self, view: View, *, refresh: bool) -> None:
        self._drawn = view
        self._live.update(view, refresh=refresh)

    def _fit(self) -> None:
        """Wrap the next lines at the width that the window has now, and remove what wrapped of the view."""
        width, self._width = self._width, self._console.size.width
        for stream in (self.output.out, self.output.err):
            if stream.width is not None:
                stream.width = min(self._width, MOST_COLUMNS)
        if self._live.is_started and self._width < width and rewraps():
            # `Live` removes as many rows as the view has lines: these are the rest, the lowest ones.
            up = (ControlType.CURSOR_UP, 1), (ControlType.ERASE_IN_LINE, 2)
            extra = self._drawn.wrapped_rows(width, self._width)
            self._console.control(Control(ControlType.CARRIAGE_RETURN, up[1], *up * extra))

    def frame(self) -> Text:
        """The current view."""
        frame = Text(no_wrap=True, overflow="ellipsis", end="")
        if self.view.result is None and self.view.seats:
            frame.append_text(self._head())
            for line in (*self._seats(), *self._votes()):
                frame.append("\n").append_text(line)
        return frame

    def _head(self) -> Text:
        """Round, phase, cost and time, then who speaks, or the question if there is room."""
        usage, view = self.view.summary.usage, self.view
        spent = money(usage["cost_usd"])
        cost = spent if self.cap_usd is None else f"{spent} of {money(self.cap_usd)}"
        took = seconds(time.monotonic() - self._began)
        rounds = view.options.get("rounds")
        where = view.now or "starting"
        if isinstance(rounds, int) and view.round:
            where = where.replace(f"Round {view.round}", f"Round {view.round} of {rounds}")
        head = Text(" · ".join([where, cost, took]), "bold")
        speaking = [seat.label for seat in view.seats.values() if seat.state in ("asked", "writing")]
        names = ", ".join(label.removeprefix("Participant ") for label in speaking)
        rest = [f"speaking: {names}"] if names else []
        rest += [quantity(usage["calls"], "call"), flat(view.question)[:200]]
        # On a narrow screen, who speaks has a line of its own.
        between = "\n  " if self._console.size[0] < NARROW else " · "
        return head.append(f"{between}{' · '.join(rest)}", "not bold dim")

    def _seats(self) -> Iterator[Text]:
        seats = list(self.view.seats.values())
        width, height = self._console.size
        narrow = width < NARROW
        lines = columns((_row(seat, narrow) for seat in seats), right=(2, 3) if narrow else (2, 3, 4))
        roomy = 2 * len(seats) < height - 2
        for seat, line in zip(seats, lines, strict=True):
            sign, look = STATES[seat.state]
            yield Text.assemble((f"{sign} ", look), line)
            if roomy and seat.state == "writing":
                yield Text(f"    {_newest(seat.tail, width - 6)}", "dim")

    def _votes(self) -> Iterator[Text]:
        """The last count of votes as a table with bars."""
        tally = self.view.tally
        counts = sorted((tally.tally if tally else {}).items(), key=lambda one: -one[1])[:MOST_ANSWERS]
        if tally is None or not counts:
            return
        yield Text(f"votes: {flat(tally.rule)}", "dim")
        most = max(count for _, count in counts) or 1
        rows = [(clip(answer, self._console.size[0] // 3), votes_text(count)) for answer, count in counts]
        for line, (_, count) in zip(columns(rows, right=(1,)), counts, strict=True):
            yield Text.assemble(f"  {line}  ", ("█" * max(round(BAR * count / most), 0), "cyan"))


@dataclass(frozen=True)
class View:
    """The lines of the view. A line that is too long, as the window is getting narrower, is cut off."""

    text: Text = field(default_factory=Text)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield CUT
        yield self.text
        yield WRAP

    def wrapped_rows(self, drawn: int, width: int) -> int:
        """How many more rows its lines have, drawn in `drawn` columns, if `width` of them are left."""
        lengths = (min(cell_len(line), drawn) for line in self.text.plain.split("\n"))
        return sum(max(length - 1, 0) // width for length in lengths)


def rewraps() -> bool:
    """Whether the terminal wraps the lines that it shows when its window narrows. Few cut them off."""
    return "TMUX" in os.environ or not (
        "XTERM_VERSION" in os.environ or os.environ.get("TERM", "").startswith(("linux", "screen"))
    )


def _newest(text: str, width: int) -> str:
    """The end of `text` as one line of at most `width` characters, cut at a word."""
    line = flat(text)
    if len(line) <= width:
        return line
    cut = line[-(width - 2) :]
    return f"… {cut.partition(' ')[2] or cut}"


def _row(seat: SeatState, narrow: bool) -> tuple[str, ...]:
    """A seat: who, phase, tokens, cost, time. narrow: without the provider and the tokens."""
    name = seat_name(seat.label, seat.model)
    if narrow:
        model = seat.model.rpartition(":")[2].rpartition("/")[2]
        name = f"{seat.label.removeprefix('Participant ')} {clip(model, SHORT_NAME)}"
    if not seat.calls:
        return (name, *[""] * (3 if narrow else 4))
    busy = seat.busy_s + (0.0 if seat.since is None else time.monotonic() - seat.since)
    tokens = () if narrow else (quantity(seat.output_tokens + seat.arriving, "token"),)
    return (name, seat.phase, *tokens, money(seat.cost_usd), seconds(busy))
