"""Prompts: their text, and the drafts that they are rendered from.

Reads no files: `pnyx.prompts` loads templates and makes drafts of them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ..errors import PromptError
from .context.fences import MAX_CHARS, Document, Material, fence, fenced, nonce_of, shorten
from .context.token_bounds import estimate_tokens, most_tokens

__all__ = [
    "MAX_CHARS",
    "NONCE",
    "Document",
    "Draft",
    "Material",
    "Preamble",
    "Prompt",
    "combine_digests",
    "estimate_tokens",
    "fence",
    "is_text",
    "most_tokens",
    "prompt_name",
    "replace_invalid",
    "shorten",
]

NONCE = object()
"""The place of `{{nonce}}` in a draft."""
JOINT = "\n\n"
"""What stands between two parts of a prompt, and between two pieces of material."""

Spans: TypeAlias = "tuple[tuple[int, int], ...]"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as it is sent. id, sha256: of its template files, that of the task first.

    text: the user message. system: the system message, "" for none. material: (start, end) in `text` of each
    piece of material inside fences that may be shortened. images: what identifies the images that are sent
    with it, see `Document`. breaks: offsets in `text` at which a prefix ends that later prompts share: first
    of all after the context, then after each piece of it, the question and each contribution. spare: (start,
    end) in `text` of the contributions that the task does not need, oldest first.
    """

    id: str
    sha256: str
    text: str
    material: Spans = ()
    system: str = ""
    breaks: tuple[int, ...] = ()
    spare: Spans = ()
    images: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The id of the task's template, whatever its variant and what is around it: "council/vote"."""
        return prompt_name(self.id)


def prompt_name(id: str) -> str:
    """`Prompt.name` of the prompt with this id."""
    return id.partition("+")[0].removesuffix(".short")


Piece: TypeAlias = "str | tuple[Material, ...] | Draft | object"


@dataclass(frozen=True, slots=True)
class Preamble:
    """What a prompt has before its task, the same for all steps and seats of a run but for what is new.

    system: the system message. context: files, and what else the question is about. question: after it,
    since other questions may have the same context. notice: explains the nonce, before the first
    contribution. contributions: what seats have written, oldest first. needed: the places
    of those that the task needs. needed_short: the places of those that a short prompt shows; a long one
    shows all. own_order: the contributions are in an order that no other prompt has. fences: contributions
    that are already fenced, by what determines the result. Names in the system message, in the question and
    in `subject` are subject matter. texts: long texts that prompts of a run have in common, so that each is
    in memory once.
    """

    system: Draft
    context: Draft
    question: Draft
    notice: Draft
    contributions: tuple[Material, ...] = ()
    needed: frozenset[int] = frozenset()
    needed_short: frozenset[int] = frozenset()
    own_order: bool = False
    subject: str = ""
    fences: dict[tuple[object, ...], tuple[str, str, str]] = field(default_factory=dict, compare=False)
    texts: dict[str, str] = field(default_factory=dict, compare=False)

    def shared(self, text: str) -> str:
        """`text`, as the object that an earlier prompt of the run has."""
        return self.texts.setdefault(text, text)


@dataclass(frozen=True, slots=True)
class Draft:
    """A filled template. The seat decides its variant, and the run's salt its nonce.

    A slot may hold another draft: its pieces are inserted, and its hash is combined with the outer one. A
    draft without an id only concatenates others. preamble: if the draft is a task; without one, the prompt
    has no system message.
    """

    id: str
    sha256: str
    pieces: tuple[Piece, ...]
    short: Draft | None = None
    preamble: Preamble | None = None

    def render(
        self,
        *,
        salt: str = "",
        short: bool = False,
        names: tuple[str, ...] = (),
        role: Draft | None = None,
        images: bool = False,
    ) -> Prompt:
        """The prompt for a seat. names: the panel's model references, which are masked inside material.

        role: the part of the seat, at the end of the system message or, without a preamble, of the prompt.
        images: whether its model reads images.
        """
        return _Rendering(salt, short, names, role, images).render(self)

    def variant(self, short: bool) -> Draft:
        return self.short if short and self.short is not None else self

    def flat(self, short: bool, sources: list[Draft]) -> Iterator[Piece]:
        """Yield the pieces of the draft and of those in it; add the drafts with an id to `sources`."""
        draft = self.variant(short)
        if draft.id:
            sources.append(draft)
        for piece in draft.pieces:
            if isinstance(piece, Draft):
                yield from piece.flat(short, sources)
            else:
                yield piece


class _Rendering:
    """One prompt in the making. `out` is its text so far, `length` that text's length."""

    def __init__(
        self, salt: str, short: bool, names: tuple[str, ...], role: Draft | None, reads_images: bool
    ) -> None:
        self.nonce, self.short, self.names, self.role = nonce_of(salt), short, names, role
        self.reads_images, self.images = reads_images, dict[str, None]()
        self.sources: list[Draft] = []
        self.out: list[str] = []
        self.length = 0
        self.material: list[tuple[int, int]] = []
        self.blocks: list[tuple[int, int]] = []
        self.trusted: list[Piece] = []
        self.fences: dict[tuple[object, ...], tuple[str, str, str]] = {}
        self.explained = False

    def render(self, draft: Draft) -> Prompt:
        inner: list[Draft] = []
        task = list(draft.flat(self.short, inner))
        self.sources += inner[:1]
        before = draft.preamble
        if before is None:
            self.sources += inner[1:]
            return self._without_preamble(task)
        self.fences = before.fences
        system = list(before.system.flat(self.short, self.sources))
        context = list(before.context.flat(self.short, self.sources))
        question = list(before.question.flat(self.short, self.sources))
        role = list(self.role.flat(self.short, inner)) if self.role else []
        self.trusted = [*system, *role, *context, *question, before.subject]
        every = range(len(before.contributions))
        places = [n for n in every if n in before.needed_short] if self.short else list(every)
        shown = tuple(before.contributions[n] for n in places)

        breaks: list[int] = []
        if context:
            self._write(context)
            # The next question may have the same material, and more behind it.
            breaks = [self.length, *(end for _, end in self.blocks[:-1])]
        self._part(question)
        breaks.append(self.length)
        blocks: list[tuple[int, int]] = []
        if shown:
            if not self.explained:
                self._part(list(before.notice.flat(self.short, self.sources)))
            self.blocks.clear()
            self._part([shown])
            blocks += self.blocks
        needed = before.needed_short if self.short else before.needed
        spare = tuple(block for n, block in zip(places, blocks, strict=True) if n not in needed)
        self._part(task)
        self.sources += inner[1:]
        return Prompt(
            self._id(),
            combine_digests([draft.sha256 for draft in self.sources]),
            "".join(self.out).rstrip() + "\n",
            tuple(self.material),
            before.shared(_joined(_strings(part, self.nonce) for part in (system, role))),
            (*breaks, *(end for _, end in blocks if not before.own_order)),
            spare,
            tuple(self.images),
        )

    def _without_preamble(self, task: list[Piece]) -> Prompt:
        role = list(self.role.flat(self.short, self.sources)) if self.role else []
        self.trusted = [*task, *role]
        self._write(task)
        if role:
            self._part(role)
        digest = combine_digests([draft.sha256 for draft in self.sources])
        text = "".join(self.out).rstrip() + "\n"
        return Prompt(self._id(), digest, text, tuple(self.material), images=tuple(self.images))

    def _id(self) -> str:
        return "+".join(draft.id for draft in self.sources)

    def _part(self, pieces: Sequence[Piece]) -> None:
        """Write a part, with one empty line before it if it is not the first."""
        if self.length:
            self._add(JOINT)
        self._write(pieces)

    def _write(self, pieces: Sequence[Piece]) -> None:
        """Write pieces, without the space around all of them."""
        last = len(pieces) - 1
        for place, piece in enumerate(pieces):
            if isinstance(piece, tuple):
                self._fence(piece)
                continue
            text = self.nonce if piece is NONCE else str(piece)
            self.explained = self.explained or piece is NONCE
            text = text.lstrip() if place == 0 else text
            self._add(text.rstrip() if place == last else text)

    def _fence(self, materials: tuple[Material, ...]) -> None:
        if materials and not self.explained:
            raise PromptError(
                f"prompt {self._id()!r} holds material, so its text must explain {{{{nonce}}}} before it"
            )
        for n, material in enumerate(materials):
            if n:
                self._add(JOINT)
            start = self.length
            if isinstance(material, Document) and material.image:
                material = self._image(material)
            opens, body, closes = self._fenced(material)
            self._add(opens)
            self._add(body)
            if not isinstance(material, Document):
                self.material.append((self.length - len(body), self.length))
            self._add(closes)
            self.blocks.append((start, self.length))

    def _image(self, material: Document) -> Document:
        if not self.reads_images:
            return replace(material, text=material.unseen)
        self.images[material.image] = None
        return material

    def _fenced(self, material: Material) -> tuple[str, str, str]:
        # All trusted text but that of the role is the same in every prompt with these fences.
        key = (material, self.nonce, self.short, self.role, self.names)
        if key not in self.fences:
            self.fences[key] = fenced(material, self.nonce, _strings(self.trusted), self.names)
        return self.fences[key]

    def _add(self, text: str) -> None:
        self.out.append(text)
        self.length += len(text)


def _joined(texts: Iterable[str]) -> str:
    """The texts that are not blank, as one."""
    kept = [text.strip() for text in texts if text.strip()]
    return JOINT.join(kept) + "\n" if kept else ""


def _strings(pieces: Sequence[Piece], nonce: str = "") -> str:
    """The text of the pieces that are not material, with `nonce` in its place."""
    texts = [nonce if piece is NONCE else piece for piece in pieces]
    return "".join(text for text in texts if isinstance(text, str))


_SURROGATE = re.compile("[\ud800-\udfff]")


def is_text(text: str) -> bool:
    """Whether `text` holds neither NUL nor a lone surrogate, which databases and hosts reject."""
    return "\0" not in text and (text.isascii() or _SURROGATE.search(text) is None)


def replace_invalid(text: str) -> str:
    """`text` with U+FFFD in place of NUL and lone surrogates, which a model may write."""
    if text.isascii():
        return text.replace("\0", "\N{REPLACEMENT CHARACTER}")
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\0", "\N{REPLACEMENT CHARACTER}")


def combine_digests(digests: Sequence[str]) -> str:
    """The SHA-256 of nested templates; the digest itself if there is only one."""
    return digests[0] if len(digests) == 1 else hashlib.sha256(" ".join(digests).encode()).hexdigest()
