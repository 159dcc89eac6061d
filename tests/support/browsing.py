"""`pnyx serve` in its own process, and a Chromium that opens its page and no other host."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Locator,
    Page,
    Request,
    expect,
    sync_playwright,
)

from tests.support.forked import Process, start

__all__ = ["Serve", "Tab", "chromium", "serving"]

# The first has no windows, which take two thirds of the processor time of a tab that is opened.
CHROMIUM = next(
    filter(os.path.exists, ("/usr/lib/chromium/chromium-headless-shell", "/usr/bin/chromium")), None
)
# Enough for a busy machine.
expect.set_options(timeout=60_000)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]


@dataclass
class Serve:
    """A running server. link: the one that it prints for a browser, with its own key."""

    process: Process
    url: str
    key: str
    home: Path

    @property
    def evaluations(self) -> Path:
        """The folder with those of `pnyx eval`."""
        return self.home / ".local" / "share" / "pnyx" / "eval"

    @property
    def link(self) -> str:
        return f"{self.url}/#key={self.key}"

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def get(self, path: str) -> Any:
        """The JSON response of the server to a GET request."""
        return json.loads(self.raw(path))

    def raw(self, path: str) -> bytes:
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"Bearer {self.key}"})
        with urllib.request.urlopen(request, timeout=60) as reply:
            body: bytes = reply.read()
        return body

    def events(self, run: str) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = self.get(f"/v1/runs/{run}/export?format=json")["events"]
        return events

    def kill(self) -> None:
        """Kill the server, as a power failure would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(120)


@contextmanager
def serving(home: Path, config: str, port: int = 0, key: str = "", named: str = "") -> Iterator[Serve]:
    """A server that sees nothing of this machine but `home`, until the end of the block.

    config: its settings. named: create a key with that name first. key: an existing key, which it does not
    print.
    """
    (home / "lab.toml").write_text(config)
    environment = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    environment |= {"HOME": str(home), "PNYX_CONFIG": str(home / "lab.toml"), "LAB_KEY": "sk-planted"}
    if named:
        with start("serve", "--new-key", named, folder=home, env=environment) as process:
            key = process.communicate(timeout=60)[0].decode()
    with start("serve", "--port", str(port), folder=home, env=environment) as process:
        assert process.stderr is not None
        try:
            output = ""
            for raw in process.stderr:
                output += (line := raw.decode())
                if match := re.fullmatch(r"web page: (http://\S+)/(?:#key=(\S+))?\n", line):
                    break
            else:
                raise AssertionError(f"the server ended: {output}")
            yield Serve(process, match[1], match[2] or key.strip(), home)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.communicate(timeout=2)
            except subprocess.TimeoutExpired:  # it waits for replies that no test reads
                process.send_signal(signal.SIGINT)
                process.communicate(timeout=120)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A Chromium browser. Fails without one: a skipped test would not check the page."""
    assert CHROMIUM, "the tests of the page need Debian's Chromium: apt-get install chromium-headless-shell"
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as home:
        environment: dict[str, str | float | bool] = {"HOME": home, "XDG_CONFIG_HOME": home}
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS, env=environment)
        yield browser
        browser.close()


@dataclass
class Tab:
    """A page in its own profile. errors: its errors and warnings; requests: the addresses it requested."""

    page: Page
    context: BrowserContext
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    @classmethod
    @contextmanager
    def open(
        cls,
        browser: Browser,
        width: int = 1280,
        height: int = 900,
        dark: bool = False,
        still: bool = False,
        scripts: bool = True,
    ) -> Iterator[Tab]:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce" if still else "no-preference",
            java_script_enabled=scripts,
        )
        tab = cls(context.new_page(), context)
        context.set_default_timeout(90_000)
        tab.page.on("console", tab._on_console)
        tab.page.on("pageerror", lambda error: tab.errors.append(f"error: {error}"))
        context.on("request", tab._on_request)
        try:
            yield tab
        finally:
            context.close()

    @property
    def question(self) -> Locator:
        return self.page.get_by_label("What should the panel decide?")

    @property
    def verdict(self) -> Locator:
        return self.page.locator("section.verdict")

    def ask(self, question: str = "Why?", protocol: str | None = None) -> str:
        """Ask with the keyboard shortcut in the form. Returns the id of the run."""
        self.question.fill(question)
        if protocol is not None:
            self.page.get_by_label("Protocol").select_option(protocol)
        self.question.press("Control+Enter")
        self.page.wait_for_url("**/#/runs/*")
        return self.page.url.rpartition("/")[2]

    def check(self, server: Serve) -> None:
        """Check that it has no errors and only sent requests to the server."""
        assert not self.errors, self.errors
        assert not [url for url in self.requests if not url.startswith((f"{server.url}/", "blob:", "data:"))]

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not any(e in message.text for e in self.expected):
            self.errors.append(f"{message.type}: {message.text}")

    def _on_request(self, request: Request) -> None:
        self.requests.append(request.url)

    def scrolls_sideways(self) -> bool:
        wide: bool = self.page.evaluate(
            "document.documentElement.scrollWidth > document.documentElement.clientWidth"
        )
        return wide
