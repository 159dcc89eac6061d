"""The program of the confined child process: sets its own limits, then runs one job on its standard input.

Passed to an interpreter as text (`python -I -u -c SOURCE JOB`) and never imported, so that it also
runs where pnyx is not visible. Standard library only, and nothing newer than Python 3.9.
"""

from __future__ import annotations

import ast
import io
import json
import linecache
import logging
import os
import re
import resource
import signal
import sys
import traceback
from collections.abc import Iterable
from html import unescape
from itertools import zip_longest
from typing import Any

CODE = "<code>"
ENCRYPTED = "it is encrypted: give a copy without its password"
HIDDEN = ("script", "style", "noscript", "template")
LINES = re.compile(r"/?(article|br|div|d[dt]|h[1-6r]|li|p|pre|section|table|title|tr)")


class TooLongError(BaseException):
    """Not an `Exception`, so that no library catches it."""


def main(job: dict[str, Any]) -> int:
    """Run `job` {do, limits: RLIMIT name -> limit, path: package folders, …} and return the exit status."""
    data = sys.stdin.buffer.read()
    # The process that waits for this one gets the processor first.
    os.nice(10)
    for name, most in job["limits"].items():
        limit = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(limit)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (most, most))
    # An isolated interpreter does not search the folder in which pnyx and its packages are installed.
    sys.path += job["path"]
    return JOBS[job["do"]](data, job)


def cpython(data: bytes, job: dict[str, Any]) -> int:
    """Run the code and print the value of its last expression."""
    code = data.decode("utf-8", "replace")
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


def monty(data: bytes, job: dict[str, Any]) -> int:
    """Do the same in an interpreter that has no files, no network and no processes."""
    # Only this job needs it: the others run where it is not installed.
    from pydantic_monty import Monty, MontyError, ResourceLimits

    limits: ResourceLimits = {
        "max_memory": job["memory"],
        "max_feed_duration_secs": job["seconds"],
        "max_total_sleep_secs": job["seconds"],
    }

    def write(stream: str, text: str) -> None:
        sys.stdout.write(text)

    try:
        with Monty(max_processes=1) as pool, pool.checkout(script_name="code", limits=limits) as session:
            show(session.feed_run(data.decode("utf-8", "replace"), print_callback=write))
    except MontyError as exc:
        display = getattr(exc, "display", exc.__str__)
        print(display())
        return 1
    return 0


def page(data: bytes, job: dict[str, Any]) -> int:
    """Print the main text of a page, or all its text if it is not HTML or extraction takes too long."""
    try:
        text = data.decode(job["charset"] or "utf-8", "replace")
    except (LookupError, ValueError):
        text = data.decode("utf-8", "replace")
    if job["html"]:
        # Without a charset from the host, the one that the page declares counts.
        text = readable(text if job["charset"] else data, job["seconds"]) or plain(text)
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    return 0


def readable(html: str | bytes, seconds: float) -> str:
    """Return the main text of a page as Markdown, or an empty text if that fails or takes too long."""
    try:
        # Only this job needs it, and it takes half a second to load.
        import trafilatura

        signal.signal(signal.SIGALRM, too_long)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        text = trafilatura.extract(html, output_format="markdown", with_metadata=True, favor_recall=True)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except (Exception, TooLongError):
        # A hostile page can break the parser in any way; its plain text is still available.
        return ""
    # Drop the hash from the metadata in front of the text, and the metadata block if it is then empty.
    text = re.sub(r"^fingerprint: .*\n", "", text or "", count=1, flags=re.MULTILINE)
    return text.removeprefix("---\n---\n")


def too_long(*_: object) -> None:
    raise TooLongError


def plain(html: str) -> str:
    """Return the text between the tags, without scripts and styles, in time linear in the length."""
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


def document(data: bytes, job: dict[str, Any]) -> int:
    """Print the text of a PDF, Word or Excel document. 3: it has none, and why; 4: a module is missing."""
    try:
        text = DOCUMENTS[job["kind"]](io.BytesIO(data))
    except ImportError as exc:
        print(exc.name)
        return 4
    except ValueError as exc:
        print(exc)
        return 3
    except NotImplementedError:  # of zipfile
        print("its parts are compressed in a form that is not read: save it again with an office program")
        return 3
    except RuntimeError as exc:
        if "encrypted" not in str(exc):
            raise
        print(ENCRYPTED)
        return 3
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    return 0


def pdf(file: io.BytesIO) -> str:
    # Only this job needs it, and the other imports below: they are extras.
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, PyPdfError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL + 1)  # stderr is for what the job says
    try:
        reader = PdfReader(file)
        if reader.is_encrypted and not reader.decrypt(""):
            raise ValueError(ENCRYPTED)
        pages = [page.extract_text() for page in reader.pages]
    except DependencyError as exc:  # on the library that decrypts
        raise ValueError("it is encrypted, with or without a password: give a copy without that") from exc
    except PyPdfError as exc:
        raise ValueError(f"it is damaged ({exc})") from exc
    shown = (f"[page {n}]\n{text.strip()}" for n, text in enumerate(pages, 1))
    return "\n\n".join(shown) if any(text.strip() for text in pages) else ""


def docx(file: io.BytesIO) -> str:
    # As above.
    from docx import Document
    from docx.table import Table

    out = []
    for block in Document(file).iter_inner_content():
        if isinstance(block, Table):
            out += [cells(cell.text for cell in row.cells) for row in block.rows]
            continue
        style = (block.style.name if block.style else "") or ""
        level = style[8:] if style.startswith("Heading ") and style[8:].isdigit() else ""
        mark = "# " if style == "Title" else "#" * int(level) + " " if level else ""
        bullet = "- " if style.startswith("List") else ""
        out.append(mark + bullet + block.text)
    return "\n".join(out)


def xlsx(file: io.BytesIO) -> str:
    """Every row as "Sheet!3: a | b"; a formula without a stored value is shown itself."""
    # As above.
    from openpyxl import load_workbook

    values = load_workbook(file, read_only=True, data_only=True)
    formulas = load_workbook(file, read_only=True)
    out = []
    for sheet in values.worksheets:
        same = formulas[sheet.title]
        rows = zip_longest(sheet.iter_rows(values_only=True), same.iter_rows(values_only=True), fillvalue=())
        for n, (row, written) in enumerate(rows, 1):
            shown = [formula if value is None else value for value, formula in zip_longest(row, written)]
            while shown and shown[-1] is None:
                shown.pop()
            if shown:
                out.append(f"{sheet.title}!{n}: " + cells("" if one is None else str(one) for one in shown))
    return "\n".join(out)


def cells(texts: Iterable[str]) -> str:
    return " | ".join(" ".join(text.split()) for text in texts)


DOCUMENTS = {"pdf": pdf, "docx": docx, "xlsx": xlsx}
JOBS = {"cpython": cpython, "monty": monty, "page": page, "document": document}

if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
