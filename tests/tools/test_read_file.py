"""Files are read only from below the configured folders, whatever the path."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pnyx.tools import ToolError
from pnyx.tools.read_file import BYTES, ReadFile
from tests.support.waiting import STALL_S


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with a.txt and sub/b.txt, and a secret outside of it."""
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_text("one\ntwo\nthree\n")
    (root / "sub" / "b.txt").write_text("below")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "b.txt").write_text("planted secret")
    return root


async def read(root: Path, path: str, **more: Any) -> str:
    return await ReadFile([root]).run({"path": path, **more})


async def refusal(root: Path, path: str, **more: Any) -> str:
    began = time.monotonic()
    with pytest.raises(ToolError) as caught:
        await read(root, path, **more)
    assert time.monotonic() - began < STALL_S
    assert "planted" not in str(caught.value)
    return str(caught.value)


async def test_a_file_is_shown_with_line_numbers(root: Path) -> None:
    assert await read(root, "a.txt") == "a.txt, lines 1 to 3 of 3\n1  one\n2  two\n3  three"
    assert await read(root, "./sub//b.txt") == "./sub//b.txt, lines 1 to 1 of 1\n1  below"


async def test_an_absolute_path_beneath_a_root_is_read(root: Path) -> None:
    assert (await read(root, str(root / "a.txt"))).endswith("3  three")


async def test_a_part_of_a_file_is_shown(root: Path) -> None:
    (root / "long").write_text("".join(f"line {n}\n" for n in range(1, 1001)))
    assert await read(root, "long", start_line=9, lines=2) == (
        "long, lines 9 to 10 of 1000\n 9  line 9\n10  line 10"
    )
    assert (await read(root, "long", start_line="999")).endswith("999  line 999\n1000  line 1000")
    assert (await read(root, "long")).endswith("400  line 400")
    assert "only 1000 lines" in await refusal(root, "long", start_line=1001)


async def test_a_folder_lists_its_names(root: Path) -> None:
    (root / ".hidden").write_text("")
    assert await read(root, ".") == ". is a folder with:\na.txt\nsub/"


async def test_the_first_root_that_has_the_file_counts(root: Path, tmp_path: Path) -> None:
    tool = ReadFile([root, tmp_path / "outside"])
    assert "planted secret" in await tool.run({"path": "b.txt"})
    assert "one" in await tool.run({"path": "a.txt"})


async def test_a_root_may_be_a_symbolic_link(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root)
    assert "three" in await read(tmp_path / "link", "a.txt")
    assert "three" in await read(tmp_path / "link", str(tmp_path / "link" / "a.txt"))


async def test_invalid_utf8_is_replaced_and_a_binary_file_is_refused(root: Path) -> None:
    (root / "latin").write_bytes(b"caf\xe9\r\nau lait")
    assert await read(root, "latin") == "latin, lines 1 to 2 of 2\n1  caf\ufffd\n2  au lait"
    (root / "binary").write_bytes(b"\x7fELF\0\0")
    assert "not a text file" in await refusal(root, "binary")


async def test_a_file_that_is_too_large_is_refused(root: Path) -> None:
    with (root / "large").open("wb") as file:
        file.truncate(BYTES + 1)
    assert "larger than 5 MB" in await refusal(root, "large")


@pytest.mark.parametrize(
    "path",
    [
        *("../outside/b.txt", "sub/../../outside/b.txt", "..", "sub/..", "/etc/passwd", "~/b.txt", "none"),
        *("a.txt/b", "sub/b.txt/../b.txt", "\0", "a.txt\0", "\ud800", "x" * 2000, "a/" * 400),
        *("", "  ", "/", "//etc/passwd", "/proc/self/environ", "file:///etc/passwd"),
    ],
)
async def test_a_path_that_leads_nowhere_or_out_is_refused(root: Path, path: str) -> None:
    await refusal(root, path)


async def test_hidden_files_are_refused(root: Path) -> None:
    (root / ".env").write_text("KEY=planted")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("planted")
    assert "no hidden files" in await refusal(root, ".env")
    assert "no hidden files" in await refusal(root, ".git/config")


async def test_no_symbolic_link_is_followed_at_any_level(root: Path, tmp_path: Path) -> None:
    (root / "file").symlink_to(tmp_path / "outside" / "b.txt")
    (root / "folder").symlink_to(tmp_path / "outside")
    (root / "inward").symlink_to("a.txt")
    (root / "loop").symlink_to("loop")
    for path in ("file", "folder/b.txt", "folder", "inward", "loop"):
        assert "symbolic link" in await refusal(root, path)


async def test_a_hard_link_is_refused(root: Path, tmp_path: Path) -> None:
    os.link(tmp_path / "outside" / "b.txt", root / "same")
    assert "hard link" in await refusal(root, "same")


async def test_pipes_and_sockets_are_refused_without_waiting(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(root / "pipe")
    # The path of a socket must be short.
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket")
        for path in ("pipe", "socket"):
            assert "not a file" in await refusal(root, path)


@pytest.mark.parametrize(
    "path", ["proc/self/environ", "proc/1/cmdline", "sys/kernel/mm", "dev/null", "dev/zero"]
)
async def test_with_the_root_folder_proc_and_devices_are_refused(path: str) -> None:
    assert "is not read" in await refusal(Path("/"), path)
    assert "is not read" in await refusal(Path("/"), f"/{path}")


@pytest.mark.parametrize("folder", ["/proc", "/proc/self", "/sys", "/dev", "/none", "a.txt"])
def test_an_invalid_root_is_an_error(root: Path, folder: str) -> None:
    with pytest.raises(ToolError, match=r"tools\.file_read\.roots"):
        ReadFile([root / folder])


def test_no_roots_is_an_error() -> None:
    with pytest.raises(ToolError, match=r"tools\.file_read\.roots is empty"):
        ReadFile([])


def swap_before_opening(monkeypatch: pytest.MonkeyPatch, name: str, swap: Callable[[], None]) -> None:
    """Call `swap` between the check of `name` and its opening, the worst moment."""
    original = os.open

    def open_after_swap(path: Any, *arguments: Any, **more: Any) -> int:
        if path == name:
            swap()
        return original(path, *arguments, **more)

    monkeypatch.setattr(os, "open", open_after_swap)


@pytest.mark.parametrize("path", ["sub", "sub/b.txt"])
async def test_a_folder_or_file_swapped_for_a_link_during_opening_is_refused(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    def swap() -> None:
        (root / path).rename(tmp_path / "away")
        (root / path).symlink_to(tmp_path / "outside" / Path(path).relative_to("sub"))

    swap_before_opening(monkeypatch, Path(path).name, swap)
    assert "symbolic links" in await refusal(root, "sub/b.txt")


async def test_a_folder_moved_during_reading_is_still_the_one_read(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swap() -> None:
        (root / "sub").rename(tmp_path / "away")
        (root / "sub").symlink_to(tmp_path / "outside")

    swap_before_opening(monkeypatch, "b.txt", swap)
    assert (await read(root, "sub/b.txt")).endswith("1  below")


async def test_a_file_swapped_for_a_pipe_during_opening_does_not_hang(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swap() -> None:
        (root / "a.txt").unlink()
        os.mkfifo(root / "a.txt")

    swap_before_opening(monkeypatch, "a.txt", swap)
    assert "not a file" in await refusal(root, "a.txt")


async def test_a_file_swapped_for_a_hard_link_during_opening_is_refused(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swap() -> None:
        (root / "a.txt").unlink()
        os.link(tmp_path / "outside" / "b.txt", root / "a.txt")

    swap_before_opening(monkeypatch, "a.txt", swap)
    assert "hard link" in await refusal(root, "a.txt")


@pytest.mark.parametrize("start", ["x", [], {}, 1e400])
async def test_a_start_line_that_is_not_a_number_is_an_error(root: Path, start: object) -> None:
    assert "whole number" in await refusal(root, "a.txt", start_line=start)


async def test_no_descriptor_stays_open(root: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for path in ("a.txt", "sub", "sub/b.txt"):
        await read(root, path)
    for path in ("none", "sub/none", "a.txt/b", "../x"):
        await refusal(root, path)
    assert len(os.listdir("/proc/self/fd")) == before
