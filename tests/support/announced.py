"""What `pnyx serve` says on standard error before it serves: its address and its temporary key."""

from __future__ import annotations

import re
from typing import IO

__all__ = ["address_and_key"]


def address_and_key(stderr: IO[bytes] | None) -> tuple[str, str]:
    """Read lines until both are there. Fails with what was read if the server has ended before."""
    assert stderr is not None
    read = b""
    while line := stderr.readline():
        read += line
        url, key = re.search(rb"http://\S+", read), re.search(rb"pnyx_\S+", read)
        if url and key:
            return url[0].decode(), key[0].decode()
    raise AssertionError(f"the server did not start: {read.decode()}")
