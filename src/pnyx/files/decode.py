"""The text in bytes, in any encoding that can be detected."""

from __future__ import annotations

import codecs
import unicodedata

from ..errors import FileProblem
from ..extras import need

__all__ = ["decode", "is_binary"]

SAMPLE = 64 << 10
"""Bytes from which an encoding is guessed, and in which binary data is looked for."""
BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""Longer marks first: that of UTF-32 begins with that of UTF-16."""
BINARY_STARTS = (
    # Images, sound and films.
    *(b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"ID3\2", b"ID3\3", b"ID3\4"),
    b"\x1a\x45\xdf\xa3",
    # Archives and documents.
    *(b"PK\3\4", b"PK\5\6", b"PK\7\x08", b"\x1f\x8b\x08", b"BZh91AY&SY", b"\x28\xb5\x2f\xfd"),
    *(b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07", b"\x04\x22\x4d\x18", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
    # Programs.
    *(b"\x7fELF", b"\xca\xfe\xba\xbe", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe"),
)
"""First bytes of files that are no text, however short they are. Those with a zero are found by it."""
WESTERN, UTF_8 = "windows-1252", "utf-8"
_UNLIKELY = (
    # Any text of an even length is also one of UTF-16: only a mark or zeros speak for that.
    *("utf_16", "utf_16_le", "utf_16_be"),
    # Hardly ever used, and they have a character for almost any two bytes.
    *("shift_jis_2004", "shift_jisx0213", "euc_jis_2004", "euc_jisx0213", "hz", "johab"),
)
_CONTROLS = frozenset(range(32)) - frozenset(b"\t\n\r\f\b\x1b")
_IN_WORDS = "'\N{RIGHT SINGLE QUOTATION MARK}-\N{SOFT HYPHEN}"
_BEFORE_WORDS = "£¹³¼¾"
"""Letters of other encodings of one byte, which Windows-1252 has as symbols."""


def decode(data: bytes, name: str) -> tuple[str, str]:
    """Return the text of a file, with LF between its lines, and its encoding; "" for UTF-8.

    name: for messages. Raises `FileProblem` if it is not text, or if its encoding cannot be detected.
    """
    encoding = _encoding(data, name)
    text = data.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
    return text, "" if encoding in (UTF_8, "utf-8-sig") else encoding


def is_binary(data: bytes) -> bool:
    """Whether the data is not text in any encoding."""
    if data.startswith(BINARY_STARTS):
        return True
    sample = data[:SAMPLE]
    if any(sample.startswith(mark) for mark, _ in BOMS) or _wide(sample):
        return False
    # A control character in a few thousand is a slip, more are data.
    return b"\0" in sample or sum(byte in _CONTROLS for byte in sample) > len(sample) // 500 + 2


def _encoding(data: bytes, name: str) -> str:
    if is_binary(data):
        kinds = "PDF, Word, Excel, PNG, JPEG, GIF and WebP can"
        raise FileProblem(f"{name} is not text, and of no kind that can be read, or damaged: {kinds}")
    for mark, encoding in BOMS:
        if data.startswith(mark):
            return _checked(data, encoding, name)
    if wide := _wide(data[:SAMPLE]):
        return _checked(data, wide, name)
    if _fits(data, UTF_8):
        return UTF_8
    if _is_western(data):
        return WESTERN
    need("files", f"{name} is not UTF-8, and telling other encodings", "charset_normalizer")
    # An optional extra.
    from charset_normalizer import from_bytes

    best = from_bytes(data[:SAMPLE], cp_exclusion=list(_UNLIKELY)).best()
    if best is None or not _fits(data, best.encoding):
        raise FileProblem(f"the encoding of {name} cannot be detected: convert it to UTF-8, as with iconv")
    return codecs.lookup(best.encoding).name


def _checked(data: bytes, encoding: str, name: str) -> str:
    if not _fits(data, encoding):
        raise FileProblem(f"{name} begins like a text in {encoding.removesuffix('-sig')}, and is none")
    return encoding


def _fits(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except (UnicodeError, LookupError):
        return False
    return True


def _wide(sample: bytes) -> str:
    """The kind of UTF-16 without a mark; "" for others. Latin text has a zero in every pair."""
    even, odd = sample[::2], sample[1::2]
    least = len(odd) * 3 // 4
    if len(sample) < 4 or not least:
        return ""
    if odd.count(0) >= least and _is_plain(even):
        return "utf-16-le"
    return "utf-16-be" if even.count(0) >= least and _is_plain(odd) else ""


def _is_plain(letters: bytes) -> bool:
    """Whether the other bytes of pairs are letters; a few are halves of dashes and quotation marks."""
    return sum(byte in _CONTROLS for byte in letters) <= len(letters) // 10


def _is_western(data: bytes) -> bool:
    """Whether the data reads like Windows-1252: few accents, and no symbol within a word."""
    if not _fits(data, WESTERN):
        return False
    text = data[:SAMPLE].decode(WESTERN)
    letters = [char for char in text if char.isalpha()]
    if sum(not char.isascii() for char in letters) > 0.3 * len(letters):
        return False
    padded = f" {text} "
    for before, char, after in zip(padded, padded[1:], padded[2:], strict=False):
        if char.isascii() or unicodedata.category(char)[0] == "L" or not after.isalpha():
            continue
        if (before.isalpha() and char not in _IN_WORDS) or char in _BEFORE_WORDS:
            return False
    return True
