"""Runs inside a process of its own: limits itself, then does one job on its standard input.

Handed to an interpreter as text (`python -I -u -c SOURCE JOB`) and never imported, so that it also
runs where nothing of pnyx can be seen. Standard library only, and nothing newer than Python 3.9.
"""

from __future__ import annotations

import ast
import json
import linecache
import os
import re
import resource
import signal
import sys
import traceback
from html import unescape
from typing import Any

CODE = "<code>"
HIDDEN = ("script", "style", "noscript", "template")
LINES = re.compile(r"/?(article|br|div|d[dt]|h[1-6r]|li|p|pre|section|table|title|tr)")


class TooLongError(BaseException):
    """Not an `Exception`, so that no library takes it for its own."""


def main(job: dict[str, Any]) -> int:
    """Do `job` {do, limits: RLIMIT name -> most, path: of packages, …}; gives the exit status."""
    given = sys.stdin.buffer.read()
    # Whoever waits for this should not wait for a processor as well.
    os.nice(10)
    for name, most in job["limits"].items():
        limit = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(limit)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (most, most))
    # An isolated interpreter does not look where pnyx and its packages were installed.
    sys.path += job["path"]
    return JOBS[job["do"]](given, job)


def cpython(given: bytes, job: dict[str, Any]) -> int:
    """Run the code and show the value of its last expression."""
    code = given.decode("utf-8", "replace")
    linecache.cache[CODE] = (len(code), None, code.splitlines(True), CODE)
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        tree = ast.parse(code, CODE)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, CODE, "exec"), names)
        if isinstance(last, ast.Expr):
            show(eval(compile(ast.Expression(last.value), CODE, "eval"), names))
    except Exception as exc:
        seen = exc.__traceback__
        while seen and seen.tb_frame.f_code.co_filename != CODE:
            seen = seen.tb_next
        traceback.print_exception(type(exc), exc, seen, file=sys.stdout)
        return 1
    return 0


def monty(given: bytes, job: dict[str, Any]) -> int:
    """The same in an interpreter that has no files, no network and no processes at all."""
    # Only this job has it: the others run where it is not installed.
    from pydantic_monty import Monty, MontyError, ResourceLimits

    limits: ResourceLimits = {
        "max_memory": job["memory"],
        "max_feed_duration_secs": job["seconds"],
        "max_total_sleep_secs": job["seconds"],
    }

    def say(stream: str, text: str) -> None:
        sys.stdout.write(text)

    try:
        with Monty(max_processes=1) as pool, pool.checkout(script_name="code", limits=limits) as session:
            show(session.feed_run(given.decode("utf-8", "replace"), print_callback=say))
    except MontyError as exc:
        display = getattr(exc, "display", exc.__str__)
        print(display())
        return 1
    return 0


def page(given: bytes, job: dict[str, Any]) -> int:
    """The readable text of a page; all its text where it is not HTML, or cannot be told apart in time."""
    try:
        text = given.decode(job["charset"] or "utf-8", "replace")
    except (LookupError, ValueError):
        text = given.decode("utf-8", "replace")
    if job["html"]:
        # Without a charset from the host, the one that the page itself names counts.
        text = readable(text if job["charset"] else given, job["seconds"]) or plain(text)
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    return 0


def readable(html: str | bytes, seconds: float) -> str:
    try:
        # Only this job has it, and it takes half a second to load.
        import trafilatura

        signal.signal(signal.SIGALRM, too_long)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        text = trafilatura.extract(html, output_format="markdown", with_metadata=True, favor_recall=True)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except (Exception, TooLongError):
        # Whatever a hostile page breaks in there, its plain text can still be had.
        return ""
    # Of what is put before the text, the hash of it tells nobody anything, nor does an empty frame.
    text = re.sub(r"^fingerprint: .*\n", "", text or "", count=1, flags=re.MULTILINE)
    return text.removeprefix("---\n---\n")


def too_long(*_: object) -> None:
    raise TooLongError


def plain(html: str) -> str:
    """The text between the tags, without scripts and styles. Linear in the length, whatever is in it."""
    out, hidden = [], ""
    for n, part in enumerate(html.split("<")):
        tag, _, text = part.partition(">") if n else ("", "", part)
        name = tag.split(None, 1)[0].lower() if tag.strip() else ""
        if hidden:
            if name != f"/{hidden}":
                continue
            hidden = ""
        elif name in HIDDEN:
            hidden = name
            continue
        out.append(f"\n{text}" if LINES.fullmatch(name) else text)
    lines = (" ".join(line.split()) for line in unescape("".join(out)).splitlines())
    return "\n".join(filter(None, lines))


def show(value: Any) -> None:
    if value is not None:
        try:
            print(repr(value))
        except Exception as exc:
            print(f"[the last value cannot be shown: {exc}]")


JOBS = {"cpython": cpython, "monty": monty, "page": page}

if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
