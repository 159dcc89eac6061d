"""What only a collection of garbage frees."""

from __future__ import annotations

import gc
import socket
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["garbage_of_pnyx"]


@contextmanager
def garbage_of_pnyx() -> Iterator[list[object]]:
    """Collect no garbage inside; afterwards the list has the objects of pnyx that waited for a collection.

    Without sockets: transports of asyncio hold them, which are cycles themselves.
    """
    found: list[object] = []
    gc.collect()
    gc.disable()
    try:
        yield found
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        ours = [one for one in gc.garbage if type(one).__module__.startswith("pnyx")]
        found += [one for one in ours if not isinstance(one, socket.socket)]
    finally:
        gc.set_debug(0)
        gc.enable()
        gc.garbage.clear()
