"""The packages of docs/providers.md: installed as a user would, they answer through the command line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, field, fields
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import pnyx
from tests.support.examples import links, type_errors_of_packages
from tests.support.sources import ROOT

PAGE = ROOT / "docs" / "providers.md"
KEY = "planted-key-of-acme"
SEATS = ("-m", "lab:small", "-m", "lab:large")


@dataclass
class Host:
    """A host that speaks Acme's dialect on the loopback. status: of the next answers, then 200."""

    url: str = ""
    status: list[int] = field(default_factory=list)
    log: list[tuple[str, str | None, Any]] = field(default_factory=list)

    def answer(self, path: str, key: str | None, body: Any) -> tuple[int, Any]:
        self.log.append((path, key, body))
        if self.status:
            return self.status.pop(0), {}
        if path == "/v1/models":
            return 200, {"names": ["small", "large"]}
        return 200, {"text": "It is.\n\nFinal answer: yes", "tokens": {"in": 21, "out": 5}, "cut": False}


@pytest.fixture
def host() -> Iterator[Host]:
    found = Host()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, reply = found.answer(self.path, self.headers["Authorization"], json.loads(raw or "null"))
            self.send_response(status)
            self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(json.dumps(reply).encode())

        do_GET = do_POST  # noqa: N815 - the name that http.server looks for

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield found
        server.shutdown()
        thread.join()


def packages() -> list[dict[str, str]]:
    """The files of each package in the page, by path: a block is a file if its first line is its path."""
    found: list[dict[str, str]] = []
    for path, text in re.findall(
        r"```(?:toml|python)\n# (\S+)\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL
    ):
        if path == "pyproject.toml":
            found.append({})
        found[-1][path] = text
    return found


def write(files: dict[str, str], folder: Path) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both examples installed, built by the backend that they name, without a network."""
    site = tmp_path_factory.mktemp("site")
    shout, acme = packages()
    for files in (shout, acme):
        source = tmp_path_factory.mktemp("source")
        write(files, source)
        offline = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
        command = [sys.executable, "-m", "pip", "install", *offline, "--target", str(site), str(source)]
        subprocess.run(command, check=True, timeout=120)
    return site


@dataclass
class Shell:
    folder: Path
    env: dict[str, str]

    def __call__(self, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pnyx", *args],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env={**os.environ, **self.env, **env},
            check=False,
        )

    def settings(self, text: str) -> None:
        (self.folder / "settings.toml").write_text(text)


@pytest.fixture
def shell(site: Path, tmp_path: Path) -> Shell:
    shell = Shell(tmp_path, {"PYTHONPATH": str(site), "PNYX_CONFIG": "settings.toml"})
    shell.settings("")
    return shell


def lab(host: Host, more: str = "") -> str:
    return f'[providers.lab]\nkind = "acme"\nbase_url = "{host.url}"\napi_key_env = "LAB_KEY"\n{more}'


def test_the_class_answers_as_soon_as_it_is_installed(shell: Shell) -> None:
    done = shell("ask", "--json", "-p", "single", "-m", "shout:any", "Is it on?")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["final_answer"], "IS IT ON?" in result["answer"]) == ("yes", True)


def test_the_dialect_answers_over_http_with_the_key_of_its_table(shell: Shell, host: Host) -> None:
    shell.settings(lab(host))
    host.status = [429]
    done = shell("ask", "--json", "-p", "voting", *SEATS, "Is it on?", LAB_KEY=KEY)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["status"], result["final_answer"]) == ("consensus", "yes")
    # Of all requests, one was refused for its rate, and sent again by pnyx.
    assert result["usage"]["input_tokens"] == 21 * (len(host.log) - 1) > 21
    assert {(path, key) for path, key, _ in host.log} == {("/v1/generate", f"Bearer {KEY}")}
    assert all("Is it on?" in body["prompt"] for _, _, body in host.log)
    assert {body["model"] for _, _, body in host.log} == {"small", "large"}


@pytest.mark.parametrize(("status", "kind"), [(401, "auth"), (404, "not_found"), (400, "refused")])
def test_an_error_of_the_host_drops_the_seat_with_its_kind(
    shell: Shell, host: Host, status: int, kind: str
) -> None:
    shell.settings(lab(host))
    host.status = [status]
    done = shell("ask", "--json", "-p", "single", "-m", "lab:small", "Is it on?", LAB_KEY=KEY)
    assert done.returncode == 3
    assert f"HTTP {status}" in done.stdout
    assert len(host.log) == 1, f"{kind} is not tried again"


def test_the_doctor_lists_the_models_of_the_host(shell: Shell, host: Host) -> None:
    shell.settings(lab(host, '[panel]\nseats = ["lab:small", "lab:lrge"]\n'))
    done = shell("doctor", "--json", LAB_KEY=KEY)
    findings = {finding["what"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert findings["provider lab"]["found"] == f"{host.url} responds, but does not list lrge"
    assert findings["provider lab"]["fix"] == "did you mean large?"
    assert host.log == [("/v1/models", f"Bearer {KEY}", None)]


def test_its_own_address_requires_the_key_of_its_variable(shell: Shell) -> None:
    done = shell("ask", "-p", "single", "-m", "acme:small", "Is it on?")
    assert (done.returncode, done.stderr) == (
        2,
        "pnyx: provider acme needs its key in $ACME_API_KEY. Set it with: export ACME_API_KEY=YOUR_KEY "
        "(or store it: pnyx keys set ACME_API_KEY)\n",
    )


def test_a_kind_that_is_not_installed_is_an_error_that_lists_those_that_are(shell: Shell, host: Host) -> None:
    shell.settings(lab(host).replace('"acme"', '"acne"'))
    done = shell("config", "check")
    assert done.returncode == 2
    assert "must be one of acme, anthropic, deepseek, " in done.stderr
    assert "openrouter, shout, own, not 'acne'; did you mean acme?" in done.stderr
    shell.settings(lab(host))
    done = shell("config", "check", PYTHONPATH="")
    assert "must be one of anthropic, deepseek, " in done.stderr


def test_the_packages_satisfy_a_strict_type_checker(tmp_path: Path) -> None:
    for files in packages():
        write(files, tmp_path)
    assert type_errors_of_packages(tmp_path) == ""
    (tmp_path / "pnyx_acme" / "more.py").write_text("from pnyx import ProviderKind\n\nProviderKind(1)\n")
    assert "more.py:3: error: " in type_errors_of_packages(tmp_path)


def test_every_field_of_a_kind_and_of_a_configuration_is_documented_with_its_default() -> None:
    kind, config = (
        PAGE.read_text("utf-8").partition("### `pnyx.ProviderKind`")[2].split("### `pnyx.ProviderConfig`")
    )
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", kind, re.MULTILINE))
    assert rows == {one.name: default(one.default) for one in fields(pnyx.ProviderKind)}
    documented = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`[^|]+) \|", config, re.MULTILINE)))
    assert documented == [one.name for one in fields(pnyx.ProviderConfig)]


def default(value: object) -> str:
    if value is MISSING:
        return "required"
    return ", ".join(f"`{one}`" for one in value) if isinstance(value, tuple) and value else f"`{value}`"


def test_every_page_it_links_to_exists() -> None:
    assert [target for target in links(PAGE) if not target.exists()] == []
