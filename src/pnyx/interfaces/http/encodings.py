"""Compressed bodies of requests: gzip, deflate and zstd, as some clients send long conversations."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Mapping
from typing import Any

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["ENCODINGS", "Decoder", "EncodingError"]


class EncodingError(ValueError):
    """A body is not in the encoding that it names, or too long once it is decoded."""

    def __init__(self, message: str, too_long: bool = False) -> None:
        super().__init__(message)
        self.too_long = too_long


ENCODINGS: Mapping[str, Callable[[], Any]] = {
    "gzip": lambda: zlib.decompressobj(wbits=31),
    "x-gzip": lambda: zlib.decompressobj(wbits=31),
    "deflate": lambda: zlib.decompressobj(wbits=15),
    "zstd": zstd.ZstdDecompressor,
}
"""Name of an encoding -> makes what decodes one body."""


class Decoder:
    """Decodes a body part by part, up to `most` bytes."""

    def __init__(self, encoding: str, most: int) -> None:
        self._encoding, self._most = encoding, most
        self._inner = ENCODINGS[encoding]()
        self._bytes = 0

    def add(self, part: bytes, last: bool) -> bytes:
        """Return what a part of the body decodes to. Raises `EncodingError`."""
        left = self._most - self._bytes
        try:
            # What follows the end, such as a second member, is no part of the body.
            decoded: bytes = b"" if self._inner.eof or not part else self._inner.decompress(part, left + 1)
        except (zlib.error, zstd.ZstdError) as exc:
            raise EncodingError(f"the body is not {self._encoding}: {exc}") from None
        self._bytes += len(decoded)
        if len(decoded) > left:
            raise EncodingError("the body is too long", too_long=True)
        if last and not self._inner.eof:
            raise EncodingError(f"the body is not {self._encoding}: it ends too early")
        return decoded
