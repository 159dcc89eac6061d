"""Clients that are servers: started, asked as their pages ask them, and stopped."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from checks import expect

__all__ = ["Program", "free_port", "new_folder"]

START_S = 150


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def new_folder() -> Path:
    return Path(tempfile.mkdtemp())


class Program:
    """A running server. url: without a path. headers: sent with every request."""

    def __init__(
        self,
        command: Sequence[str | Path],
        folder: Path,
        url: str,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.url, self.headers, self._log = url, {"Content-Type": "application/json"}, folder / "log"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                command, cwd=folder, env={**os.environ, **(environment or {})}, stdout=log, stderr=log
            )

    def wait(self, asked: Callable[[], object]) -> None:
        """Wait until a request succeeds. Fails with the end of the log."""
        end = time.monotonic() + START_S
        while True:
            runs = self._process.poll() is None and time.monotonic() < end
            expect(runs, self._log.read_text()[-2000:])
            try:
                asked()
                return
            except (OSError, urllib.error.URLError):
                time.sleep(0.3)

    def get(self, path: str) -> str:
        return self._fetch(path, None)

    def post(self, path: str, body: Any) -> str:
        return self._fetch(path, json.dumps(body).encode())

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def _fetch(self, path: str, data: bytes | None) -> str:
        request = urllib.request.Request(self.url + path, data, self.headers)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=60) as reply:
            text: str = reply.read().decode()
            return text
