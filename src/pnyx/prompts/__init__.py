"""Load, fill and hash prompt files: texts with `{{slots}}` and no logic.

`prompts/<protocol>/<phase>.md` is a prompt; `<phase>.short.md` beside it, if there is one, is the variant
for models that answer better to fewer words (`Seat.short_prompts`). It may leave out slots of the other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TypeAlias

from ..core.caching.regex import regex
from ..core.text import NONCE, Draft, Material, Piece, combine_digests
from ..errors import PromptError

__all__ = ["Template", "digest", "load"]

ROOT = Path(__file__).parent
_SLOT = regex(r"\{\{(\w+)\}\}")

Fill: TypeAlias = "str | Draft | Material | Sequence[Material]"


@dataclass(frozen=True)
class Template:
    """A prompt file. Calling it with a value for each slot returns a `Draft`.

    A string is trusted and inserted unchanged, `Material` is fenced, and a `Draft` is inserted with its
    pieces.
    """

    id: str
    sha256: str
    parts: tuple[str, ...]
    short: Template | None = None

    @cached_property
    def slots(self) -> frozenset[str]:
        return frozenset(self.parts[1::2]) - {"nonce"}

    def __call__(self, **fill: Fill) -> Draft:
        if self.slots != fill.keys():
            raise PromptError(f"prompt {self.id!r} has the slots {sorted(self.slots)}, not {sorted(fill)}")
        values: dict[str, Piece] = {name: _piece(value) for name, value in fill.items()}
        values["nonce"] = NONCE
        pieces = tuple(values[p] if i % 2 else p for i, p in enumerate(self.parts))
        # A draft around a task is a task with the same preamble.
        preambles = [one.preamble for one in fill.values() if isinstance(one, Draft) and one.preamble]
        preamble = preambles[0] if preambles else None
        short = self.short(**{name: fill[name] for name in self.short.slots}) if self.short else None
        return Draft(self.id, self.sha256, pieces, short, preamble)


def _piece(value: Fill) -> Piece:
    if isinstance(value, str | Draft):
        return value
    return (value,) if isinstance(value, Material) else tuple(value)


@cache
def load(id: str, root: Path = ROOT) -> Template:
    """The template `<root>/<id>.md` with its short variant. Raises `PromptError` if it cannot be read."""
    template = _read(id, root)
    if (root / f"{id}.short.md").exists():
        short = _read(f"{id}.short", root)
        if not short.slots <= template.slots:
            raise PromptError(f"prompt {short.id!r} has other slots than {id!r}")
        template = Template(id, template.sha256, template.parts, short)
    return template


@cache
def digest(prompt_id: str) -> str | None:
    """The current `Prompt.sha256` of `prompt_id`; None if one of its templates does not exist."""
    try:
        return combine_digests([_read(id, ROOT).sha256 for id in prompt_id.split("+")])
    except PromptError:
        return None


def _read(id: str, root: Path) -> Template:
    try:
        raw = (root / f"{id}.md").read_bytes()
    except OSError as exc:
        raise PromptError(f"prompt {id!r} cannot be read: {exc}") from exc
    return Template(id, hashlib.sha256(raw).hexdigest(), tuple(_SLOT.split(raw.decode())))
