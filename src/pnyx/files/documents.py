"""The text of PDF, Word and Excel documents, read in a confined process: they may be hostile."""

from __future__ import annotations

import io
import zipfile
from codecs import BOM_UTF8

from ..errors import FileProblem
from ..extras import need
from ..tools.confinement import child_command, run_confined

__all__ = ["KINDS", "document_kind", "document_text", "refuse_unread"]

KINDS = {
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
"""Kind -> media type."""
_PARTS = {"word/document.xml": "docx", "xl/workbook.xml": "xlsx"}
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""Start of a file in the form of Office before 2007."""
_UNREAD_STARTS = {
    b"{\\rtf": ("RTF", "docx, PDF or plain text"),
    _OLE: ("an Office document of before 2007", "docx, xlsx or PDF"),
}
"""Start of the data -> what it is, and as what its program can save it."""
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
"""The name of the part with an encrypted document of any Office, which has that form."""
_UNREAD_PARTS = {
    "ppt/presentation.xml": ("a PowerPoint document", "PDF"),
    "xl/workbook.bin": ("a binary Excel document", "xlsx"),
    "META-INF/container.xml": ("an EPUB book", "PDF or plain text"),
    "META-INF/manifest.xml": ("an OpenDocument file", "docx, xlsx or PDF"),
}
SECONDS = 60.0
TEXT_BYTES = 32 << 20
LIMITS = {"AS": 2 << 30, "CPU": 60, "FSIZE": 0, "CORE": 0}
REFUSED, MISSING = 3, 4
"""Exit statuses of the job: its output is why the document has no text; its output names a missing module."""


def document_kind(data: bytes) -> str | None:
    """Return the kind of document that the data is; None for any other."""
    if b"%PDF-" in data[:1024]:
        return "pdf"
    names = _parts(data)
    return next((kind for part, kind in _PARTS.items() if part in names), None)


def refuse_unread(data: bytes, name: str) -> None:
    """Raise `FileProblem`, with what to do, for a document of a kind that is not read."""
    text = data.removeprefix(BOM_UTF8).lstrip()
    if text.startswith(_OLE) and _ENCRYPTED in data:
        raise FileProblem(f"{name}: it is encrypted: give a copy without its password")
    found = next((words for start, words in _UNREAD_STARTS.items() if text.startswith(start)), None)
    if found is None:
        names = _parts(data)
        found = next((words for part, words in _UNREAD_PARTS.items() if part in names), None)
    if found is not None:
        raise FileProblem(f"{name} is {found[0]}, which is not read: save it as {found[1]}")


def _parts(data: bytes) -> frozenset[str]:
    """The names of the parts of a ZIP archive; none for anything else."""
    if not data.startswith(b"PK\3\4"):
        return frozenset()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as parts:
            return frozenset(parts.namelist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return frozenset()  # what no library can unpack is not a document


async def document_text(data: bytes, kind: str, name: str) -> str:
    """Return the text of a document. name: for messages. Raises `FileProblem`."""
    need("files", f"reading {name} as {kind}")
    command = child_command("document", LIMITS, kind=kind)
    done = await run_confined(command, data, seconds=SECONDS, limit=TEXT_BYTES)
    if done.status == 0 and done.output.strip():
        return done.output
    if done.status == MISSING:
        raise FileProblem(f"{name}: reading {kind} needs {done.output.strip()}, which does not load")
    if done.status == REFUSED:
        raise FileProblem(f"{name}: {done.output.strip()}")
    if done.cut:
        raise FileProblem(f"{name} holds more than {TEXT_BYTES >> 20} MB of text")
    if done.status == 0:
        hint = "; if it is scanned, give its pages as images" if kind == "pdf" else ""
        raise FileProblem(f"{name} holds no text{hint}")
    raise FileProblem(f"{name} cannot be read as {kind}: it is damaged, or too large")
