"""The files of a folder: those that match, without what .gitignore leaves out, hidden and binary files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..config.schema import ContextSettings
from ..core.context.files import Source
from ..errors import FileProblem
from ..extras import need
from ..phrases import first_of
from .decode import SAMPLE, is_binary
from .documents import document_kind
from .images import image_info
from .own_output import is_own_output
from .secret_files import looks_secret

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

__all__ = ["FolderListing", "list_folder"]

IGNORE = ".gitignore"
MB = 1_000_000


class FolderListing(NamedTuple):
    """The files of a folder to read, and a note for each reason why others are left out."""

    sources: tuple[Source, ...]
    notes: tuple[str, ...]


class _Rules(NamedTuple):
    """The patterns of a .gitignore and the folder that they apply to."""

    folder: Path
    spec: GitIgnoreSpec


def list_folder(folder: Path, globs: Sequence[str], limits: ContextSettings) -> FolderListing:
    """Return the files below `folder`, by name. globs: patterns as in .gitignore; none: all files.

    Symbolic links below it are not followed. Raises `FileProblem` if there is no file, or too many.
    """
    need("files", "--dir", "pathspec")
    # An optional extra.
    from pathspec import GitIgnoreSpec

    if not folder.is_dir():
        if folder.exists():
            raise FileProblem(f"{folder} is no folder: give it with --file {folder}")
        raise FileProblem(f"there is no folder {folder}")
    wanted = GitIgnoreSpec.from_lines(globs) if globs else None
    left_out: dict[str, list[str]] = {}
    sources = []
    for path in _walk(folder, _outer_rules(folder.resolve(), GitIgnoreSpec), GitIgnoreSpec, left_out):
        inner = path.relative_to(folder).as_posix()
        if (wanted is not None and not wanted.match_file(inner)) or is_own_output(path):
            continue
        if why := _unfit(path, limits):
            left_out.setdefault(why, []).append(inner)
            continue
        sources.append(Source(name=str(path), path=str(path)))
        if len(sources) > limits.files:
            raise FileProblem(
                f"{folder} has more than {limits.files:,} files to read ([context] files): choose some with "
                "--glob, such as --glob '*.py'"
            )
    notes = tuple(f"left out of {folder}, {why}: {first_of(names)}" for why, names in left_out.items())
    if not sources:
        matching = f" that match {', '.join(globs)}" if globs else ""
        if not notes and any(folder.iterdir()):
            notes = ("hidden files and those that .gitignore names are not read",)
        raise FileProblem("; ".join((f"{folder} has no files to read{matching}", *notes)))
    return FolderListing(tuple(sources), notes)


def _walk(
    folder: Path,
    rules: tuple[_Rules, ...],
    spec: type[GitIgnoreSpec],
    left_out: dict[str, list[str]],
    top: bool = True,
) -> Iterator[Path]:
    """Yield the files below `folder` that are neither hidden nor ignored, each folder's own ones first.

    top: whether it is the folder that was named: one below it that cannot be read is left out.
    """
    rules = (*rules, *_rules_of(folder, spec))
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as exc:
        if top:
            raise FileProblem(f"{folder} cannot be read: {exc.strerror}") from None
        left_out.setdefault(f"as they cannot be read ({exc.strerror})", []).append(str(folder))
        return
    folders = []
    for entry in entries:
        path, is_folder = folder / entry.name, entry.is_dir(follow_symlinks=False)
        if entry.name.startswith(".") or _ignored(path, is_folder, rules):
            continue
        if entry.is_symlink():
            left_out.setdefault("as symbolic links are not followed", []).append(str(path))
        elif is_folder:
            folders.append(path)
        elif entry.is_file(follow_symlinks=False):
            yield path
    for inner in folders:
        yield from _walk(inner, rules, spec, left_out, top=False)


def _outer_rules(folder: Path, spec: type[GitIgnoreSpec]) -> tuple[_Rules, ...]:
    """The rules of the folders above, up to the top of the repository that `folder` is in."""
    above = [folder, *folder.parents]
    # Not Path.exists, which raises in a folder that may not be entered.
    top = next((n for n, one in enumerate(above) if os.path.exists(one / ".git")), 0)
    return tuple(rules for one in reversed(above[1 : top + 1]) for rules in _rules_of(one, spec))


def _rules_of(folder: Path, spec: type[GitIgnoreSpec]) -> tuple[_Rules, ...]:
    file = folder / IGNORE
    if not os.path.isfile(file):  # also where the folder may not be entered
        return ()
    try:
        lines = file.read_text("utf-8", "replace").splitlines()
    except OSError as exc:
        raise FileProblem(f"{file}, which names files to leave out, cannot be read: {exc.strerror}") from None
    return (_Rules(folder.resolve(), spec.from_lines(lines)),)


def _ignored(path: Path, is_folder: bool, rules: Sequence[_Rules]) -> bool:
    """Whether the rules leave the path out: the innermost file with a pattern for it decides."""
    whole = path.parent.resolve() / path.name
    for one in reversed(rules):
        name = whole.relative_to(one.folder).as_posix() + ("/" if is_folder else "")
        decided = one.spec.check_file(name).include
        if decided is not None:
            return decided
    return False


def _unfit(path: Path, limits: ContextSettings) -> str:
    """Why a file of a folder is left out; "" if it is read."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(SAMPLE)
    except OSError as exc:
        return f"as they cannot be read ({exc.strerror})"
    if looks_secret(path.name, head):
        return "as they look like secrets (name one with --file to give it)"
    if not head.strip():
        return "as they are empty"
    image = image_info(head) is not None
    if not image and head.startswith(b"PK\3\4"):
        head = path.read_bytes() if size <= limits.file_mb * MB else head
    if not image and document_kind(head) is None and is_binary(head):
        return "as they are binary"
    setting = "image_mb" if image else "file_mb"
    most = limits.image_mb if image else limits.file_mb
    return f"as they are larger than {most:g} MB ([context] {setting})" if size > most * MB else ""
