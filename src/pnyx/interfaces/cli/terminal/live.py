"""The live view: the state of every seat, redrawn during a run and removed at its end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress

from rich.console import Console
from rich.live import Live
from rich.text import Text

from ....core.models import money
from ...render.terminal import columns, flat
from ...views.transcript import SeatState, quantity, seat_name, seconds
from .output import Output
from .plain import Progress

__all__ = ["LiveProgress"]

FRAME_S = 0.125
STATES = {
    "waiting": ("·", "dim"),
    "asked": ("…", "cyan"),
    "writing": (">", "cyan"),
    "answered": ("✓", "green"),
    "silent": ("-", "yellow"),
    "retrying": ("↻", "yellow"),
    "dropped": ("✗", "red"),
}


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
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._began = time.monotonic()
        self._ticker: asyncio.Task[None] | None = None

    async def __aenter__(self) -> LiveProgress:
        self._live.start()
        self._ticker = asyncio.create_task(self._tick())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._ticker is not None:
            self._ticker.cancel()
            with suppress(asyncio.CancelledError):
                await self._ticker
        self._live.update(Text(""))
        self._live.stop()

    def say(self, *lines: str) -> None:
        # Printing redraws the view below, which must then be up to date.
        self._live.update(self.frame())
        self._console.print(Text.from_ansi("\n".join(lines)), soft_wrap=True)

    async def _tick(self) -> None:
        while True:
            self._live.update(self.frame(), refresh=True)
            await asyncio.sleep(FRAME_S)

    def frame(self) -> Text:
        """The current view."""
        frame = Text(no_wrap=True, overflow="ellipsis", end="")
        if self.view.result is None and self.view.seats:
            frame.append_text(self._head())
            for line in self._seats():
                frame.append("\n").append_text(line)
        return frame

    def _head(self) -> Text:
        usage = self.view.summary.usage
        took = time.monotonic() - self._began
        parts = [self.view.now or "starting", quantity(usage["calls"], "call"), money(usage["cost_usd"])]
        head = Text(" · ".join([*parts, seconds(took)]), "bold")
        return head.append(f"  {flat(self.view.question)[:200]}", "not bold dim")

    def _seats(self) -> Iterator[Text]:
        seats = list(self.view.seats.values())
        lines = columns(map(_row, seats), right=(2, 3, 4))
        width, height = self._console.size
        roomy = 2 * len(seats) < height - 2
        for seat, line in zip(seats, lines, strict=True):
            sign, look = STATES[seat.state]
            yield Text.assemble((f"{sign} ", look), line)
            if roomy and seat.state == "writing":
                yield Text(f"    {_newest(seat.tail, width - 6)}", "dim")


def _newest(text: str, width: int) -> str:
    """The end of `text` as one line of at most `width` characters, cut at a word."""
    line = flat(text)
    if len(line) <= width:
        return line
    cut = line[-(width - 2) :]
    return f"… {cut.partition(' ')[2] or cut}"


def _row(seat: SeatState) -> tuple[str, ...]:
    if not seat.calls:
        return (seat_name(seat.label, seat.model), *[""] * 4)
    busy = seat.busy_s + (0.0 if seat.since is None else time.monotonic() - seat.since)
    return (
        seat_name(seat.label, seat.model),
        seat.phase,
        f"{seat.output_tokens + seat.arriving:,} tokens",
        money(seat.cost_usd),
        seconds(busy),
    )
