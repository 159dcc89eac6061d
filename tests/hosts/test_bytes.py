"""Bodies whose bytes are not what their headers say, or stand among others: compression, charset, words."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.errors import ProviderError
from pnyx.providers.hosted.compression import Decompressor
from pnyx.providers.hosted.connection import Limits, Response
from tests.support.rows import rows

REPLY = {"choices": [{"message": {"content": "Yes."}, "finish_reason": "stop"}]}
WHOLE = json.dumps(REPLY).encode()
STREAM = b"data: " + WHOLE + b"\n\ndata: [DONE]\n\n"
ENCODE: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "deflate": zlib.compress}
ANNOUNCED = ("", "gzip", "x-gzip", "deflate", "br", "zstd", "identity", "utf-8", "none", "gzip, gzip")


class Body:
    """A response of aiohttp that has arrived, in pieces of some size."""

    def __init__(self, data: bytes, size: int = 7, content_type: str = "", encoding: str = "") -> None:
        self._pieces = [data[at : at + size] for at in range(0, len(data), size)]
        self.content = self
        self.charset = content_type.partition("charset=")[2] or None
        self.headers = {"Content-Encoding": encoding} if encoding else {}

    async def readany(self) -> bytes:
        return self._pieces.pop(0) if self._pieces else b""


def documents(body: Body, max_bytes: int = 10_000, frame_bytes: int = 0) -> list[Any]:
    limits = Limits(max_bytes, frame_bytes=frame_bytes)

    async def read() -> list[Any]:
        return [document async for document in Response(body, limits).documents()]  # type: ignore[arg-type]

    return asyncio.run(read())


def decompressed(data: bytes, announced: str, size: int) -> bytes:
    body = Decompressor(announced)
    parts = [part for at in range(0, len(data), size) for part in body.feed(data[at : at + size])]
    return b"".join([*parts, *body.end()])


@given(
    text=st.sampled_from((WHOLE, STREAM, b"error", b"")),
    layers=st.lists(st.sampled_from(sorted(ENCODE)), max_size=2),
    announced=st.sampled_from(ANNOUNCED),
    size=st.integers(1, 400),
)
def test_a_body_is_decompressed_by_what_it_is_whatever_is_announced(
    text: bytes, layers: list[str], announced: str, size: int
) -> None:
    data = text
    for layer in layers:
        data = ENCODE[layer](data)
    assert decompressed(data, announced, size) == text


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def zstd(data: bytes) -> bytes:
    return pytest.importorskip("backports.zstd").compress(data)


@rows(
    "announced, encode",
    [
        ("deflate", raw_deflate),
        ("", zstd),
        ("zstd", zstd),
        # Two members, as log-structured caches append them, and a last one without its check sum.
        ("gzip", lambda data: gzip.compress(data[:20]) + gzip.compress(data[20:])),
        ("gzip", lambda data: gzip.compress(data)[:-8]),
        ("gzip", lambda data: gzip.compress(data) + b"\0\0"),
    ],
)
def test_other_forms_of_compression_are_read(announced: str, encode: Callable[[bytes], bytes]) -> None:
    assert decompressed(encode(STREAM), announced, 5) == STREAM


@rows(
    "data, encoding, kind, words",
    [
        (b"\x1f\x8b\x08" + b"\xff" * 40, "gzip", "truncated", "cannot be decompressed"),
        (
            b"\x1b\x9f\x00\xf8\x8d\x94\x6e\xde\x44",
            "br",
            "malformed",
            "compressed as br, which was not requested",
        ),
    ],
)
def test_what_cannot_be_decompressed_may_have_cost(data: bytes, encoding: str, kind: str, words: str) -> None:
    with pytest.raises(ProviderError, match=words) as caught:
        documents(Body(data, encoding=encoding))
    assert (caught.value.kind, caught.value.billed) == (kind, True)


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
def test_a_small_body_that_becomes_a_huge_one_is_stopped(pack: Callable[[bytes], bytes]) -> None:
    bomb = pack(pack(bytes(20_000_000)))
    with pytest.raises(ProviderError, match="is over 1000 bytes"):
        documents(Body(bomb, 4_000), 1000)


def test_a_body_has_room_for_the_frames_of_a_stream_only_if_it_is_one() -> None:
    assert documents(Body(STREAM * 20), 1000, 1000).count(REPLY) == 20
    with pytest.raises(ProviderError, match="is over 2000 bytes"):
        documents(Body(STREAM * 40), 1000, 1000)
    with pytest.raises(ProviderError, match="is over 1000 bytes"):
        documents(Body(b" " * 1500 + WHOLE), 1000, 1000)


def said(text: str) -> bytes:
    return json.dumps({"text": text}, ensure_ascii=False).encode()


@rows(
    "data, content_type, text",
    [
        ('{"text": "Café"}'.encode("latin-1"), "application/json; charset=iso-8859-1", "Café"),
        ('{"text": "“7”"}'.encode("cp1252"), "application/json; charset=windows-1252", "“7”"),
        ('{"text": "是"}'.encode("gbk"), "application/json; charset=gbk", "是"),
        ('data: {"text": "是"}\n\n'.encode("gbk"), "text/event-stream; charset=gbk", "是"),
        ('{"text": "Café"}'.encode("utf-16"), "application/json; charset=utf-16", "Café"),
        # What is UTF-8 is read as that, whatever is announced; other bytes cost their characters alone.
        (said("Café"), "application/json; charset=iso-8859-1", "Café"),
        (said("Café"), "application/json; charset=nonsense", "Café"),
        (b'{"text": "a\xff"}', "application/json; charset=nonsense", "a\ufffd"),
        (b'{"text": "a\xff"}', "", "a\ufffd"),
    ],
)
def test_text_that_is_not_utf_8_is_read_by_the_announced_charset(
    data: bytes, content_type: str, text: str
) -> None:
    assert documents(Body(data, content_type=content_type)) == [{"text": text}]


@rows(
    "before, behind",
    [
        (b")]}',\n", b""),
        (b"INFO:     ready\n", b""),
        (b"<br />\n<b>Warning</b>: Undefined index in <b>/a.php</b> on line <b>3</b><br />\n", b""),
        (b"ping\n\n", b""),
        (b"\0\0", b"\0"),
        (b"", b"\n<!-- edge 7 -->"),
    ],
)
def test_words_around_a_reply_are_no_part_of_it(before: bytes, behind: bytes) -> None:
    assert documents(Body(before + WHOLE + behind)) == [REPLY]
    if b"<" not in before + behind:
        assert documents(Body(before + STREAM.replace(b"data:", b"Data:") + behind))[0] == REPLY


def test_a_page_with_documents_in_its_scripts_is_a_page() -> None:
    page = b'<html><script>\n{"a": 1}\n</script></html>'
    with pytest.raises(ProviderError, match="a web page came instead of a reply"):
        documents(Body(page))
