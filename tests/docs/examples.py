"""Run the examples of the documents and write what they print: `python -m tests.docs.examples [PAGE …]`.

A page marks what is run, in the order of the page:

    <!-- file: questions.jsonl -->  the next block is written into this file of the example's folder
    <!-- run -->                    the lines of the next block that begin with "$ " are typed, and what they
                                    print is compared with the lines below each, or written there

`tests/docs/examples/NAME.toml` has what the models of a page reply: `[[reply]]` with `text`, and optionally
`model`, `call` (its number), `when` (a pattern in the prompt) and `usage` (tokens as the host reports them).
The first reply that fits is sent. `settings` replaces the settings file (`SETTINGS`).
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import io
import itertools
import os
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from pnyx.run import run_rows, spec
from pnyx.run.options import resolve
from tests.interfaces.shell import exit_code
from tests.support.script import Request
from tests.support.scripted import ScriptedHost
from tests.support.sources import ROOT

__all__ = ["example_pages", "normal", "run_page", "updated"]

DOCS = ROOT / "docs"
SCRIPTS = Path(__file__).parent / "examples"
MARK = re.compile(
    r"^<!-- (?P<kind>run|file: (?P<file>\S+)) -->\n\n?(?P<head>```[^\n]*\n)(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
SHOWN_HOST = "http://127.0.0.1:9000"
"""What a page calls the host of its models; its requests go to the scripted one."""

SETTINGS = """\
[providers.lab]
kind = "openai"
base_url = "http://127.0.0.1:9000/v1"
[models."lab:alpha"]
input_price = 3.0
output_price = 15.0
[models."lab:beta"]
input_price = 1.0
output_price = 5.0
[models."lab:gamma"]
input_price = 1.0
output_price = 4.0
[panel]
seats = ["lab:alpha", "lab:beta", "lab:gamma"]
"""
"""Of a page whose script has no others: three models of one host."""

VARIES = (
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s|min)\b(?: \d+ s\b)?"), "TIME"),
    (re.compile(r"\b20\d\d-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|\+00:00)?)?"), "DATE"),
    (re.compile(r"\bpnyx \d+\.\d+\.\d+\S*"), "VERSION"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
)


@dataclass
class Session:
    """A person at a terminal, in an empty folder. host: that of all models; code: the last exit code."""

    host: ScriptedHost
    folder: Path
    code: int = 0
    unscripted: list[str] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def work(self) -> Path:
        return self.folder / "work"

    def save(self, name: str, text: str) -> None:
        """Write a file of the page. name: with ~ for the home folder."""
        path = self.home / name[2:] if name.startswith("~/") else self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = text.replace(SHOWN_HOST, self.host.url)
        # One call at a time, so that replies come in the order of the seats.
        text = re.sub(r'^kind = "openai"$', r"\g<0>\nconcurrency = 1", text, flags=re.MULTILINE)
        path.write_text(text, "utf-8")

    def reply(self, replies: Sequence[Mapping[str, Any]], request: Request) -> str:
        """The first reply that fits a request; without one, the page fails once it has run."""
        for one in replies:
            if (
                one.get("model", request.model) == request.model
                and one.get("call", request.call) == request.call
                and re.search(one.get("when", ""), request.text, re.DOTALL)
            ):
                return str(one["text"]).strip()
        self.unscripted.append(f"no reply of {request.model} is scripted for: {request.text}")
        return "?"

    def type(self, line: str) -> str:
        """Run a line as a shell does, and return what a terminal shows of it."""
        if line == "echo $?":
            return f"{self.code}\n"
        shown, piped = b"", b""
        *left, last = (part.strip() for part in re.split(r" \| (?=(?:[^'\"]|'[^']*'|\"[^\"]*\")*$)", line))
        for command in left:
            piped, errors = self._run(command, piped, apart=True)
            shown += errors
        output, _ = self._run(last, piped, apart=False)
        text = (shown + output).decode()
        return (
            text.replace(self.host.url, SHOWN_HOST)
            .replace(str(self.work) + "/", "")
            .replace(str(self.home), "~")
        )

    def _run(self, command: str, stdin: bytes, apart: bool) -> tuple[bytes, bytes]:
        """Return the output and the errors of a command: together, unless they are wanted apart."""
        words = shlex.split(command, comments=True)
        if words[0] == "pnyx" and not {">", "<", "&&", ";"} & set(words):
            return self._pnyx(words[1:], stdin, apart)
        done = subprocess.run(
            ["bash", "-c", command],
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if apart else subprocess.STDOUT,
            cwd=self.work,
            check=False,
        )
        self.code = done.returncode
        return done.stdout, done.stderr or b""

    def _pnyx(self, arguments: Sequence[str], stdin: bytes, apart: bool) -> tuple[bytes, bytes]:
        """Run the command in this process: a new one would spend a second on imports."""
        out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
        err = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) if apart else out
        with mock.patch.multiple(sys, stdin=io.TextIOWrapper(io.BytesIO(stdin)), stdout=out, stderr=err):
            self.code = exit_code(arguments)
        return _written(out), _written(err) if apart else b""


def _written(stream: io.TextIOWrapper) -> bytes:
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue()


def example_pages() -> list[Path]:
    """The pages with examples to run."""
    return [page for page in sorted(DOCS.rglob("*.md")) if "<!-- run -->" in page.read_text("utf-8")]


def run_page(page: Path, folder: Path) -> str:
    """Return the text of a page with what its commands print now. folder: empty."""
    text = page.read_text("utf-8")
    name = page.relative_to(DOCS).with_suffix("").as_posix()
    path = SCRIPTS / f"{name}.toml"
    script = tomllib.loads(path.read_text("utf-8")) if path.exists() else {}
    with _session(script, folder, name) as session:

        def run(found: re.Match[str]) -> str:
            if found["file"]:
                session.save(found["file"], found["body"])
                return found[0]
            return found[0].replace(found["body"], "".join(_typed(session, found["body"])))

        text = MARK.sub(run, text)
        assert not session.unscripted, session.unscripted[0]
        return text


def normal(text: str) -> str:
    """A text without what differs from run to run: times, dates, the version, spaces at the ends of lines."""
    for pattern, name in VARIES:
        text = pattern.sub(name, text)
    return text


def _typed(session: Session, body: str) -> Iterator[str]:
    """The lines of a block, with the output of now where it differs from what is shown."""
    for line, shown in re.findall(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", body, re.MULTILINE):
        output = session.type(re.sub(r"\s*\\\n\s*", " ", line))
        yield f"$ {line}\n"
        yield updated(shown, output)


def updated(shown: str, output: str) -> str:
    """`output`, with the lines of `shown` that differ from it in times and dates alone."""
    if normal(shown) == normal(output):
        return shown
    old, new = shown.splitlines(keepends=True), _ended(output).splitlines(keepends=True)
    same = difflib.SequenceMatcher(None, [*map(normal, old)], [*map(normal, new)], autojunk=False)
    for at, there, length in same.get_matching_blocks():
        new[there : there + length] = old[at : at + length]
    return "".join(new)


def _ended(text: str) -> str:
    text = re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE).rstrip("\n")
    return f"{text}\n" if text else ""


@contextmanager
def _session(script: Mapping[str, Any], folder: Path, name: str) -> Iterator[Session]:
    """A terminal whose ids, labels and fences are those of every run of this page."""
    numbers = itertools.count(1)
    drawn = SimpleNamespace(
        token_bytes=lambda size: hashlib.sha256(f"{name} {next(numbers)}".encode()).digest()[:size],
        randbits=lambda bits: 1,
        token_hex=lambda size: "7" * 2 * size,  # the nonce's tokens are among those that a call reserves
    )
    with ScriptedHost() as host:
        session = Session(host, folder)
        _reply(session, script.get("reply", []))
        session.work.mkdir(parents=True)
        session.home.mkdir()
        session.save("~/.config/pnyx/config.toml", script.get("settings", SETTINGS))
        environment = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(session.home),
            "COLUMNS": "100",
            "TERM": "dumb",
            "LANG": "C.UTF-8",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            **script.get("environment", {}),
        }
        before = Path.cwd()
        os.chdir(session.work)
        try:
            with (
                mock.patch.dict(os.environ, environment, clear=True),
                mock.patch.object(run_rows, "secrets", drawn),
                mock.patch.object(resolve, "secrets", drawn),
                mock.patch.object(spec, "secrets", drawn),
            ):
                yield session
        finally:
            os.chdir(before)


def _reply(session: Session, replies: Sequence[Mapping[str, Any]]) -> None:
    """Let the host reply by the script of a page."""
    for reply in reversed(replies):  # of several that fit, the host takes the last
        options = {name: reply[name] for name in ("call", "usage") if name in reply}
        session.host.on(reply.get("model", "*"), text=partial(session.reply, replies), **options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", type=Path, help="default: all pages with examples")
    for page in parser.parse_args().pages or example_pages():
        with tempfile.TemporaryDirectory() as folder:
            text = run_page(page.resolve(), Path(folder))
        print(f"{page}: {'as it was' if text == page.read_text('utf-8') else 'updated'}")
        page.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
