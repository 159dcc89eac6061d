"""`--url`: pages, documents and images of the web, with the protections of the page reader."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from pnyx.config.schema import ContextSettings
from pnyx.core.context.files import File, Source
from pnyx.errors import UsageError
from pnyx.files.read import read_files
from pnyx.tools.read_page import ReadPage
from tests.support.documents import pdf_of, png_of


@asynccontextmanager
async def site(kind: str, body: bytes) -> AsyncIterator[tuple[str, ReadPage]]:
    """A server on loopback with one page, and a reader that may read it."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        allowed = ReadPage(allow=[("127.0.0.1", port)], limit=100_000, accepts=lambda kind: True)
        yield f"http://127.0.0.1:{port}/page", allowed


async def read(kind: str, body: bytes) -> File:
    async with site(kind, body) as (url, reader):
        return (await read_files([Source(url=url)], ContextSettings(), page=reader)).files[0]


async def test_a_page_is_read_as_its_readable_text_under_its_address() -> None:
    text = "The limit is three. " * 20
    file = await read("text/html", f"<html><body><p>{text}</p><script>x()</script></body></html>".encode())
    assert file.name.startswith("http://127.0.0.1:")
    assert "The limit is three." in file.text
    assert "x()" not in file.text


async def test_a_document_and_an_image_are_read_as_such() -> None:
    document = await read("application/pdf", pdf_of("The limit is 3."))
    assert "The limit is 3." in document.text
    image = await read("image/png", png_of(30, 20))
    assert (image.is_image, image.note) == (True, "30 x 20")


async def test_a_page_that_is_too_large_is_refused_and_not_cut() -> None:
    with pytest.raises(UsageError, match=r"is larger than .* MB \(\[context\] file_mb\)"):
        await read("text/plain", b"word " * 40_000)


async def test_what_is_no_text_document_or_image_is_refused() -> None:
    with pytest.raises(UsageError, match="is not text, and of no kind that can be read"):
        await read("application/octet-stream", b"\x7fELF" + b"\0" * 99)
    with pytest.raises(UsageError, match="is RTF, which is not read"):
        await read("text/rtf", rb"{\rtf1 The limit is 3.}")


async def test_addresses_of_this_network_are_refused() -> None:
    for url in ("http://127.0.0.1:8080/", "http://10.0.0.1/", "http://[::1]/", "file:///etc/passwd"):
        with pytest.raises(UsageError, match=r"only (public addresses|http)"):
            await read_files([Source(url=url)], ContextSettings())
