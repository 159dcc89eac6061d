"""A pause of the garbage collector while modules are imported, and while a program starts."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["MANY", "YOUNG", "delay_collection", "end_delay", "paused_collection"]

MANY = 5_000
"""New objects from which on it pays to count them as old: an import of an SDK has more, its next use less."""
START, YOUNG = 1_500_000, 50_000
"""New objects before the first garbage collection, and before each later one. Python's default is 700."""


def delay_collection() -> None:
    """Collect for the first time after the imports, whose objects live as long as the process."""
    gc.callbacks.append(_after_collection)
    gc.set_threshold(START)


def end_delay() -> None:
    """Collect regularly from now on: the program has started, and may run for years.

    Until `START` objects, the garbage of 100,000 runs would stay in memory.
    """
    if _after_collection in gc.callbacks:
        _after_collection("stop", None)


def _after_collection(phase: str, _: object) -> None:
    if phase == "stop":
        gc.callbacks.remove(_after_collection)
        gc.freeze()
        gc.set_threshold(YOUNG)


@contextmanager
def paused_collection() -> Iterator[None]:
    """Collect no garbage inside, where modules are imported.

    What an import creates stays. Python would collect some 400 times while it imports an SDK, which costs
    0.26 s of CPU and finds nothing. Afterwards the new objects count as old, so the next young collection
    leaves them alone. The program's own settings of the collector are kept.
    """
    enabled, before = gc.isenabled(), gc.get_count()[0]
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            # Python counts frozen objects one by one: 10 ms and more in a large program.
            if gc.get_count()[0] - before >= MANY and not gc.get_freeze_count():
                # Moves every object to the oldest generation, without looking at any.
                gc.freeze()
                gc.unfreeze()
            gc.enable()
