"""No connection to the hosts: one line with the host and the fix, not one for each seat and attempt."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pnyx.providers.hosted.connection import _trust
from tests.interfaces.shell import pnyx

SETTINGS = """
[providers.lab]
kind = "openai"
base_url = "{url}"
[run]
retries = 1
"""


class _Page(BaseHTTPRequestHandler):
    """A web server that knows nothing of models."""

    def do_CONNECT(self) -> None:
        self.send_error(403)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = b"<!doctype html><html><title>Welcome!</title></html>"
        self.send_response(404 if "missing" in self.path else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def web_server(certificate: Path | None = None) -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate that nobody has signed but itself, with its key."""
    file = tmp_path_factory.mktemp("tls") / "both.pem"
    made = f"-newkey rsa:2048 -nodes -keyout {file} -out {file}.crt -days 2 -subj /CN=localhost"
    subprocess.run(["openssl", "req", "-x509", *made.split()], check=True, capture_output=True)
    file.write_text(file.read_text() + Path(f"{file}.crt").read_text())
    return file


def ask(folder: Path, url: str) -> list[str]:
    """The lines on stderr of a question to three seats at `url`, without the first."""
    (folder / "lab.toml").write_text(SETTINGS.format(url=url))
    models = [part for name in "abc" for part in ("-m", f"lab:{name}")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PNYX_CONFIG", str(folder / "lab.toml"))
        done = pnyx("ask", "-p", "voting", *models, "?")
    assert done.code == 3, done.err
    return done.err.splitlines()[1:]


def check(lines: list[str], host: str, words: str) -> None:
    """The reason is in one line, during the run; the end says what it means and what to do."""
    (telling,) = [line for line in lines if words in line]
    assert host in telling
    end = "pnyx: failed (no_quorum): voting, vote: 0 of 3 answered, 1 needed"
    assert [line for line in lines if line.startswith("pnyx: ")] == [end]
    assert sum("Check hosts, keys and models with: pnyx doctor" in line for line in lines) == 1
    assert sum(line.startswith("dropped: ") for line in lines) == 1
    assert "Traceback" not in "".join(lines)


def test_a_refused_connection(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    lines = ask(tmp_path, f"http://127.0.0.1:{port}/v1")
    check(lines, f"127.0.0.1:{port}: ", "connection refused: is its server running?")


def test_a_name_that_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    lines = ask(tmp_path, "http://no-such-host.invalid/v1")
    check(lines, "no-such-host.invalid: ", "the name of the host is not known: check base_url")


def test_a_certificate_that_is_not_accepted(
    tmp_path: Path, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with web_server(certificate) as port:
        lines = ask(tmp_path, f"https://localhost:{port}/v1")
        check(lines, f"localhost:{port}: ", "(self-signed certificate): set SSL_CERT_FILE to a file")
        # It is accepted once the file is named, and the next trouble is another one.
        _trust.cache_clear()
        monkeypatch.setenv("SSL_CERT_FILE", f"{certificate}.crt")
        lines = ask(tmp_path, f"https://localhost:{port}/v1")
        _trust.cache_clear()
        check(
            lines, f"localhost:{port}: ", "a web page came instead of a reply: check base_url and the network"
        )


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_certificates_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None
) -> None:
    file = tmp_path / "authority.pem"
    if content is not None:
        file.write_text(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    _trust.cache_clear()
    lines = ask(tmp_path, "https://localhost:9/v1")
    _trust.cache_clear()
    check(lines, "localhost:9: ", f"in {file} cannot be read")
    check(lines, "localhost:9: ", "name a file in PEM form in SSL_CERT_FILE, or unset it")
    # Nothing was sent, so nothing is charged and nothing is tried again.
    assert "charged" not in "".join(lines)
    assert "attempt" not in "".join(lines)


def test_a_host_that_speaks_no_tls(tmp_path: Path) -> None:
    with web_server() as port:
        lines = ask(tmp_path, f"https://127.0.0.1:{port}/v1")
    check(lines, f"127.0.0.1:{port}: ", "the host does not speak TLS")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("v1", "a web page came instead of a reply: check base_url"),
        ("missing", "HTTP 404: Welcome!: check base_url"),
    ],
)
def test_an_address_that_serves_web_pages(tmp_path: Path, path: str, words: str) -> None:
    with web_server() as port:
        check(ask(tmp_path, f"http://127.0.0.1:{port}/{path}"), f"127.0.0.1:{port}: ", words)


@pytest.mark.parametrize(
    ("variable", "proxy", "words"),
    [
        ("ALL_PROXY", "socks5://me:planted@127.0.0.1:9", "SOCKS proxies are not supported: set ALL_PROXY"),
        ("HTTP_PROXY", "socks4://127.0.0.1:9", "set HTTP_PROXY (127.0.0.1:9) to an HTTP proxy, or unset it"),
        (
            "HTTP_PROXY",
            "http://127.0.0.1:port",
            "HTTP_PROXY (127.0.0.1:port) is no address of a proxy: set it to http://HOST:PORT",
        ),
        ("HTTP_PROXY", "http://me:planted@127.0.0.1:9", "refused): check HTTP_PROXY (127.0.0.1:9)"),
        ("ALL_PROXY", "http://me:planted@127.0.0.1:9", "refused): check ALL_PROXY (127.0.0.1:9)"),
    ],
)
def test_a_proxy_that_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, proxy: str, words: str
) -> None:
    monkeypatch.setenv(variable, proxy)
    lines = ask(tmp_path, "http://pnyx.invalid/v1")
    check(lines, "pnyx.invalid: ", words)
    assert "planted" not in "".join(lines)


def test_a_proxy_that_refuses_says_nothing_of_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with web_server() as port:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
        lines = ask(tmp_path, "https://pnyx.invalid/v1")
    check(lines, "pnyx.invalid: ", "the proxy answers HTTP 403: Forbidden: check HTTPS_PROXY")
    assert "key" not in "".join(lines).replace("keys and models", "")
