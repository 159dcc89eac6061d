"""Files that a question is about: documents, code and images, as seats get them.

Reads no files: `pnyx.files` makes these objects of paths, bytes, pages and diffs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from ...errors import Unreadable
from ..documents import build, to_document
from ..text import estimate_tokens
from .fences import Document

__all__ = [
    "File",
    "Source",
    "contents",
    "file_of",
    "file_rows",
    "file_tokens",
    "number_lines",
    "unique_names",
    "without_content",
]

_SHOWN = "The image comes with this message."
_UNSEEN = (
    "The asker gave an image here. Your model reads no images, so it is not shown to you: do not guess what "
    "is in it, and say so if the answer depends on it."
)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a file comes from. Exactly one of content, data, url and path is set.

    name: that seats cite; "": made of the source. data: the bytes of the file. media_type: "" if unknown.
    """

    name: str = ""
    content: str | None = None
    data: bytes | None = None
    url: str | None = None
    path: str | None = None
    media_type: str = ""


@dataclass(frozen=True, slots=True)
class File:
    """A file that was read. name: unique within a request; seats cite it.

    size, sha256: of the original, in bytes and in hex. content: the SHA-256 of what is stored, which is
    `text`, as seats read it, or `image`, in Base64. note: how it was read, such as its encoding. tokens: an
    upper bound. Files are equal if all of this is; text and image follow from `content`.
    """

    name: str
    media_type: str
    size: int
    sha256: str
    content: str
    tokens: int
    note: str = ""
    text: str = field(default="", compare=False, repr=False)
    image: str = field(default="", compare=False, repr=False)

    @classmethod
    def of_text(
        cls, name: str, data: bytes, text: str, *, media_type: str = "text/plain", note: str = ""
    ) -> File:
        """The file of the bytes `data`, of which seats read `text`."""
        text = text.strip()
        return cls(
            name,
            media_type,
            len(data),
            sha256(data).hexdigest(),
            sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
            estimate_tokens(text),
            note,
            text=text,
        )

    @property
    def is_image(self) -> bool:
        return self.media_type.startswith("image/")

    @property
    def document(self) -> Document:
        """The file as a part of a prompt."""
        if self.is_image:
            label = f"image {self.name}" + (f", {self.note}" if self.note else "")
            return Document(label, _SHOWN, self.content, _UNSEEN)
        return Document(f"file {self.name}", self.text)

    @property
    def row(self) -> dict[str, Any]:
        """The file as events, results and plans list it."""
        return {
            "name": self.name,
            "media_type": self.media_type,
            "size": self.size,
            "sha256": self.sha256,
            "tokens": self.tokens,
            "note": self.note or None,
        }


def file_rows(files: Iterable[File]) -> tuple[Mapping[str, Any], ...]:
    return tuple(one.row for one in files)


def file_tokens(files: Iterable[File]) -> int:
    """An upper bound of the tokens that the files take in a prompt."""
    return sum(one.tokens for one in files)


def contents(files: Iterable[File]) -> dict[str, str]:
    """`File.content` -> what is stored under it."""
    return {one.content: one.image or one.text for one in files}


def without_content(file: File) -> dict[str, Any]:
    """The file as JSON, for who stores its content apart."""
    return {name: value for name, value in to_document(file).items() if name not in ("text", "image")}


def file_of(document: Mapping[str, Any], what: str, contents: Mapping[str, str] | None) -> File:
    """The file of `without_content`. contents: as `contents` returns; None: it stays without its content.

    what: its owner in messages. Raises `Unreadable`.
    """
    file = build(File, document, what)
    if contents is None:
        return file
    if file.content not in contents:
        raise Unreadable(
            f"{what} cannot be read: the content of its file {file.name} is gone; restore it from a backup"
        )
    content = contents[file.content]
    return replace(file, image=content) if file.is_image else replace(file, text=content)


def number_lines(text: str) -> str:
    """`text` with the number of each line before it, as in "12| x = 1"."""
    return "\n".join(f"{n}| {line}" for n, line in enumerate(text.split("\n"), 1))


def unique_names(files: Sequence[File]) -> tuple[File, ...]:
    """The files, with a number behind a name that an earlier one has. Equal files are kept once."""
    taken: dict[str, File] = {}
    for one in files:
        name, n = one.name, 1
        while name in taken and taken[name] != replace(one, name=name):
            n += 1
            name = f"{one.name} ({n})"
        taken[name] = replace(one, name=name)
    return tuple(taken.values())
