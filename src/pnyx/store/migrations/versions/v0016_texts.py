"""every text stored once, under a number; `store.documents.conversion` converts rows of earlier versions"""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.add_column("events", sa.Column("packed", sa.LargeBinary))
    op.create_table(
        "conversions",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("done", sa.Text, nullable=False),
    )
    op.rename_table("contents", "old_contents")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE old_contents RENAME CONSTRAINT contents_pkey TO old_contents_pkey")
    op.create_table(
        "contents",
        sa.Column("id", NUMBER, sa.Identity(), primary_key=True),
        sa.Column("sha256", sa.LargeBinary, nullable=False, unique=True),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "content_uses",
        sa.Column("content_id", NUMBER, sa.ForeignKey("contents.id"), primary_key=True),
        sa.Column("run_id", sa.Text, primary_key=True),
        sqlite_with_rowid=False,
    )
    op.create_index("content_uses_by_run", "content_uses", ["run_id"])
    _copy_contents(op.get_bind())
    op.drop_table("old_contents")
    op.execute("INSERT INTO conversions (name, done) SELECT 'texts', '' WHERE EXISTS (SELECT 1 FROM runs)")


def _copy_contents(connection: sa.Connection) -> None:
    """Copy the contents of files, and note which runs use them. Raises if one would not be read as it was."""
    # Needed only by databases with files.
    from pnyx.errors import StoreError
    from pnyx.store.documents.packing import compress, decompress

    numbers: dict[str, int] = {}
    add = sa.text("INSERT INTO contents (sha256, content) VALUES (:sha256, :content) RETURNING id")
    for name in (
        connection.execute(sa.text("SELECT sha256 FROM old_contents ORDER BY sha256")).scalars().all()
    ):
        query = sa.text("SELECT content FROM old_contents WHERE sha256 = :name")
        text = connection.execute(query, {"name": name}).scalar_one().encode("utf-8", "surrogatepass")
        packed = compress(text)
        if decompress(packed, "a file") != text:
            raise StoreError(f"the content {name} cannot be stored again; nothing was changed")
        # A name is the SHA-256 of the text, or of the bytes of an image.
        number = connection.execute(add, {"sha256": bytes.fromhex(name), "content": packed}).scalar_one()
        numbers[name] = int(number)
    if not numbers:
        return
    use = sa.text("INSERT INTO content_uses (content_id, run_id) VALUES (:id, :run)")
    for run_id, spec in connection.execute(
        sa.text("SELECT id, spec FROM runs WHERE spec LIKE '%\"content\"%'")
    ).all():
        try:
            files = json.loads(spec).get("files", ())
            used = {numbers[one["content"]] for one in files if one.get("content") in numbers}
        except (ValueError, AttributeError, TypeError):
            continue  # a damaged spec: the run cannot be resumed anyway
        for id in used:
            connection.execute(use, {"id": id, "run": run_id})
