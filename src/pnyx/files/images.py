"""The kind and the size of an image, from its first bytes."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

__all__ = ["ImageInfo", "image_info", "image_tokens"]

_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Markers of JPEG before which the size stands."""
TOKENS_AT_MOST = 1600
PIXELS_PER_TOKEN = 500
"""Hosts count one token for 750 pixels, or 170 for each square of 512; this is more than either."""


class ImageInfo(NamedTuple):
    """width, height: in pixels."""

    media_type: str
    width: int
    height: int


def image_info(data: bytes) -> ImageInfo | None:
    """Return what the data is an image of; None if it is none that models read, or damaged."""
    for is_kind, media_type, size in _KINDS:
        if is_kind(data):
            try:
                width, height = size(data)
            except (struct.error, IndexError):
                return None
            return ImageInfo(media_type, width, height) if width and height else None
    return None


def image_tokens(width: int, height: int) -> int:
    """About the most tokens that hosts count for an image; they scale larger ones down."""
    return min(85 + 170 + width * height // PIXELS_PER_TOKEN, TOKENS_AT_MOST)


def _png(data: bytes) -> tuple[int, int]:
    return struct.unpack(">II", data[16:24])


def _gif(data: bytes) -> tuple[int, int]:
    return struct.unpack("<HH", data[6:10])


def _jpeg(data: bytes) -> tuple[int, int]:
    at = 2
    while True:
        while data[at] == 0xFF and data[at + 1] == 0xFF:  # fill bytes
            at += 1
        if data[at] != 0xFF:
            raise IndexError
        if data[at + 1] in _FRAMES:
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")


def _webp(data: bytes) -> tuple[int, int]:
    kind = data[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if kind == b"VP8L":
        (bits,) = struct.unpack("<I", data[21:25])
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    width, height = struct.unpack("<HH", data[26:30])
    return width & 0x3FFF, height & 0x3FFF


_Size = Callable[[bytes], tuple[int, int]]
_KINDS: tuple[tuple[Callable[[bytes], bool], str, _Size], ...] = (
    (lambda data: data.startswith(b"\x89PNG\r\n\x1a\n"), "image/png", _png),
    (lambda data: data.startswith(b"\xff\xd8\xff"), "image/jpeg", _jpeg),
    (lambda data: data.startswith((b"GIF87a", b"GIF89a")), "image/gif", _gif),
    (lambda data: data.startswith(b"RIFF") and data[8:12] == b"WEBP", "image/webp", _webp),
)
