"""What people call a run and file it under: its title, its tags, and whether it is pinned.

Rows of one table, so that the runs with a label are found by an index.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from ...core.text import is_text
from ...errors import UsageError
from ..schema import labels, runs

__all__ = [
    "MOST_TAGS",
    "MOST_TITLE",
    "NO_LABELS",
    "PINNED",
    "TAG",
    "LabelChange",
    "Labels",
    "change_labels",
    "read_labels",
]

TITLE, TAG, PINNED = "title", "tag", "pinned"
MOST_TAGS, MOST_TAG, MOST_TITLE = 50, 60, 200
"""Tags of a run; characters of a tag and of a title."""


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of a run. tags: sorted."""

    title: str | None = None
    tags: tuple[str, ...] = ()
    pinned: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return them as fields of a run."""
        return {"title": self.title, "tags": list(self.tags), "pinned": self.pinned}

    @property
    def rows(self) -> set[tuple[str, str]]:
        """The (kind, value) of each row."""
        title = {(TITLE, self.title)} if self.title else set()
        return title | {(TAG, tag) for tag in self.tags} | ({(PINNED, "")} if self.pinned else set())


NO_LABELS = Labels()


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelChange:
    """A change of labels. title, pinned: None keeps what there is; an empty title removes it.

    tags: all that the run has then; None: those that it has. Then `add` are added and `remove` removed.
    """

    title: str | None = None
    tags: Sequence[str] | None = None
    add: Sequence[str] = ()
    remove: Sequence[str] = ()
    pinned: bool | None = None

    def of(self, old: Labels) -> Labels:
        """Return the changed labels. Raises `UsageError`."""
        removed = {*_check(None, self.remove).tags}
        kept = old.tags if self.tags is None else self.tags
        new = _check(old.title if self.title is None else self.title, [*kept, *self.add])
        tags = tuple(tag for tag in new.tags if tag not in removed)
        return Labels(new.title, tags, old.pinned if self.pinned is None else self.pinned)


def _check(title: str | None, tags: Sequence[str]) -> Labels:
    """Return a title and tags without the spaces around them, each tag once. Raises `UsageError`."""
    title = " ".join(title.split()) if title is not None else None
    found = sorted({" ".join(tag.split()) for tag in tags})
    _check_text("a title", title or "", MOST_TITLE)
    for tag in found:
        _check_text("a tag", tag, MOST_TAG)
        if not tag or "," in tag:
            raise UsageError(f"a tag must be text without commas, not {tag!r}")
    if len(found) > MOST_TAGS:
        raise UsageError(f"a run has at most {MOST_TAGS} tags, not {len(found)}")
    return Labels(title or None, tuple(found))


def _check_text(what: str, value: str, longest: int) -> None:
    if len(value) > longest:
        raise UsageError(f"{what} must have at most {longest} characters, not {len(value)}")
    if not is_text(value):
        raise UsageError(f"{what} must not contain NUL or half a character")


def read_labels(connection: Connection, ids: Collection[str]) -> Mapping[str, Labels]:
    """Return run id -> labels, of those of these runs that have any."""
    if not ids:
        return {}
    query = select(labels.c.run_id, labels.c.kind, labels.c.value).where(labels.c.run_id.in_(ids))
    found: dict[str, set[tuple[str, str]]] = {}
    for row in connection.execute(query):
        if isinstance(row.value, str):  # not what a damaged file has in its place
            found.setdefault(row.run_id, set()).add((row.kind, row.value))
    return {run_id: _labels(rows) for run_id, rows in found.items()}


def _labels(rows: Collection[tuple[str, str]]) -> Labels:
    title = next((value for kind, value in rows if kind == TITLE), None)
    tags = sorted(value for kind, value in rows if kind == TAG)
    return Labels(title, tuple(tags), any(kind == PINNED for kind, _ in rows))


def change_labels(connection: Connection, run_id: str, change: LabelChange) -> Labels:
    """Change the labels of a run, and return the new ones. Raises `UsageError`."""
    # Two changes at once: the second waits for the first.
    connection.execute(select(runs.c.id).where(runs.c.id == run_id).with_for_update()).all()
    labelled = read_labels(connection, [run_id]).get(run_id, NO_LABELS)
    old, new = labelled.rows, change.of(labelled)
    for kind, value in sorted(old - new.rows):
        is_row = (labels.c.run_id == run_id) & (labels.c.kind == kind) & (labels.c.value == value)
        connection.execute(delete(labels).where(is_row))
    added = [{"kind": kind, "value": value} for kind, value in sorted(new.rows - old)]
    if added:
        # The time of the run, by which lists are ordered, so that one index has both.
        created_at = connection.execute(select(runs.c.created_at).where(runs.c.id == run_id)).scalar_one()
        rows = [{"run_id": run_id, "created_at": created_at, **row} for row in added]
        connection.execute(insert(labels), rows)
    return new
