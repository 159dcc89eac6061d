"""Folders and addresses of a question that cannot be read: what is said of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interfaces.shell import pnyx
from tests.support.scripted import ScriptedHost


def test_what_cannot_be_read_of_a_folder_is_left_out_and_named(lab: ScriptedHost, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "damaged.pdf").write_bytes(b"%PDF-1.4\nnothing")
    done = pnyx("ask", "--dir", "notes", "--dry-run", "Why?")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "there are no files to read; left out: notes/damaged.pdf" in done.err
    (folder / "plan.md").write_text("Keep it simple.\n")
    done = pnyx("ask", "--dir", "notes", "--dry-run", "Why?")
    assert done.code == 0
    assert "note: left out: notes/damaged.pdf" in done.err
    assert "file notes/plan.md" in done.out
    assert pnyx("ask", "--file", "notes/damaged.pdf", "--dry-run", "Why?").code == 2


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (
            "example.com/a",
            "example.com/a: only http:// and https:// URLs can be read; write https://example.com/a",
        ),
        ("file:///etc/passwd", "file:///etc/passwd: only http:// and https:// URLs can be read\n"),
        ("http://me:hunter2@127.0.0.1/", "http://…@127.0.0.1/: a URL may not contain a user or password"),
    ],
)
def test_an_address_that_is_not_read_says_what_to_write(lab: ScriptedHost, url: str, message: str) -> None:
    done = pnyx("ask", "--url", url, "--dry-run", "Why?")
    assert done.code == 2
    assert message in done.err
    assert "hunter2" not in done.err
