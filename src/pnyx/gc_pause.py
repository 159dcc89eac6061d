"""A pause of the garbage collector while modules are imported."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["MANY", "paused_collection"]

MANY = 5_000
"""New objects from which on it pays to count them as old: an import of an SDK has more, its next use less."""


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
