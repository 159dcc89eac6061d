"""PDF, Word, Excel and images, made here and read as people make them."""

from __future__ import annotations

import base64
import io
import struct
import zipfile

import pytest
from docx import Document
from openpyxl import Workbook
from pypdf import PdfReader, PdfWriter
from pypdf.errors import DependencyError

from pnyx.config.schema import ContextSettings
from pnyx.core.context.files import File, Source
from pnyx.errors import UsageError
from pnyx.files.documents import REFUSED, document_kind
from pnyx.files.images import image_info, image_tokens
from pnyx.files.read import Reading, read_files
from pnyx.tools.child import document
from tests.support.documents import pdf_of, png_of

LIMITS = ContextSettings()


async def read(name: str, data: bytes, limits: ContextSettings = LIMITS) -> File:
    found: Reading = await read_files([Source(name=name, data=data)], limits)
    return found.files[0]


def saved(document: object) -> bytes:
    file = io.BytesIO()
    document.save(file)  # type: ignore[attr-defined]
    return file.getvalue()


async def test_the_pages_of_a_pdf_are_marked() -> None:
    file = await read("report.pdf", pdf_of("First page says one.", "Second page says two."))
    assert file.media_type == "application/pdf"
    lines = [line.partition("| ")[2] for line in file.text.splitlines()]
    assert lines == ["[page 1]", "First page says one.", "", "[page 2]", "Second page says two."]


async def test_a_word_document_keeps_headings_lists_and_tables_in_their_order() -> None:
    document = Document()
    document.add_heading("The plan", 1)
    document.add_paragraph("We move in May.")
    document.add_paragraph("pack", style="List Bullet")
    table = document.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "cost", "400"
    document.add_paragraph("The end.")
    file = await read("plan.docx", saved(document))
    lines = [line.partition("| ")[2] for line in file.text.splitlines()]
    assert lines == ["# The plan", "We move in May.", "- pack", "cost | 400", "The end."]


async def test_an_excel_file_has_every_row_with_its_sheet_and_number() -> None:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Sales"
    sheet.append(["month", "units"])
    sheet.append(["May", 40])
    sheet["B4"] = "=SUM(B2:B2)"
    book.create_sheet("Notes").append(["all final"])
    file = await read("sales.xlsx", saved(book))
    lines = [line.partition("| ")[2] for line in file.text.splitlines()]
    # A program that calculates stores the value too; this one stores formulas alone.
    assert lines == [
        "Sales!1: month | units",
        "Sales!2: May | 40",
        "Sales!4:  | =SUM(B2:B2)",
        "Notes!1: all final",
    ]


async def test_an_encrypted_pdf_and_a_scanned_one_say_what_to_do() -> None:
    with pytest.raises(UsageError, match="it is encrypted: give a copy without its password"):
        await read("locked.pdf", encrypted("password"))
    blank = PdfWriter()
    blank.add_blank_page(100, 100)
    empty = io.BytesIO()
    blank.write(empty)
    with pytest.raises(UsageError, match="holds no text; if it is scanned, give its pages as images"):
        await read("scan.pdf", empty.getvalue())


def encrypted(password: str) -> bytes:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf_of("secret"))))
    writer.encrypt(password, algorithm="RC4-128")
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def test_a_pdf_that_no_installed_library_decrypts_is_named_as_encrypted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def decrypt(reader: PdfReader, password: str) -> None:
        raise DependencyError("cryptography>=3.1 is required for AES algorithm")

    monkeypatch.setattr(PdfReader, "decrypt", decrypt)
    assert document(encrypted(""), {"kind": "pdf"}) == REFUSED
    assert (
        capsys.readouterr().out == "it is encrypted, with or without a password: give a copy without that\n"
    )


METHOD, FLAGS = 8, 6
"""Places in the header of a part."""


@pytest.mark.parametrize("kind", ["docx", "xlsx"])
@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ((METHOD, 97), "report.*: its parts are compressed in a form that is not read: save it again"),
        ((METHOD, 9), "report.*: its parts are compressed in a form that is not read: save it again"),
        ((FLAGS, 1), "report.*: it is encrypted: give a copy without its password"),
    ],
)
async def test_a_document_that_cannot_be_unpacked_says_why(
    kind: str, mark: tuple[int, int], message: str
) -> None:
    document = Workbook() if kind == "xlsx" else Document()
    with pytest.raises(UsageError, match=message):
        await read(f"report.{kind}", marked(saved(document), *mark))


def marked(archive: bytes, place: int, value: int) -> bytes:
    """The ZIP archive with two bytes of the header of every part, and of its entry in the list, replaced."""
    data = bytearray(archive)
    for header, at in ((b"PK\3\4", place), (b"PK\1\2", place + 2)):
        found = data.find(header)
        while found >= 0:
            struct.pack_into("<H", data, found + at, value)
            found = data.find(header, found + 4)
    return bytes(data)


async def test_an_encrypted_office_document_is_named_as_such() -> None:
    data = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + "EncryptedPackage".encode("utf-16-le")
    with pytest.raises(UsageError, match=r"plan\.docx: it is encrypted: give a copy without its password"):
        await read("plan.docx", data)


@pytest.mark.parametrize("kind", ["pdf", "docx", "xlsx"])
async def test_a_damaged_document_is_refused(kind: str) -> None:
    if kind == "pdf":
        data = b"%PDF-1.7\n" + b"garbage " * 50
    else:
        part = {"docx": "word/document.xml", "xlsx": "xl/workbook.xml"}[kind]
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as parts:
            parts.writestr(part, "<not xml")
        data = file.getvalue()
    assert document_kind(data) == kind
    with pytest.raises(UsageError, match=f"broken.{kind}"):
        await read(f"broken.{kind}", data)


async def test_a_bomb_is_stopped_by_the_limits_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pnyx.files.documents.TEXT_BYTES", 100_000)
    file = io.BytesIO()
    document = Document()
    document.add_paragraph("x" * 1_000_000)
    document.save(file)
    with pytest.raises(UsageError, match="holds more than 0 MB of text"):
        await read("bomb.docx", file.getvalue())


async def test_other_archives_and_programs_are_refused() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as parts:
        parts.writestr("a.txt", "x")
    for data in (file.getvalue(), b"\x7fELF" + b"\0" * 99, b"\xca\xfe\xba\xbe" + b"\0" * 99):
        with pytest.raises(UsageError, match="is not text, and of no kind that can be read"):
            await read("thing", data)


WEBP = b"RIFF\x24\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0" + b"\x3f\x01\0" + b"\xef\0\0"
LOSSLESS = b"RIFF\x24\0\0\0WEBPVP8L\x0a\0\0\0\x2f" + struct.pack("<I", 319 | 239 << 14)
LOSSY = b"RIFF\x24\0\0\0WEBPVP8 \x0a\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 320, 240)
JPEG = (
    b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xff\xc2\0\x0b\x08" + struct.pack(">HH", 240, 320) + b"\x01\x01\x11\0"
)
IMAGES = [
    ("image/png", png_of(320, 240)),
    ("image/gif", b"GIF89a" + struct.pack("<HH", 320, 240) + b"\0"),
    ("image/jpeg", JPEG),
    *(("image/webp", data) for data in (WEBP, LOSSLESS, LOSSY)),
]


@pytest.mark.parametrize(("media_type", "data"), IMAGES)
async def test_an_image_is_known_by_its_content_with_its_size(media_type: str, data: bytes) -> None:
    assert image_info(data) == (media_type, 320, 240)
    file = await read("picture.bin", data)
    assert (file.media_type, file.note, file.tokens) == (media_type, "320 x 240", image_tokens(320, 240))
    assert base64.b64decode(file.image) == data
    assert not file.text


def test_a_cut_image_is_none() -> None:
    for _, data in IMAGES:
        for length in range(len(data)):
            image_info(data[:length])  # never raises
    assert image_info(b"\x89PNG\r\n\x1a\n") is None


async def test_limits_are_settings_and_named() -> None:
    tight = ContextSettings(file_mb=0.001, image_mb=0.0001, total_mb=0.0015, files=2)
    with pytest.raises(UsageError, match=r"a.txt is larger than 0.001 MB \(\[context\] file_mb\)"):
        await read("a.txt", b"x" * 1001, tight)
    with pytest.raises(UsageError, match=r"a.png is larger than 0.0001 MB \(\[context\] image_mb\)"):
        await read("a.png", png_of(300, 300), tight)
    two = [Source(name=name, data=b"x" * 900) for name in "ab"]
    with pytest.raises(UsageError, match=r"larger than 0.0015 MB together \(\[context\] total_mb\)"):
        await read_files(two, tight)
    with pytest.raises(UsageError, match=r"there are 3 files, and at most 2 are read \(\[context\] files\)"):
        await read_files([*two, two[0]], tight)


async def test_a_source_is_exactly_one_thing_and_paths_are_for_this_machine_alone() -> None:
    with pytest.raises(UsageError, match="exactly one of content, data_base64, url and path, not 2"):
        await read_files([Source(content="a", data=b"a")], LIMITS)
    with pytest.raises(UsageError, match="url and path, not 0"):
        await read_files([Source(name="a")], LIMITS)
    with pytest.raises(UsageError, match="paths are not read here; send the content"):
        await read_files([Source(path="/etc/passwd")], LIMITS)
