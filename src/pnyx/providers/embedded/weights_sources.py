"""Sources of the bytes of a model file. `weights_fetch` checks them against the sha256."""

from __future__ import annotations

import http.client
import importlib.metadata
import importlib.util
import os
import queue
import re
import shutil
import subprocess
import sys
import threading
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol
from urllib.parse import urlsplit

from .weights_table import Weights, Wheel

__all__ = ["Hub", "Index", "InstalledPackage", "Source", "SourceError", "sources"]

CHUNK = 1 << 20
OPEN_S = 6.0
READ_S = 30.0
POLL_S = 0.2


class SourceError(Exception):
    """This source does not have the file, and the next one is tried; the message says why."""


class Source(Protocol):
    @property
    def title(self) -> str:
        """Its name in progress and error messages."""
        ...

    def chunks(self, offset: int, work: Path, on_arrival: Callable[[int], None]) -> Iterator[bytes]:
        """The file's bytes from `offset` on, in order. Raises `SourceError`.

        work: an empty folder for temporary files. on_arrival: called with the number of bytes that have
        arrived and are not yielded yet.
        """
        ...


def sources(weights: Weights) -> tuple[Source, ...]:
    """The sources in the order of their use: this machine, the publisher, the package index."""
    return InstalledPackage(weights.wheels), Hub(weights.url, weights.bytes), Index(weights.wheels)


def _read(file: IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(CHUNK):
        yield chunk


def _from(offset: int, wheels: tuple[Wheel, ...]) -> Iterator[tuple[Wheel, int]]:
    """The wheels with bytes after `offset`, each with the number of its bytes before it."""
    for wheel in wheels:
        if offset < wheel.bytes:
            yield wheel, offset
        offset = max(0, offset - wheel.bytes)


@dataclass(frozen=True, slots=True)
class InstalledPackage:
    """The packages of the weights, if they are installed. They are read and never imported."""

    wheels: tuple[Wheel, ...]
    title: str = "an installed package"

    def chunks(self, offset: int, work: Path, on_arrival: Callable[[int], None]) -> Iterator[bytes]:
        for wheel, skipped in _from(offset, self.wheels):
            with self._open(wheel) as file:
                file.seek(skipped)
                yield from _read(file)

    def _open(self, wheel: Wheel) -> IO[bytes]:
        try:
            package = importlib.metadata.distribution(wheel.package)
            return Path(str(package.locate_file(wheel.member))).open("rb")
        except (importlib.metadata.PackageNotFoundError, OSError) as exc:
            raise SourceError(f"{wheel.package} is not installed") from exc


@dataclass(frozen=True, slots=True)
class Hub:
    """One file on the publisher's host, continued where an earlier attempt stopped.

    open_s: seconds until the response must start, name resolution included.
    """

    url: str
    size: int
    open_s: float = OPEN_S

    @property
    def title(self) -> str:
        return urlsplit(self.url).hostname or self.url

    def chunks(self, offset: int, work: Path, on_arrival: Callable[[int], None]) -> Iterator[bytes]:
        headers = {"User-Agent": "pnyx"} | ({"Range": f"bytes={offset}-"} if offset else {})
        try:
            with self._open(urllib.request.Request(self.url, headers=headers)) as response:
                skip = 0 if response.status == 206 else offset
                length = response.headers.get("Content-Length", "")
                if length.isdigit() and int(length) != self.size - (offset - skip):
                    raise SourceError("it answered with a different file")
                for chunk in _read(response):
                    yield chunk[skip:]
                    skip = max(0, skip - len(chunk))
        except urllib.error.HTTPError as exc:
            exc.close()
            raise SourceError(f"it answered {exc.code}") from exc
        except (OSError, http.client.HTTPException) as exc:
            raise SourceError(f"it cannot be reached ({getattr(exc, 'reason', exc)})") from exc

    def _open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        # Name resolution has no time limit, so the attempt runs in a thread that can be abandoned.
        answer: queue.SimpleQueue[http.client.HTTPResponse | Exception] = queue.SimpleQueue()

        def attempt() -> None:
            try:
                answer.put(urllib.request.urlopen(request, timeout=READ_S))
            except Exception as exc:
                answer.put(exc)

        threading.Thread(target=attempt, daemon=True).start()
        try:
            result = answer.get(timeout=self.open_s)
        except queue.Empty:
            raise SourceError(f"no answer within {self.open_s:g} s") from None
        if isinstance(result, Exception):
            raise result
        return result


@dataclass(frozen=True, slots=True)
class Index:
    """Wheels of the package index, fetched by pip or uv, which use the user's mirrors and proxies."""

    wheels: tuple[Wheel, ...]
    client: tuple[str, ...] = field(default_factory=lambda: _client())
    title: str = "the package index"

    def chunks(self, offset: int, work: Path, on_arrival: Callable[[int], None]) -> Iterator[bytes]:
        for wheel, skipped in _from(offset, self.wheels):
            self._fetch(wheel, work, on_arrival)
            with _member(wheel, work) as file:
                file.seek(skipped)
                yield from _read(file)
            _clear(work)

    def _fetch(self, wheel: Wheel, work: Path, on_arrival: Callable[[int], None]) -> None:
        """Leave the wheel, or its files, in `work`. Raises `SourceError`."""
        if not self.client:
            raise SourceError("neither pip nor uv is installed")
        requirements = work / "requirements.txt"
        requirements.write_text(f"{wheel.package}=={wheel.version} --hash=sha256:{wheel.sha256}\n")
        command = [*self.client, str(work), "--no-deps", "--only-binary=:all:", "--require-hashes"]
        # In a file, not a pipe: nothing reads a pipe while the client runs, and a full one would stop it.
        with (work / "output").open("w+", errors="replace") as output:
            process = subprocess.Popen(
                [*command, "--quiet", "-r", str(requirements)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                # pip unpacks into TMPDIR, which must have room, and whose size is the progress.
                env=os.environ | {"TMPDIR": str(work)},
            )
            try:
                while process.poll() is None:
                    on_arrival(min(_size(work), wheel.bytes))
                    try:
                        process.wait(POLL_S)
                    except subprocess.TimeoutExpired:
                        continue
            except BaseException:
                process.kill()
                process.wait()
                raise
            output.seek(0)
            if process.returncode:
                raise SourceError(f"{wheel.package}: {_reason(output.read())}")


def _client() -> tuple[str, ...]:
    """The command that fetches wheels into a folder, its last argument; empty without pip and uv."""
    download = (
        "download",
        "--disable-pip-version-check",
        "--no-input",
        "--no-cache-dir",
        "--retries=2",
        "-d",
    )
    if importlib.util.find_spec("pip"):
        return (sys.executable, "-P", "-m", "pip", *download)
    if pip := shutil.which("pip") or shutil.which("pip3"):
        return (pip, *download)
    if uv := shutil.which("uv"):
        return (uv, "pip", "install", "--no-cache", "--python", sys.executable, "--target")
    return ()


@contextmanager
def _member(wheel: Wheel, work: Path) -> Iterator[IO[bytes]]:
    """The wheel's part of the GGUF file: in a wheel from pip, or unpacked by uv."""
    with ExitStack() as stack:
        try:
            if archive := next(work.glob("*.whl"), None):
                file = stack.enter_context(stack.enter_context(zipfile.ZipFile(archive)).open(wheel.member))
            else:
                file = stack.enter_context((work / wheel.member).open("rb"))
        except (KeyError, OSError, zipfile.BadZipFile) as exc:
            raise SourceError(f"{wheel.package} does not hold {wheel.member}") from exc
        yield file


def _size(folder: Path) -> int:
    total = 0
    # The client removes temporary files and folders during the count; os.walk ignores that.
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.stat(os.path.join(place, name)).st_size
    return total


def _clear(folder: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


_REASONS = {
    r"DO NOT MATCH THE HASHES|[Hh]ash mismatch": "its wheel is not the pinned one",
    r"No space left|os error 28": "the disk is full",
    r"Retrying|Connection|Max retries|timed out|[Cc]ould not connect|dns error|[Ff]ailed to fetch": (
        "the index cannot be reached"
    ),
    r"No matching distribution|not found in|no version": "the index does not have it",
}


def _reason(output: str) -> str:
    """The cause of a failure, in a few words: the client's output names hosts and folders of no use here."""
    for pattern, reason in _REASONS.items():
        if re.search(pattern, output):
            return reason
    return "the package client failed"
