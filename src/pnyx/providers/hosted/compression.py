"""The bytes of a body, decompressed by what they are.

A proxy may compress a body without saying so, say so without doing it, or do it twice. The format is read
from the first bytes: no JSON and no event starts as compressed data does. What a host announces decides only
for the formats that have no mark of their own.
"""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from ...errors import ProviderError

__all__ = ["Decompressor"]

STEP_BYTES = 65_536
"""Decompressed at once, so that a small body that becomes a huge one is stopped early."""
BROTLI_BYTES = 256
"""Given to Brotli at once, whose output has no limit."""
SNIFF_BYTES = 8
LAYERS = 3
_GZIP, _ZLIB, _ZSTD = b"\x1f\x8b", (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda"), b"\x28\xb5\x2f\xfd"


class Decompressor:
    """Decompresses a body in pieces. announced: the header `Content-Encoding`.

    Raises `ProviderError` "truncated" for data that is broken, and "malformed" for a format that this
    installation cannot read.
    """

    def __init__(self, announced: str = "", layer: int = 0) -> None:
        self._announced = {name.strip() for name in announced.lower().split(",")}
        self._start = b""
        self._layer = layer
        self._is_plain = False
        self._inflate: Callable[[bytes], Iterator[bytes]] | None = None
        self._inner: Decompressor | None = None

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Yield what `piece` adds to the body."""
        if self._is_plain:
            yield piece
        elif self._inflate is not None:
            yield from self._through(piece)
        else:
            self._start += piece
            if len(self._start) >= SNIFF_BYTES:
                yield from self._begin()

    def end(self) -> Iterator[bytes]:
        """Yield the rest of a body that is too short to have shown its format."""
        if not self._is_plain and self._inflate is None:
            yield from self._begin()
        if self._inner is not None:
            yield from self._inner.end()

    def _begin(self) -> Iterator[bytes]:
        start, self._start = self._start, b""
        self._inflate = self._format(start) if self._layer < LAYERS else None
        if self._inflate is None:
            self._is_plain = True
            yield start
            return
        self._inner = Decompressor(layer=self._layer + 1)
        yield from self._through(start)

    def _through(self, piece: bytes) -> Iterator[bytes]:
        assert self._inflate is not None
        assert self._inner is not None
        for part in self._inflate(piece):
            yield from self._inner.feed(part)

    def _format(self, start: bytes) -> Callable[[bytes], Iterator[bytes]] | None:
        """How to decompress a body with this start; None: it is not compressed."""
        if start.startswith(_GZIP):
            return _zlib_reader(zlib.MAX_WBITS | 16)
        if start.startswith(_ZLIB):
            return _zlib_reader(zlib.MAX_WBITS)
        if start.startswith(_ZSTD):
            return _zstd_reader()
        # These two have no mark, and some hosts announce them for a body that is plain.
        unmarked = self._announced & {"deflate", "br"}
        if not unmarked or _is_text(start):
            return None
        return _zlib_reader(-zlib.MAX_WBITS) if "deflate" in unmarked else _brotli_reader()


def _is_text(start: bytes) -> bool:
    """Whether a body starts as JSON, events, a page or words do."""
    return all(32 <= byte < 127 or byte in b"\t\r\n" for byte in start.removeprefix(codecs.BOM_UTF8))


def _zlib_reader(wbits: int) -> Callable[[bytes], Iterator[bytes]]:
    """A reader of one or more members of a format of zlib. Whatever follows the last one is ignored."""
    inflater = zlib.decompressobj(wbits)

    def read(piece: bytes) -> Iterator[bytes]:
        nonlocal inflater
        while piece:
            if inflater.eof:
                if not piece.startswith(_GZIP):
                    return
                inflater = zlib.decompressobj(wbits)
            try:
                out = inflater.decompress(piece, STEP_BYTES)
            except zlib.error as exc:
                raise _broken(exc) from exc
            if out:
                yield out
            piece = inflater.unused_data if inflater.eof else inflater.unconsumed_tail

    return read


# Few hosts send what was not requested, so no library for these is a requirement of pnyx.


def _zstd_reader() -> Callable[[bytes], Iterator[bytes]]:
    zstd = _library("zstd", "compression.zstd", "backports.zstd")
    inflater = zstd.ZstdDecompressor()

    def read(piece: bytes) -> Iterator[bytes]:
        while not inflater.eof and (piece or not inflater.needs_input):
            try:
                out = inflater.decompress(piece, STEP_BYTES)
            except zstd.ZstdError as exc:
                raise _broken(exc) from exc
            if out:
                yield out
            piece = b""

    return read


def _brotli_reader() -> Callable[[bytes], Iterator[bytes]]:
    brotli = _library("br", "brotli")
    inflater = brotli.Decompressor()

    def read(piece: bytes) -> Iterator[bytes]:
        for start in range(0, len(piece), BROTLI_BYTES):
            try:
                yield inflater.process(piece[start : start + BROTLI_BYTES])
            except brotli.error as exc:
                raise _broken(exc) from exc

    return read


def _library(name: str, *modules: str) -> Any:
    """The first of `modules` that is installed."""
    for module in modules:
        try:
            return import_module(module)
        except ImportError:
            continue
    message = f"the answer is compressed as {name}, which was not requested; install {modules[-1]} to read it"
    raise ProviderError("malformed", message, billed=True)


def _broken(exc: Exception) -> ProviderError:
    return ProviderError("truncated", f"the answer broke off: it cannot be decompressed: {exc}", billed=True)
