"""Which files of a folder are read, and that the others are named."""

from __future__ import annotations

import errno
import fnmatch
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from pathspec import GitIgnoreSpec

from pnyx.config.schema import ContextSettings
from pnyx.errors import UsageError
from pnyx.files.folder import _walk, list_folder
from pnyx.files.secret_files import looks_secret

LIMITS = ContextSettings()
KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----\n"


def fill(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def names(folder: Path, *globs: str, limits: ContextSettings = LIMITS) -> list[str]:
    return [
        Path(s.path or "").relative_to(folder).as_posix() for s in list_folder(folder, globs, limits).sources
    ]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    fill(tmp_path, a_py="x", docs__b_md="y", docs__deep__c_py="z", build__d_py="w")
    return tmp_path


def test_files_are_listed_by_name_each_folders_own_ones_first(tree: Path) -> None:
    assert names(tree) == ["a.py", "build/d.py", "docs/b.md", "docs/deep/c.py"]


@pytest.mark.parametrize(
    ("globs", "expected"),
    [
        (["*.py"], ["a.py", "build/d.py", "docs/deep/c.py"]),
        (["docs/**"], ["docs/b.md", "docs/deep/c.py"]),
        (["*.md", "/a.py"], ["a.py", "docs/b.md"]),
        (["*.py", "!build/**"], ["a.py", "docs/deep/c.py"]),
    ],
)
def test_globs_choose_files_as_patterns_of_gitignore_do(
    tree: Path, globs: list[str], expected: list[str]
) -> None:
    assert names(tree, *globs) == expected


@pytest.mark.parametrize(
    ("rules", "inner", "expected"),
    [
        ("build/\n", "", ["a.py", "docs/b.md", "docs/deep/c.py"]),
        ("*.py\n!a.py\n", "", ["a.py", "docs/b.md"]),
        ("*.py\n", "!c.py\n", ["docs/b.md", "docs/deep/c.py"]),
        ("/docs/deep\n", "", ["a.py", "build/d.py", "docs/b.md"]),
        ("# a comment\n\n*.md\n", "", ["a.py", "build/d.py", "docs/deep/c.py"]),
    ],
)
def test_what_gitignore_names_is_left_out_as_git_does(
    tree: Path, rules: str, inner: str, expected: list[str]
) -> None:
    (tree / ".gitignore").write_text(rules)
    (tree / "docs" / ".gitignore").write_text(inner)
    assert names(tree) == expected
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    listed = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard"],
        cwd=tree,
        check=True,
        capture_output=True,
        text=True,
    )
    assert sorted(expected) == sorted(
        name for name in listed.stdout.split() if not fnmatch.fnmatch(name, "*.gitignore")
    )


def test_rules_of_the_repository_above_count_and_those_above_it_do_not(tree: Path) -> None:
    (tree / "docs" / ".git").mkdir()
    (tree / ".gitignore").write_text("*.py\n")
    assert names(tree / "docs" / "deep") == ["c.py"]
    (tree / "docs" / ".gitignore").write_text("*.py\n")
    with pytest.raises(UsageError, match="has no files to read"):
        names(tree / "docs" / "deep")


def test_hidden_files_and_links_are_left_out(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    fill(outside, secret_txt="s")
    (tree / ".hidden").write_text("h")
    (tree / ".git").mkdir()
    (tree / ".git" / "config").write_text("g")
    (tree / "link.txt").symlink_to(outside / "secret.txt")
    (tree / "linked").symlink_to(outside)
    (tree / "docs" / "loop").symlink_to(tree)
    assert names(tree) == ["a.py", "build/d.py", "docs/b.md", "docs/deep/c.py"]
    (note,) = list_folder(tree, (), LIMITS).notes
    assert "symbolic links are not followed" in note
    assert "link.txt" in note


def test_binary_empty_large_and_secret_files_are_left_out_and_named(tree: Path) -> None:
    (tree / "tool").write_bytes(b"\x7fELF" + b"\0" * 99)
    (tree / "empty.txt").write_text("\n")
    (tree / "huge.txt").write_text("x" * 30_000)
    (tree / "deploy.pem").write_text("x")
    (tree / "notes.txt").write_text(KEY)
    limits = ContextSettings(file_mb=0.02)
    assert names(tree, limits=limits) == ["a.py", "build/d.py", "docs/b.md", "docs/deep/c.py"]
    notes = "\n".join(list_folder(tree, (), limits).notes)
    for part in ("binary: tool", "empty: empty.txt", "larger than 0.02 MB ([context] file_mb): huge.txt"):
        assert part in notes
    assert "look like secrets (name one with --file to give it): deploy.pem, notes.txt" in notes


def test_a_folder_that_may_not_be_entered_is_left_out_and_named(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tree / "closed"
    fill(closed, a_md="a")
    fill(tree / "open", b_md="b")

    def guarded(call: Callable[..., Any]) -> Callable[..., Any]:
        def guard(path: Any, *args: Any, **options: Any) -> Any:
            # Administrators, as whom the tests may run, may enter every folder.
            if not isinstance(path, int) and Path(os.fsdecode(path)).is_relative_to(closed):
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return call(path, *args, **options)

        return guard

    monkeypatch.setattr(os, "stat", guarded(os.stat))
    monkeypatch.setattr(os, "scandir", guarded(os.scandir))
    found = list_folder(tree, ["*.md"], LIMITS)
    assert f"left out of {tree}, as they cannot be read (Permission denied): {closed}" in found.notes
    assert str(tree / "open" / "b.md") in [source.path for source in found.sources]
    with pytest.raises(UsageError, match="closed cannot be read: Permission denied"):
        list(_walk(closed, (), GitIgnoreSpec, {}))


def test_a_gitignore_that_cannot_be_read_is_an_error(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tree, _gitignore="x")

    def refuse(*_: object) -> NoReturn:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(
        UsageError, match="gitignore, which names files to leave out, cannot be read: Permission"
    ):
        list_folder(tree, [], LIMITS)


def test_too_many_files_are_an_error_that_says_how_to_choose(tree: Path) -> None:
    with pytest.raises(UsageError, match=r"more than 3 files .* choose some with --glob"):
        names(tree, limits=ContextSettings(files=3))
    assert len(names(tree, "*.md", limits=ContextSettings(files=3))) == 1


def test_no_folder_and_no_files_are_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no folder"):
        names(tmp_path / "none")
    with pytest.raises(UsageError, match=r"has no files to read that match \*\.rs"):
        names(tmp_path, "*.rs")


@pytest.mark.parametrize(
    "name",
    [
        *(".env", ".env.local", "prod.env", "id_rsa", "id_ed25519", "server.pem", "a/b/tls.key", ".netrc"),
        *(".npmrc", "credentials.json", "vault.kdbx", "terraform.tfvars", "ID_RSA", "client_secret_1.json"),
    ],
)
def test_names_of_secrets_are_known(name: str) -> None:
    assert looks_secret(name)


@pytest.mark.parametrize(
    "name", [".env.example", "id_rsa.pub", "env.py", "keys.py", "notes.md", "monkey.txt"]
)
def test_other_names_are_no_secrets(name: str) -> None:
    assert not looks_secret(name)
