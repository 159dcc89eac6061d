"""The checksum of a backup, by which flipped bits within its rows are noticed.

It is in two fields of the header that SQLite leaves to programs, see section 1.3 of
https://www.sqlite.org/fileformat2.html: the application id is the CRC-32 of the file without that field,
and the user version equals the change counter, which is random here and changes with every write. So a file
that was written to since, as by VACUUM or because it is used as a database, has no checksum any longer.
"""

from __future__ import annotations

import secrets
import zlib
from pathlib import Path
from typing import IO

__all__ = ["add_checksum", "is_intact"]

HEADER = 100
COUNTER, USER_VERSION, APPLICATION_ID, COUNTER_AGAIN = 24, 60, 68, 92
"""Where the fields are in the header, of four bytes each. SQLite stores the counter twice."""
CHUNK = 1 << 20


def add_checksum(file: Path) -> None:
    """Write the checksum into an SQLite file that no connection has open. Raises `OSError`."""
    counter = (secrets.randbits(31) | 1).to_bytes(4, "big")
    with file.open("r+b") as opened:
        for place in (COUNTER, COUNTER_AGAIN, USER_VERSION):
            opened.seek(place)
            opened.write(counter)
        checksum = _checksum(opened)
        opened.seek(APPLICATION_ID)
        opened.write(checksum)


def is_intact(file: Path) -> bool:
    """Whether a file is as it was when it got its checksum, or has none. Raises `OSError`."""
    with file.open("rb") as opened:
        header = opened.read(HEADER)
        counter = _field(header, COUNTER)
        if not any(counter) or counter != _field(header, USER_VERSION):
            return True
        return _field(header, APPLICATION_ID) == _checksum(opened)


def _field(header: bytes, place: int) -> bytes:
    return header[place : place + 4]


def _checksum(opened: IO[bytes]) -> bytes:
    opened.seek(0)
    checksum = zlib.crc32(opened.read(APPLICATION_ID))
    opened.seek(APPLICATION_ID + 4)
    while chunk := opened.read(CHUNK):
        checksum = zlib.crc32(chunk, checksum)
    return checksum.to_bytes(4, "big")
