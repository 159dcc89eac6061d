"""What the Python scripts of clients have in common: named checks, and the scripted models behind the server.

Only the standard library: a script runs in the interpreter that its client is installed in.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
import traceback
import urllib.request
from collections.abc import Callable, Coroutine
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

__all__ = [
    "ANSWER",
    "CITY",
    "KEY",
    "PICTURE",
    "PNG",
    "URL",
    "check",
    "expect",
    "lab",
    "raises",
    "run",
    "texts_sent",
    "wait_for_calls",
]

URL = os.environ["PNYX_URL"]
"""Of the server, without a path."""
KEY = os.environ["PNYX_KEY"]
ANSWER = "It is six times seven.\nFinal answer: 42"
"""What all models of the panel say, unless a check scripts them."""
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
"""A picture of one pixel, in base64."""
PICTURE = f"data:image/png;base64,{PNG}"
CITY = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "people": {"type": "integer"}},
    "required": ["name", "people"],
    "additionalProperties": False,
}

Check: TypeAlias = "Callable[[], str | Coroutine[Any, Any, str | None] | None]"
_checks: list[tuple[str, Check, bool]] = []


def check(title: str, *, slow: bool = False) -> Callable[[Check], Check]:
    """Add a check, which returns what does not work although it passes. slow: left out of quick runs."""

    def add(function: Check) -> Check:
        _checks.append((title, function, slow))
        return function

    return add


def run(package: str) -> None:
    """Make all checks; print one JSON object a line: first the version of the package, then each check.

    package: of the interpreter, or of the folder `node_modules` in the working folder.
    """
    manifest = Path("node_modules") / package / "package.json"
    found = json.loads(manifest.read_text())["version"] if manifest.exists() else version(package)
    print(json.dumps({"version": found}), flush=True)
    chosen = sys.argv[1:]
    for title, function, slow in _checks:
        if (chosen and title not in chosen) or (slow and "PNYX_SLOW" not in os.environ):
            continue
        lab.reset()
        start = time.monotonic()
        outcome: dict[str, object] = {"check": title}
        try:
            result = function()
            outcome["limit"] = asyncio.run(result) if asyncio.iscoroutine(result) else result
        except Exception:
            # Whatever a client raises is the result of the check.
            outcome["fault"] = traceback.format_exc()[-3000:]
        print(json.dumps({**outcome, "seconds": round(time.monotonic() - start, 2)}), flush=True)


def expect(holds: object, found: object) -> None:
    """Fail with what was found instead."""
    if not holds:
        raise AssertionError(f"found: {found!r}"[:2000])


def raises(kind: type[BaseException], action: Callable[[], object], *words: str) -> Any:
    """Return the exception of `kind` that the action raises. words: of its message."""
    try:
        found = action()
    except kind as exc:
        expect(all(word in str(exc) for word in words), str(exc))
        return exc
    raise AssertionError(f"no {kind.__name__}, but {found!r}"[:2000])


class _Lab:
    """The host of the scripted models."""

    _url = os.environ["LAB_URL"]

    def on(self, model: str = "*", **script: Any) -> None:
        """Script the next calls, see `tests.support.script.Fault`."""
        self._fetch("/__on", {"model": model, **script})

    def reset(self) -> None:
        """Forget what was scripted, and all calls."""
        self._fetch("/__reset", {})

    def calls_tool(self, name: str, arguments: dict[str, Any]) -> None:
        """Each model calls a tool of the client in its next reply, and answers in text after that."""
        self.reset()
        self.on(text=ANSWER)
        self.on(text=json.dumps({"tool_calls": [{"name": name, "arguments": arguments}]}), call=1)

    def calls(self) -> list[dict[str, Any]]:
        """The calls of models since then."""
        found: list[dict[str, Any]] = self._fetch("/__log")
        return found

    def _fetch(self, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(self._url + path, data, timeout=60) as reply:
            return json.load(reply)


lab = _Lab()


def texts_sent(role: str) -> str:
    """What the models were sent as messages of a role."""
    messages = [message for call in lab.calls() for message in call["body"]["messages"]]
    return "\n".join(json.dumps(one["content"]) for one in messages if one["role"] == role)


def wait_for_calls(number: int, within: float = 20.0) -> None:
    end = time.monotonic() + within
    while len(lab.calls()) < number:
        expect(time.monotonic() < end, len(lab.calls()))
        time.sleep(0.05)
