"""The stored form of JSON documents: compressed, with long texts replaced by the numbers of stored contents.

It is the JSON of the document, in which {MARK: parts} is in place of a text. Its parts, in order, are literal
texts and numbers of contents; see `store.documents.contents`. It is compressed with zstd and a dictionary of
what documents of pnyx have in common. In a column of text it is in Base85, after a sign that no JSON starts
with.
"""

from __future__ import annotations

import sys
import threading
from base64 import b85encode
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from ...core.caching.regex import regex
from ...errors import Unreadable
from ...json_bytes import json_bytes, parse_json

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = [
    "PACKED",
    "Parts",
    "Piece",
    "Place",
    "compress",
    "cut",
    "damaged",
    "decompress",
    "dump",
    "fill",
    "from_column",
    "joined",
    "load",
    "pieces",
    "to_column",
    "without",
]

LEAST = 200
"""Characters from which a text is stored apart: its row and the notes of who uses it take about a hundred."""
LEAST_BETWEEN_TAGS = 100
"""The same for the question and for material in a prompt, which other prompts of the run have too."""
MARK = "\x01"
PACKED = MARK
"""The first character of a packed document in a column of text; no JSON and no question begins with it."""
MOST_BYTES = 2**28
"""The largest document or text; what claims to be larger is not read into memory."""
_MARK_AS_JSON = b'"\\u0001'
"""How a name that begins with the mark is written."""
_PLAIN = frozenset((int, float, bool, type(None)))
_ALPHABET = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_DIGITS = bytes.maketrans(_ALPHABET, bytes(range(85)))
"""Those of Base85, and their values."""
_TAG = regex(r"\n</?(?:m[0-9a-f]{10}(?: [^\n]*)?|question)>(?=\n|\Z)")
"""A line before or after a question and material in prompts, see `core.context.fences`."""


class Parts(dict[str, list[Any]]):
    """A text in parts. After `cut`, each is a literal text or a `Piece`; in a document that was read, or is
    to be stored, a literal text or the number of a content. Its JSON is {MARK: parts}."""

    __slots__ = ()

    def __init__(self, parts: list[Any]) -> None:
        super().__init__({MARK: parts})

    @property
    def parts(self) -> list[Any]:
        return self[MARK]


class Piece(str):
    """A part of a text that is stored apart."""

    __slots__ = ()


def pieces(text: str) -> list[str | Piece]:
    """The parts of a text, which add up to it: a prompt has what seats wrote between lines of tags.

    Space around a part is literal, so that a reply and its place in prompts have the same piece.
    """
    out: list[str | Piece] = []
    start = done = 0
    for end, after in _tags(text):
        least = LEAST_BETWEEN_TAGS if start and text.startswith("\n</", end) else LEAST
        if end - start >= least:
            between = text[start:end]
            body = between.strip()
            if len(body) >= least:
                first = start + between.index(body)
                if first > done:
                    out.append(text[done:first])
                out.append(Piece(body))
                done = first + len(body)
        start = after
    if done < len(text):
        out.append(text[done:])
    return out


def _tags(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each tag in a text, and its own end."""
    at = text.find("\n<") if "\n</" in text else -1
    while at >= 0:
        tag = _TAG.match(text, at)  # `search` would try every character
        if tag is not None:
            yield tag.span()
        at = text.find("\n<", at + 1 if tag is None else tag.end())
    yield len(text), len(text)


def cut(value: Any, found: list[Parts]) -> Any:
    """`value` with `Parts` in place of its long texts; these are added to `found`."""
    if isinstance(value, str):
        if len(value) < LEAST:
            return value
        parts = pieces(value)
        if len(parts) == 1 and type(parts[0]) is str:  # two literal parts never follow each other
            return value
        found.append(Parts(parts))
        return found[-1]
    if isinstance(value, dict):
        # Most values of an event are short, and a call for each of them takes longer than all else.
        changed = {
            name: one if type(one) in _PLAIN or (type(one) is str and len(one) < LEAST) else cut(one, found)
            for name, one in value.items()
        }
        if len(changed) == 1:
            ((name, one),) = changed.items()
            if isinstance(name, str) and name.startswith(MARK):
                return {MARK + name: one}  # ours has only the mark
        return changed
    if isinstance(value, list | tuple):
        return [one if type(one) in _PLAIN else cut(one, found) for one in value]
    return value


def dump(value: Any) -> bytes:
    """The stored form of what `cut` returned, in whose `Parts` numbers have replaced the pieces."""
    return compress(json_bytes(value, "surrogatepass"))


class Place(NamedTuple):
    """Where `parts` are: container[key]."""

    container: Any
    key: Any
    parts: Parts


def load(packed: bytes, what: str) -> tuple[list[Any], list[Place]]:
    """A list of the value of `dump` alone, and where there are `Parts` in it.

    what: its name in messages. Raises `Unreadable`.
    """
    found: list[Place] = []
    try:
        document = decompress(packed, what)
        root = [parse_json(document)]
        _note_places(root, enumerate(root), found, document.count(_MARK_AS_JSON))
        return root, found
    except (ValueError, RecursionError) as exc:
        raise damaged(what) from exc


def _note_places(container: Any, items: Iterable[tuple[Any, Any]], found: list[Place], most: int) -> None:
    """Add the places of `Parts` in a container and below it, and give names that begin with the mark back.

    most: stop when so many are found, which nearly always are among the first values of a document.
    """
    for key, one in items:
        if len(found) >= most:
            return
        if type(one) is dict:
            if len(one) == 1:
                ((name, value),) = one.items()
                if name == MARK:
                    container[key] = Parts(value)
                    found.append(Place(container, key, container[key]))
                    continue
                if name.startswith(MARK):
                    one = container[key] = {name[1:]: value}
            _note_places(one, one.items(), found, most)
        elif type(one) is list:
            _note_places(one, enumerate(one), found, most)


def without(root: list[Any], places: Iterable[Place], names: Collection[str]) -> list[Place]:
    """The other places, after the long texts with these names in the object in `root` became ""."""
    kept = []
    for place in places:
        if place.container is root[0] and place.key in names:
            place.container[place.key] = ""
        else:
            kept.append(place)
    return kept


def fill(places: Iterable[Place], texts: Mapping[int, str], what: str) -> None:
    """Put the texts of `Parts` in their places. texts, what, errors: as for `joined`."""
    for container, key, parts in places:
        container[key] = joined(parts, texts, what)


def joined(parts: Parts, texts: Mapping[int, str], what: str) -> str:
    """The text of these parts. texts: number -> content. Raises `Unreadable` if one is gone."""
    try:
        return "".join(part if isinstance(part, str) else texts[part] for part in parts.parts)
    except KeyError:
        raise Unreadable(f"{what} lacks a text; restore the database from a backup") from None


def to_column(packed: bytes) -> str:
    """Packed bytes in a column of text."""
    return PACKED + b85encode(packed).decode()


def from_column(text: str, what: str) -> bytes:
    """The packed bytes in a column of text. Raises `Unreadable`."""
    # In half the time of `base64.b85decode`, which was a tenth of the time of a list of 1,000 runs.
    data = text[len(PACKED) :].encode("ascii", "replace")
    if data.translate(None, _ALPHABET):
        raise damaged(what)
    missing = -len(data) % 5
    digits = (data + _ALPHABET[-1:] * missing).translate(_DIGITS)
    # All groups of five digits at once, each in eight bytes of one large number.
    size, total = len(digits) // 5, 0
    lanes = bytearray(8 * size)
    for n in range(5):
        lanes[::8] = digits[n::5]
        total = total * 85 + int.from_bytes(lanes, "little")
    numbers = total.to_bytes(8 * size, "little")
    if any(numbers[4::8]):
        raise damaged(what)
    found = bytearray(4 * size)
    for n in range(4):
        found[n::4] = numbers[3 - n :: 8]
    return bytes(found[: len(found) - missing])


def compress(data: bytes) -> bytes:
    """The bytes as one frame of zstd, with a checksum, by which `decompress` notices a flipped bit."""
    compressor: zstd.ZstdCompressor | None = getattr(_local, "compressor", None)
    if compressor is None:
        compressor = _local.compressor = zstd.ZstdCompressor(
            options={zstd.CompressionParameter.dict_id_flag: 0, zstd.CompressionParameter.checksum_flag: 1},
            zstd_dict=_dictionary().as_digested_dict,
        )
    compressor.set_pledged_input_size(len(data))
    return compressor.compress(data, zstd.ZstdCompressor.FLUSH_FRAME)


def decompress(data: bytes, what: str) -> bytes:
    """The bytes in a frame of zstd. what: its name in messages. Raises `Unreadable`."""
    reader = zstd.ZstdDecompressor(_dictionary().as_digested_dict)
    try:
        found = reader.decompress(data, MOST_BYTES)
    except (zstd.ZstdError, TypeError) as exc:  # a damaged file of SQLite may have a text in place of bytes
        raise damaged(what) from exc
    if not reader.eof:
        raise damaged(what)
    return found


def damaged(what: str) -> Unreadable:
    """The error for what cannot be read. what: its name."""
    return Unreadable(f"{what} is damaged; restore the database from a backup")


_local = threading.local()
"""The compressor of each thread: to make one takes longer than a short text."""


@cache
def _dictionary() -> zstd.ZstdDict:
    """What documents and texts of pnyx have in common; `python -m benchmarks.dictionary` makes it.

    Databases depend on it: another one needs another file, chosen by a sign in front of the frame.
    """
    return zstd.ZstdDict((files(__package__) / "documents.zdict").read_bytes())
