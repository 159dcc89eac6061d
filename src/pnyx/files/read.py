"""Reads the sources of a request's files: paths, texts, bytes and addresses become texts and images."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import os
import re
import stat
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, NamedTuple

from ..config.schema import ContextSettings
from ..core.context.files import File, Source, number_lines, unique_names
from ..core.text import is_text, replace_invalid
from ..errors import FileProblem
from ..tools import ToolError
from .decode import decode
from .diff_lines import is_diff, number_diff
from .documents import KINDS, document_kind, document_text, refuse_unread
from .images import image_info, image_tokens
from .notebook import MEDIA_TYPE, is_notebook_name, notebook_text
from .secret_files import looks_secret

if TYPE_CHECKING:
    from ..tools.read_page import ReadPage

__all__ = ["DIFF", "Reading", "read_files", "read_text"]

MB = 1_000_000
DIFF = "text/x-diff"
LONGEST_NAME = 300
PIPE_S = 60.0
"""Seconds after which a pipe on which nothing comes is an error."""


class Reading(NamedTuple):
    """The files that were read. notes: what the person should know of them, a line each."""

    files: tuple[File, ...] = ()
    notes: tuple[str, ...] = ()


class _Text(NamedTuple):
    """note: how it was read, such as its encoding."""

    text: str
    media_type: str
    note: str = ""


async def read_text(source: Source, limits: ContextSettings) -> str:
    """Return the text of a source that has a path or data, without line numbers.

    Raises `FileProblem`, also if it is empty.
    """
    name = source.name or source.path or "the text"
    data = source.data
    if source.path is not None:
        data = await _bytes(Path(source.path), limits)
    _limit(name, data or b"", limits.file_mb, "file_mb")
    text = (await _decoded(name, data or b"", source.media_type)).text
    if not text.strip():
        raise FileProblem(f"{name} is empty")
    return text


async def read_files(
    sources: Iterable[Source | File],
    limits: ContextSettings,
    *,
    paths: bool = False,
    roots: Sequence[Path] | None = None,
    page: ReadPage | None = None,
    listed: Collection[str] = (),
) -> Reading:
    """Read the sources, in their order. `File` objects are read already.

    paths: whether the request may name files of this machine. roots: the only folders in which they may be,
    for a request that a person has not typed: relative paths start in the first. page: fetches addresses;
    None: the public web. listed: paths in folders, which nobody has named: what cannot be read of them is
    left out, with a note. Raises `FileProblem` for any other that cannot be read, and if they are too many
    or too large.
    """
    wanted = list(sources)
    if len(wanted) > limits.files:
        raise FileProblem(
            f"there are {len(wanted):,} files, and at most {limits.files:,} are read ([context] files)"
        )
    files: list[File] = []
    notes: list[str] = []
    size = 0
    for number, one in enumerate(wanted, 1):
        if isinstance(one, File):
            file = one
        else:
            _check(one, number, paths or roots is not None)
            one = one if roots is None else _within(one, roots)
            try:
                file = await _read(one, number, limits, page)
            except FileProblem as exc:
                if one.path not in listed:
                    raise
                notes.append(f"left out: {exc}")
                continue
            if one.path is not None and looks_secret(file.name, file.text.encode("utf-8", "replace")):
                notes.append(f"{file.name} looks like a secret: every model of the panel gets it")
            if one.path is not None and file.media_type == "text/plain" and _is_document_name(file.name):
                notes.append(f"{file.name} is a text, whatever its name says, and is given as it is")
        size += file.size
        if size > limits.total_mb * MB:
            raise FileProblem(
                f"the files are larger than {limits.total_mb:g} MB together ([context] total_mb): "
                "leave some out"
            )
        files.append(file)
    return Reading(unique_names(files), tuple(notes))


def _is_document_name(name: str) -> bool:
    """Whether the name is that of a document or an image: a failed download is often a text."""
    return PurePath(name).suffix.lower().lstrip(".") in (*KINDS, "png", "jpg", "jpeg", "gif", "webp")


def _check(source: Source, number: int, paths: bool) -> None:
    forms = [n for n in ("content", "data", "url", "path") if getattr(source, n) is not None]
    if len(forms) != 1:
        raise FileProblem(
            f"file {number} needs exactly one of content, data_base64, url and path, not {len(forms)}"
        )
    if source.path is not None and not paths:
        raise FileProblem(f"file {number}: paths are not read here; send the content, or data_base64")
    if len(source.name) > LONGEST_NAME or not is_text(source.name):
        raise FileProblem(f"the name of file {number} is not a text of at most {LONGEST_NAME} characters")


def _within(source: Source, roots: Sequence[Path]) -> Source:
    """The source with its path resolved. Raises `FileProblem` if that is in none of the folders."""
    if source.path is None:
        return source
    tops = [root.resolve() for root in roots]
    # Resolved, so that no link and no ".." leads elsewhere.
    path = (tops[0] / source.path).resolve() if tops else Path(source.path)
    if not any(path.is_relative_to(top) for top in tops):
        raise FileProblem(
            f"{source.path} is not read: it is outside the folders of [tools.file_read] roots; send its text"
        )
    if looks_secret(path.name):
        raise FileProblem(f"{source.path} is not read: it looks like a secret")
    return replace(source, name=source.name or source.path, path=str(path))


async def _read(source: Source, number: int, limits: ContextSettings, page: ReadPage | None) -> File:
    name = source.name or source.path or source.url or f"file {number}"
    if source.url is not None:
        return await _page(source.url, source.name, limits, page)
    if source.path is not None:
        data = await _bytes(Path(source.path), limits)
        return await _file(name, data, source.media_type, limits)
    if source.data is not None:
        return await _file(name, source.data, source.media_type, limits)
    text = replace_invalid(source.content or "").replace("\r\n", "\n").replace("\r", "\n")
    refuse_unread(text.encode(), name)
    read = await _cells(name, text) or _Text(text, source.media_type or "text/plain")
    return _text(name, text.encode(), read, limits)


async def _bytes(path: Path, limits: ContextSettings) -> bytes:
    most = int(limits.file_mb * MB)
    try:
        # Not after it is opened: opening a pipe waits for its writer.
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise FileProblem(f"{path} is a folder: name its files, or on the command line --dir {path}")
        if stat.S_ISFIFO(mode):
            return await _pipe_bytes(path, most + 1)
        if not stat.S_ISREG(mode):
            raise FileProblem(f"{path} is not a file")
        return await asyncio.to_thread(_file_bytes, path, most + 1)
    except OSError as exc:
        raise FileProblem(f"{path}: {exc.strerror or exc}") from None


def _file_bytes(path: Path, most: int) -> bytes:
    with path.open("rb") as file:
        return file.read(most)


async def _pipe_bytes(path: Path, most: int) -> bytes:
    """Read a pipe to its end. Not in a thread, which would outlive Ctrl-C while it waits for a writer."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    loop, ready, data = asyncio.get_running_loop(), asyncio.Event(), bytearray()
    loop.add_reader(descriptor, ready.set)
    try:
        while len(data) < most:
            await asyncio.wait_for(ready.wait(), PIPE_S)
            ready.clear()
            with contextlib.suppress(BlockingIOError):
                piece = os.read(descriptor, most - len(data))
                if not piece:
                    break
                data += piece
    except TimeoutError:
        raise FileProblem(f"nothing came from {path} within {PIPE_S:g} s: is its writer running?") from None
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
    return bytes(data)


async def _file(name: str, data: bytes, media_type: str, limits: ContextSettings) -> File:
    if (info := image_info(data)) is not None:
        _limit(name, data, limits.image_mb, "image_mb")
        image = base64.b64encode(data).decode("ascii")
        return File(
            name,
            info.media_type,
            len(data),
            hashlib.sha256(data).hexdigest(),
            hashlib.sha256(image.encode()).hexdigest(),
            image_tokens(info.width, info.height),
            f"{info.width} x {info.height}",
            image=image,
        )
    _limit(name, data, limits.file_mb, "file_mb")
    return _text(name, data, await _decoded(name, data, media_type), limits)


async def _decoded(name: str, data: bytes, media_type: str) -> _Text:
    if (kind := document_kind(data)) is not None:
        return _Text(await document_text(data, kind, name), KINDS[kind], f"text of {kind}")
    refuse_unread(data, name)
    text, encoding = await asyncio.to_thread(decode, data, name)
    return await _cells(name, text) or _Text(text, media_type or "text/plain", encoding)


async def _cells(name: str, text: str) -> _Text | None:
    """The cells of a notebook; None for any other text."""
    if not is_notebook_name(name):
        return None
    cells = await asyncio.to_thread(notebook_text, text)
    return None if cells is None else _Text(cells, MEDIA_TYPE, "cells of a notebook")


def _text(name: str, data: bytes, read: _Text, limits: ContextSettings) -> File:
    _limit(name, data, limits.file_mb, "file_mb")
    if not read.text.strip():
        raise FileProblem(f"{name} is empty")
    text = read.text.rstrip("\n").replace("\0", "\N{REPLACEMENT CHARACTER}")
    if is_diff(text):
        return File.of_text(name, data, number_diff(text), media_type=DIFF, note=read.note)
    return File.of_text(name, data, number_lines(text), media_type=read.media_type, note=read.note)


async def _page(url: str, name: str, limits: ContextSettings, reader: ReadPage | None) -> File:
    # aiohttp is loaded only where an address is read.
    from ..tools.read_page import ReadPage, is_text_kind, page_text

    most = int(limits.file_mb * MB)
    try:
        page = await (reader or ReadPage(limit=most, accepts=lambda kind: True)).fetch(url.strip())
        if not page.whole:
            raise FileProblem(f"{url} is larger than {limits.file_mb:g} MB ([context] file_mb)")
        shown = name or str(page.url)
        refuse_unread(page.body, shown)
        other = document_kind(page.body) or image_info(page.body) or is_notebook_name(page.url.path)
        if other or not is_text_kind(page.kind):
            return await _file(shown, page.body, page.kind, limits)
        text = (await page_text(page)).rstrip("\n")
    except ToolError as exc:
        raise FileProblem(f"{re.sub('//[^/@]*@', '//…@', url)}: {exc}") from None
    return _text(shown, page.body, _Text(text, page.kind), limits)


def _limit(name: str, data: bytes, most: float, setting: str) -> None:
    if len(data) > most * MB:
        raise FileProblem(f"{name} is larger than {most:g} MB ([context] {setting})")
