"""Pipes as files: `--file <(command)`, and one that nobody writes to."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import pytest

from pnyx.config.schema import ContextSettings
from pnyx.core.context.files import Source
from pnyx.errors import FileProblem
from pnyx.files import read
from pnyx.files.read import read_files


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


async def text_of(path: Path) -> str:
    return (await read_files([Source(path=str(path))], ContextSettings(), paths=True)).files[0].text


async def test_a_pipe_is_read_to_its_end(pipe: Path) -> None:
    line = "a line that is written\n"
    writer = threading.Thread(target=lambda: pipe.write_text(line * 10_000))
    writer.start()
    assert (await text_of(pipe)).count(line.strip()) == 10_000
    writer.join()


async def test_a_pipe_without_a_writer_is_an_error_after_a_while(
    pipe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "PIPE_S", 0.01)
    with pytest.raises(FileProblem, match=r"nothing came from .*pipe within 0\.01 s: is its"):
        await text_of(pipe)


async def test_waiting_for_a_writer_can_be_interrupted(pipe: Path) -> None:
    reading = asyncio.ensure_future(text_of(pipe))
    # Opening it for writing succeeds as soon as it is open for reading.
    writer = None
    while writer is None:
        await asyncio.sleep(0.001)
        try:
            writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            continue
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    with pytest.raises(BrokenPipeError):
        os.write(writer, b"nobody reads")
    os.close(writer)


@pytest.mark.parametrize(
    ("name", "noted"), [("page.pdf", True), ("photo.JPG", True), ("notes.md", False), ("pdf", False)]
)
async def test_a_text_that_is_named_as_a_document_is_noted(tmp_path: Path, name: str, noted: bool) -> None:
    (tmp_path / name).write_text("<html>404</html>")
    found = await read_files([Source(path=str(tmp_path / name))], ContextSettings(), paths=True)
    assert any("is a text, whatever its name says" in note for note in found.notes) is noted
